package guest

import (
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"
)

// Open opens a file; interrupted calls are repeated.
func Open(path string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, mode)
		if err != unix.EINTR {
			return fd, err
		}
	}
}

// ReadFile reads a whole file, of /proc as well. Errors are *fs.PathError.
func ReadFile(path string) ([]byte, error) {
	fd, err := Open(path, unix.O_RDONLY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	b := make([]byte, 0, 512)
	for {
		if len(b) == cap(b) {
			b = slices.Grow(b, 3*cap(b)) // the map of a process is long, most are short
		}
		n, err := unix.Read(fd, b[len(b):cap(b)])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return b, &fs.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return b, nil
		default:
			b = b[:len(b)+n]
		}
	}
}

// Names returns the names in a directory, in no order.
func Names(dir string) ([]string, error) {
	fd, err := Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: err}
	}
	defer unix.Close(fd)
	return readNames(dir, fd)
}

// readNames is apart for the room on the stack, which is not there from the beginning:
// most folders that are asked for are not there, either.
//
//go:noinline
func readNames(dir string, fd int) (names []string, err error) {
	buf := make([]byte, 8<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return names, &fs.PathError{Op: "getdents", Path: dir, Err: err}
		}
		if n <= 0 {
			return names, nil
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}
