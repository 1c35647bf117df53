package outfile

import (
	"errors"
	"io/fs"
	"os"
	"sync"
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
		os.Remove(f.Name())
	}
	clear(t.open)
}

// temporary creates the file that is to become target.
func temporary(name, target string, perm fs.FileMode) (*File, error) {
	t := &temporaries
	t.Lock()
	defer t.Unlock()
	if t.stopped {
		return nil, ErrStopped
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return nil, err
	}
	file := &File{File: f, target: target}
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
