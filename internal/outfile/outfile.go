package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrFolder is returned for a path that is a folder.
var ErrFolder = errors.New("it is a folder: name a file in it")

// File is a result being written.
type File struct {
	*os.File
	target string // where a temporary file goes; "" for what is written directly
}

// IsStream reports whether path is something that is written to directly: there
// is something, and it is neither a regular file nor a folder.
func IsStream(path string) bool {
	st, err := os.Stat(path)
	return err == nil && !st.Mode().IsRegular() && !st.IsDir()
}

// Create opens path for writing. The error is ErrFolder, ErrStopped or the
// system's.
func Create(path string) (*File, error) {
	st, err := os.Stat(path)
	switch {
	case err == nil && st.IsDir():
		return nil, fmt.Errorf("%s: %w", path, ErrFolder)
	case err == nil && !st.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &File{File: f}, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	target, err := resolve(path)
	if err != nil {
		return nil, err
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s.%d-%d.tmp", target, os.Getpid(), i)
		f, err := temporary(name, target)
		if err == nil || !errors.Is(err, fs.ErrExist) || i > 1000 {
			return f, err
		}
	}
}

// maxLinks bounds a chain of links, as the system does.
const maxLinks = 40

// resolve follows links to the file they name, which need not exist.
func resolve(path string) (string, error) {
	for range maxLinks {
		link, err := os.Readlink(path)
		if err != nil {
			return path, nil // no link: the place itself
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return "", fmt.Errorf("%s: more than %d symbolic links", path, maxLinks)
}

// Commit closes the file and gives it its name. It returns ErrStopped, and does
// nothing, where RemoveTemporaries came first.
func (f *File) Commit() error {
	if f.target == "" {
		return f.Close()
	}
	return f.settle(func(err error) error {
		if err == nil {
			err = os.Rename(f.Name(), f.target)
		}
		if err != nil {
			os.Remove(f.Name())
		}
		return err
	})
}

// Abort closes the file and removes what was written of it.
func (f *File) Abort() {
	if f.target == "" {
		f.Close()
		return
	}
	f.settle(func(error) error { return os.Remove(f.Name()) })
}
