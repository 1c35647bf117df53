package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// lookPath finds a program the way execvp does, so that recording a command
// runs the file that the command alone would run: an empty entry of PATH is the
// current folder, and a file that may not be executed is passed over and
// remembered.
func lookPath(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, executable(name)
	}
	if name == "" {
		return "", &fs.PathError{Op: "find", Path: "''", Err: fs.ErrNotExist}
	}
	found := error(fs.ErrNotExist)
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			found = err
		}
	}
	return "", fmt.Errorf("%s: %w", name, found)
}

func executable(file string) error {
	st, err := os.Stat(file)
	if err != nil {
		return err
	}
	if st.IsDir() {
		return &fs.PathError{Op: "execute", Path: file, Err: fs.ErrPermission}
	}
	if err := unix.Access(file, unix.X_OK); err != nil {
		return &fs.PathError{Op: "execute", Path: file, Err: err}
	}
	return nil
}

// startStatus returns the exit status for a program that could not be started.
func startStatus(err error) int {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return ExitNotFound
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.ETXTBSY),
		errors.Is(err, unix.ELIBBAD), errors.Is(err, unix.E2BIG), errors.Is(err, unix.EISDIR):
		return ExitNotRunnable
	}
	return ExitFailure
}
