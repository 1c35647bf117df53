package outfile

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// descriptor returns the number of the descriptor of this process that a path names,
// by links or not: /dev/stdout is one to /proc/self/fd/1.
func descriptor(path string) (fd int, ok bool) {
	for range maxLinks {
		path = filepath.Clean(path)
		for _, folder := range []string{"/dev/fd/", "/proc/self/fd/"} {
			if name, found := strings.CutPrefix(path, folder); found {
				n, err := strconv.ParseUint(name, 10, 31)
				return int(n), err == nil
			}
		}
		link, err := os.Readlink(path)
		if err != nil {
			return 0, false
		}
		if !filepath.IsAbs(link) {
			link = filepath.Join(filepath.Dir(path), link)
		}
		path = link
	}
	return 0, false
}

// duplicate opens what a descriptor leads to, at the place where that stands: opening
// the name would begin a file anew, and cannot be done of a socket.
func duplicate(fd int, path string) (*File, error) {
	n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &File{File: os.NewFile(uintptr(n), path)}, nil
}
