package chrome

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flagos-ai/flagos-trace/internal/unpack"
)

// ErrEmpty: an archive holds no trace.
var ErrEmpty = unpack.ErrEmpty

// ReadFile reads the trace, or the traces, in a file: a document, compressed with
// gzip or zstd or not, or a zip archive of such files, one a rank; "-" is standard
// input. Errors are those of Read, and name the file.
func ReadFile(path string, o ReadOptions) ([]*Document, error) {
	var docs []*Document
	err := ReadEach(path, o, func(d *Document) error {
		docs = append(docs, d)
		return nil
	})
	return docs, err
}

// ReadEach is ReadFile for traces that need not be held all at once.
func ReadEach(path string, o ReadOptions, each func(*Document) error) error {
	var own error // of each, or says what was read
	err := unpack.Each(path, os.Stdin, func(name string, r io.Reader) error {
		if o.Member != "" && name != path+"/"+o.Member {
			return nil
		}
		d, err := Read(r, o)
		if err != nil {
			own = fmt.Errorf("read %s: %w", name, err)
			return own
		}
		d.Name = name
		own = each(d)
		return own
	})
	switch {
	case own != nil || err == nil:
		return own
	case errors.Is(err, unpack.ErrArchive):
		return fmt.Errorf("read %w: %w", err, ErrTruncated)
	}
	return fmt.Errorf("chrome: read trace: %w", err)
}
