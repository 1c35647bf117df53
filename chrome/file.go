package chrome

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// WriteFile writes t to a file, compressed if the path ends in ".gz". The text
// goes to a temporary file in the same folder that is renamed when complete, so
// that path never holds half a document; on error it is removed. Something that
// is not a regular file (a pipe, /dev/null) is written to directly. Errors name
// the file and wrap those of the system.
func WriteFile(path string, t *timeline.Trace, o Options) (Stats, error) {
	if o.TraceName == "" {
		o.TraceName = path
	}
	o.Gzip = strings.HasSuffix(path, ".gz")

	target, direct := path, false
	if real, err := filepath.EvalSymlinks(path); err == nil {
		target = real
		if info, err := os.Stat(real); err == nil && !info.Mode().IsRegular() {
			if info.IsDir() {
				return Stats{}, fmt.Errorf("chrome: write trace: %s is a folder: name a file in it", path)
			}
			direct = true
		}
	}
	var f *os.File
	var err error
	if direct {
		f, err = os.OpenFile(target, os.O_WRONLY, 0)
	} else {
		f, err = createBeside(target)
	}
	if err != nil {
		return Stats{}, writeError(path, Stats{}, err)
	}
	stats, err := write(f, t, o)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil && !direct {
		err = os.Rename(f.Name(), target)
	}
	if err != nil {
		if !direct {
			os.Remove(f.Name())
		}
		return stats, writeError(path, stats, err)
	}
	return stats, nil
}

// createBeside creates a new file in the folder of target, with the permissions
// a new file gets.
func createBeside(target string) (*os.File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s.%d-%d.tmp", target, os.Getpid(), i)
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) || i > 1000 {
			return f, err
		}
	}
}

func writeError(path string, s Stats, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		hint = fmt.Sprintf(" after %d bytes: free space on that disk or write elsewhere", s.FileBytes)
	case errors.Is(err, syscall.EDQUOT):
		hint = fmt.Sprintf(" after %d bytes: the quota is used up; write elsewhere", s.FileBytes)
	case errors.Is(err, fs.ErrNotExist):
		hint = ": create the folder first"
	}
	return fmt.Errorf("chrome: write trace %s: %w%s", path, err, hint)
}
