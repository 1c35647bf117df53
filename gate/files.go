package gate

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is a path of the configuration as the working directory sees it.
func (c *Config) file(path string) string {
	if path == "" || filepath.IsAbs(path) || c.dir == "" {
		return path
	}
	return filepath.Join(c.dir, path)
}

var (
	errStdin  = errors.New("standard input will not do, because traces are read more than once: name a file")
	errNoName = errors.New("the name of a file is empty")
)

// files are those that patterns of the configuration name, in order, each once.
func (c *Config) files(patterns Patterns) ([]string, error) {
	var out []string
	for _, p := range patterns {
		switch {
		case p == "-":
			return nil, errStdin
		case p == "":
			return nil, errNoName
		case !strings.ContainsAny(p, "*?["):
			out = append(out, c.file(p))
			continue
		}
		found, err := c.glob(p)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return once(out), nil
}

// glob are the files that a pattern fits: no folders, and the file that is called like
// the pattern if it fits no other.
func (c *Config) glob(pattern string) (out []string, err error) {
	path := pattern
	if !filepath.IsAbs(pattern) && c.dir != "" {
		dir, rest := c.dir, filepath.Clean(pattern)
		for up := ".." + string(filepath.Separator); strings.HasPrefix(rest, up); {
			dir, rest = filepath.Join(dir, ".."), rest[len(up):]
		}
		// What the folder is called is no pattern.
		path = filepath.Join(strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir), rest)
	}
	found, bad := filepath.Glob(path)
	for _, name := range found {
		if !isFolder(name) {
			out = append(out, filepath.Clean(name))
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	literal := c.file(pattern)
	if _, err := os.Stat(literal); err == nil && !isFolder(literal) {
		return []string{literal}, nil
	}
	if bad != nil {
		return nil, fmt.Errorf("%s: %w", pattern, bad)
	}
	return nil, fmt.Errorf("no file matches %s", literal)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// once leaves out files that are there already, by whatever name: a trace that two
// patterns fit is judged once, and is one run.
func once(paths []string) (out []string) {
	var seen []os.FileInfo
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil {
			if slices.ContainsFunc(seen, func(o os.FileInfo) bool { return os.SameFile(o, info) }) {
				continue
			}
			seen = append(seen, info)
		}
		out = append(out, path)
	}
	return out
}
