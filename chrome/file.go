package chrome

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
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

	f, err := outfile.Create(path)
	if err != nil {
		return Stats{}, writeError(path, Stats{}, err)
	}
	defer f.Abort()
	f.KeepSince(o.Since)
	stats, err := write(f, t, o)
	if err == nil {
		err = f.Commit()
	}
	if err != nil {
		return stats, writeError(path, stats, err)
	}
	return stats, nil
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
