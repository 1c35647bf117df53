package record

import (
	"bufio"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// loader finds the folders that the dynamic loader looks into.
type loader struct {
	files fs.FS // the root of the file system
	list  []string
}

// maxIncludes bounds a chain of included files, which may be a ring.
const maxIncludes = 4

// LoaderFolders lists where the dynamic loader of a program that runs in dir looks:
// libraryPath, which is LD_LIBRARY_PATH, the folders of ld.so.conf, those built in. What
// ld.so.conf names counts only where ldconfig has run since, which is the rule. files is
// the root of the file system.
func LoaderFolders(files fs.FS, dir, libraryPath string) []string {
	l := &loader{files: files}
	for _, name := range strings.FieldsFunc(libraryPath, func(r rune) bool { return r == ':' || r == ';' }) {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		l.add(name)
	}
	l.config("/etc/ld.so.conf", 0)
	for _, dir := range []string{"/lib64", "/usr/lib64", "/lib", "/usr/lib"} {
		l.add(dir)
	}
	for _, dir := range l.glob("/usr/lib/*-linux-gnu") {
		l.add(dir)
	}
	return l.list
}

func (l *loader) add(dir string) {
	if dir = path.Clean(dir); !slices.Contains(l.list, dir) {
		l.list = append(l.list, dir)
	}
}

// glob returns the absolute paths that match a pattern, in order.
func (l *loader) glob(pattern string) []string {
	list, _ := fs.Glob(l.files, strings.TrimPrefix(path.Clean(pattern), "/"))
	for i := range list {
		list[i] = "/" + list[i]
	}
	return list
}

func (l *loader) config(name string, depth int) {
	text, _ := fs.ReadFile(l.files, strings.TrimPrefix(path.Clean(name), "/")) // without it, what is built in
	lines := bufio.NewScanner(strings.NewReader(string(text)))
	for lines.Scan() {
		line, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0 || fields[0] == "hwcap":
		case fields[0] == "include" && depth < maxIncludes:
			for _, pattern := range fields[1:] {
				if !path.IsAbs(pattern) {
					pattern = path.Join(path.Dir(name), pattern)
				}
				for _, file := range l.glob(pattern) {
					l.config(file, depth+1)
				}
			}
		case path.IsAbs(fields[0]):
			l.add(fields[0])
		}
	}
}
