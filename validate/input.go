package validate

import (
	"io"
	"os"

	"github.com/flagos-ai/flagos-trace/internal/unpack"
)

var (
	// ErrCompressed: the compressed data cannot be read.
	ErrCompressed = unpack.ErrDamaged
	// ErrEmpty: an archive holds no trace.
	ErrEmpty = unpack.ErrEmpty
)

// File checks the trace, or the traces, in a file: a document, compressed with gzip or
// zstd or not, or a zip archive of such files, one a rank; "-" is standard input. It
// calls each with the name of what was read and with what Run returned. Its own
// errors name the file, wrap ErrEmpty, or are those of the system; one of each ends
// it.
func File(path string, opt Options, each func(name string, r *Report, err error) error) error {
	return unpack.Each(path, os.Stdin, func(name string, r io.Reader) error {
		report, err := Run(r, opt)
		return each(name, report, err)
	})
}
