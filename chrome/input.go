package chrome

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrEmpty: an archive holds no trace.
var ErrEmpty = errors.New("chrome: no trace in the archive")

// input is the text of a document, decompressed. Errors stick.
type input struct {
	r       io.Reader
	packed  bool  // the text comes out of a decompressor
	err     error // other than io.EOF
	damaged bool  // err is about the compressed data
	n       int64 // bytes of text
	close   func()
}

// Read implements io.Reader.
func (in *input) Read(p []byte) (int, error) {
	if in.err != nil {
		return 0, in.err
	}
	n, err := in.r.Read(p)
	in.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		var f *fileError
		in.err = err
		in.damaged = in.packed && !errors.As(err, &f)
	}
	return n, err
}

// fileError is an error of the file below a decompressor, which is not the
// compressed data's fault.
type fileError struct{ error }

func (e *fileError) Unwrap() error { return e.error }

type fileReader struct{ r io.Reader }

func (f fileReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && err != io.EOF {
		err = &fileError{err}
	}
	return n, err
}

// maxWindow bounds what a zstd stream may ask to be kept, bytes.
const maxWindow = 128 << 20

// unpack finds out by the first bytes whether a stream is compressed (gzip, zstd)
// and returns its text. Errors are those of the decompressor's start.
func unpack(r io.Reader) (*input, error) {
	b := bufio.NewReaderSize(fileReader{r}, 64<<10)
	head, _ := b.Peek(4)
	in := &input{r: b, close: func() {}}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("%w: the gzip header is damaged: %w", ErrTruncated, err)
		}
		in.r, in.packed, in.close = z, true, func() { z.Close() }
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(1<<40))
		if err != nil {
			return nil, fmt.Errorf("%w: the zstd header is damaged: %w", ErrTruncated, err)
		}
		in.r, in.packed, in.close = z, true, z.Close
	}
	return in, nil
}

const zipMagic = "PK\x03\x04"

// isZip reports whether a file begins as a zip archive does.
func isZip(f io.ReaderAt) bool {
	var head [4]byte
	n, _ := f.ReadAt(head[:], 0)
	return n == 4 && string(head[:]) == zipMagic
}

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
	f := os.Stdin
	if path != "-" {
		var err error
		if f, err = os.Open(path); err != nil {
			return fmt.Errorf("chrome: read trace: %w", err)
		}
		defer f.Close()
	}
	if isZip(f) {
		return readZip(path, f, o, each)
	}
	r := io.Reader(f)
	if path == "-" {
		b := bufio.NewReader(f)
		if head, _ := b.Peek(len(zipMagic)); string(head) == zipMagic {
			return pipedZip(path, b, o, each)
		}
		r = b
	}
	d, err := Read(r, o)
	if d != nil {
		d.Name = path
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return each(d)
}

// pipedZip reads an archive that comes through a pipe: its index is at its end.
func pipedZip(path string, r io.Reader, o ReadOptions, each func(*Document) error) error {
	f, err := os.CreateTemp("", "flagos-trace-*.zip")
	if err != nil {
		return fmt.Errorf("read %s: the archive cannot be put aside: %w", path, err)
	}
	defer f.Close()
	defer os.Remove(f.Name())
	if _, err := io.Copy(f, r); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return readZip(path, f, o, each)
}

func readZip(path string, f *os.File, o ReadOptions, each func(*Document) error) error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	z, err := zip.NewReader(f, info.Size())
	if err != nil {
		return fmt.Errorf("read %s: %w: %w", path, ErrTruncated, err)
	}
	found := false
	for _, m := range z.File {
		if m.FileInfo().IsDir() || !traceName(m.Name) {
			continue
		}
		found = true
		name := path + "/" + m.Name
		r, err := m.Open()
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		d, err := Read(r, o)
		r.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		d.Name = name
		if err := each(d); err != nil {
			return err
		}
	}
	if !found {
		return fmt.Errorf("read %s: %w (no member ends in .json, .json.gz or .json.zst)", path, ErrEmpty)
	}
	return nil
}

// traceName reports whether a member of an archive is a trace by its name. What
// an archiver leaves beside files (__MACOSX) is not.
func traceName(name string) bool {
	if strings.HasPrefix(name, "__MACOSX/") {
		return false
	}
	for _, end := range []string{".json", ".json.gz", ".json.zst", ".trace"} {
		if strings.HasSuffix(strings.ToLower(name), end) {
			return true
		}
	}
	return false
}
