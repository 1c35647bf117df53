package chrome

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"

	"github.com/klauspost/compress/zstd"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// WriteFile writes t to a file, compressed if the path ends in ".gz" or ".zst". The text
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
	var stats Stats
	if strings.HasSuffix(path, ".zst") {
		stats, err = writeZstd(f, t, o)
	} else {
		stats, err = write(f, t, o)
	}
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

// writeZstd writes t compressed with zstd. The same trace gives the same bytes.
func writeZstd(w io.Writer, t *timeline.Trace, o Options) (Stats, error) {
	count := &counter{w: w}
	z, err := zstd.NewWriter(count, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return Stats{}, err
	}
	stats, err := write(z, t, o)
	if closed := z.Close(); err == nil {
		err = closed
	}
	stats.FileBytes = count.n
	return stats, err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
