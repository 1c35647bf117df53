package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/record"
)

// rel turns an absolute path into one that fs.FS takes.
func rel(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+name), "/"); name == "" {
		return "."
	}
	return name
}

func (s *System) exists(name string) bool {
	_, err := fs.Stat(s.FS, rel(name))
	return err == nil
}

// read returns the text of a small file, "" if it cannot be read.
func (s *System) read(name string) string {
	data, err := fs.ReadFile(s.FS, rel(name))
	if err != nil {
		return ""
	}
	return string(data)
}

// glob returns the paths that match a pattern, in order.
func (s *System) glob(pattern string) []string {
	list, _ := fs.Glob(s.FS, rel(pattern))
	for i := range list {
		list[i] = "/" + list[i]
	}
	return list
}

func (s *System) getenv(name string) string {
	v, _ := s.lookup(name)
	return v
}

// lookup returns the value of an environment variable and whether it is set. Of
// several settings the first counts, as for getenv.
func (s *System) lookup(name string) (string, bool) {
	for _, kv := range s.Env {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}

// without returns the environment without some variables.
func (s *System) without(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(s.Env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(names, name)
	})
}

// abs returns the absolute form of a path.
func (s *System) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(s.Dir, name)
}

// loaderFolders lists where the dynamic loader looks.
func (s *System) loaderFolders() []string {
	return record.LoaderFolders(s.FS, s.Dir, s.getenv("LD_LIBRARY_PATH"))
}

// copyOf is one copy of a library.
type copyOf struct {
	Path string // without symbolic links
	As   string // the name it was found by, one that tells the version if there is one
	How  string // where it was found: "loader", "Python", ...
}

// finder collects copies, each once.
type finder struct {
	s    *System
	list []copyOf
}

func (f *finder) add(how string, patterns ...string) {
	for _, p := range patterns {
		for _, name := range f.s.glob(p) {
			real := f.s.Resolve(name)
			at := slices.IndexFunc(f.list, func(c copyOf) bool { return c.Path == real || f.s.same(c.Path, real) })
			switch {
			case at < 0:
				f.list = append(f.list, copyOf{real, name, how})
			case majorOf(f.list[at].As) == 0 && majorOf(name) > 0:
				f.list[at].As = name // says more than libcupti.so
			}
		}
	}
}

// same reports whether two files of one folder are copies of each other under
// several names, as in wheels, which cannot hold links. Their size decides.
func (s *System) same(a, b string) bool {
	if path.Dir(a) != path.Dir(b) {
		return false
	}
	x, err1 := fs.Stat(s.FS, rel(a))
	y, err2 := fs.Stat(s.FS, rel(b))
	return err1 == nil && err2 == nil && x.Size() == y.Size()
}

// paths joins the paths of copies for a person.
func paths(list []copyOf) string {
	var parts []string
	for _, c := range list {
		parts = append(parts, fmt.Sprintf("%s (%s)", c.As, c.How))
	}
	return strings.Join(parts, ", ")
}

// counted puts a count before a noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
