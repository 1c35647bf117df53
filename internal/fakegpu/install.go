package fakegpu

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Install builds the libraries and copies them into dir, whose path does not
// change with the sources. Files there are replaced one by one, so that a
// program running on the old ones keeps them.
func Install(dir string) (Paths, error) {
	built, err := Build("")
	if err != nil {
		return Paths{}, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	err = filepath.WalkDir(built.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(built.Dir, path)
		if err != nil {
			return err
		}
		if rel == "csrc" || rel == "obj" {
			return filepath.SkipDir
		}
		to := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		return replace(path, to)
	})
	if err != nil {
		return Paths{}, fmt.Errorf("fakegpu: %w", err)
	}
	return pathsIn(dir), nil
}

func replace(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	mode := fs.FileMode(0o755)
	if strings.HasSuffix(to, ".inc") {
		mode = 0o644
	}
	tmp := to + ".new"
	if err := os.WriteFile(tmp, data, mode); err != nil {
		return err
	}
	return os.Rename(tmp, to)
}
