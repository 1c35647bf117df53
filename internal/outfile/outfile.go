package outfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// ErrFolder is returned for a path that is a folder.
var ErrFolder = errors.New("it is a folder: name a file in it")

// File is a result being written.
type File struct {
	*os.File
	name   string // of the temporary file; that of File is the one that was asked for
	target string // where a temporary file goes; "" for what is written directly
	since  time.Time
}

// ErrTaken is returned where the name belongs to a result of somebody else by now.
var ErrTaken = errors.New("somebody else has written to that name meanwhile")

// KeepSince has Commit return ErrTaken, and replace nothing, where a file of that
// name is there that was put there, or changed, after a time. Of writers that all
// use it none replaces what another one has just written.
func (f *File) KeepSince(t time.Time) { f.since = t }

// Taken reports whether a regular file at path came, or changed, after a time.
func Taken(path string, since time.Time) bool {
	var st unix.Stat_t
	return unix.Stat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && time.Unix(st.Ctim.Unix()).After(since)
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
	if path == "" {
		return nil, errors.New("the name of the file is empty")
	}
	if fd, ok := descriptor(path); ok {
		return duplicate(fd, path)
	}
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
	perm := fs.FileMode(0o666)
	if st != nil {
		perm = st.Mode().Perm()
	}
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s.%d-%d.tmp", target, os.Getpid(), i)
		f, err := temporary(name, path, target, perm)
		if err == nil && st != nil {
			f.Chmod(perm) // what replaces a file is as private as that, whatever the umask
		}
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
			err = f.rename()
		}
		if err != nil {
			os.Remove(f.name)
		}
		return err
	})
}

// rename gives the file its name, unless that is taken. Renaming changes the time
// of change of a file, and so marks the name as taken for others.
func (f *File) rename() error {
	if !f.since.IsZero() {
		defer lock(filepath.Dir(f.target))()
		if Taken(f.target, f.since) {
			return fmt.Errorf("%s: %w", f.target, ErrTaken)
		}
	}
	err := os.Rename(f.name, f.target)
	var link *os.LinkError
	if errors.As(err, &link) {
		return &os.PathError{Op: "replace", Path: f.target, Err: link.Err}
	}
	return err
}

// lockTries bounds how long a lock is waited for: it is held for one rename.
const lockTries = 100

// lock keeps others that rename into a folder out of it until unlock is called.
// Where the file system has no locks they have to be lucky.
func lock(dir string) (unlock func()) {
	d, err := os.Open(dir)
	if err != nil {
		return func() {}
	}
	for range lockTries {
		if err = unix.Flock(int(d.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != unix.EWOULDBLOCK && err != unix.EINTR {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return func() { d.Close() }
}

// Abort closes the file and removes what was written of it.
func (f *File) Abort() {
	if f.target == "" {
		f.Close()
		return
	}
	f.settle(func(error) error { return os.Remove(f.name) })
}
