// Package faketorch holds a stand-in for the Python package torch.
package faketorch

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed all:torch contract
var files embed.FS

// Install writes the package torch into dir, which is then to stand in
// PYTHONPATH, and the folder contract beside it.
func Install(dir string) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "__pycache__" {
			return fs.SkipDir
		}
		target := filepath.Join(dir, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		text, err := files.ReadFile(name)
		if err != nil {
			return fmt.Errorf("faketorch: %w", err)
		}
		return os.WriteFile(target, text, 0o644)
	})
}
