package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrStopped is returned after RemoveTemporaries.
var ErrStopped = errors.New("writing was stopped")

// temporaries are the files that have no name of their own yet.
var temporaries = struct {
	sync.Mutex
	open    map[*File]struct{}
	stopped bool
}{open: map[*File]struct{}{}}

// RemoveTemporaries removes what is written of every file that is not complete.
// It is for a process that is about to end while others of its goroutines write:
// from then on Create and Commit of a regular file fail with ErrStopped, and what
// is written to an open one goes nowhere. What has been committed stays.
func RemoveTemporaries() {
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	t.stopped = true
	for f := range t.open {
		os.Remove(f.name)
	}
	clear(t.open)
}

// temporary creates the file that is to become target. What goes wrong with it is told
// of the name that was asked for.
func temporary(name, path, target string, perm fs.FileMode) (*File, error) {
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	if t.stopped {
		return nil, ErrStopped
	}
	f, err := openAs(name, path, perm)
	if err != nil {
		return nil, err
	}
	file := &File{File: f, name: name, target: target}
	t.open[file] = struct{}{}
	return file, nil
}

// settle closes the file and lets end decide what becomes of it, once. The error
// of closing is handed to end.
func (f *File) settle(end func(error) error) error {
	err := f.Close() // outside the lock: it may wait for a slow disk
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	defer func() { f.target = "" }()
	if _, ok := t.open[f]; !ok {
		return ErrStopped
	}
	delete(t.open, f)
	return end(err)
}

// openAs creates a file that calls itself path.
func openAs(name, path string, perm fs.FileMode) (*os.File, error) {
	for {
		fd, err := unix.Open(name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, uint32(perm.Perm()))
		switch {
		case err == nil:
			return os.NewFile(uintptr(fd), path), nil
		case err == unix.EINTR:
			continue
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("%s: there is no folder %s: %w", path, filepath.Dir(name), err)
		}
		return nil, &os.PathError{Op: "create", Path: path, Err: err}
	}
}
