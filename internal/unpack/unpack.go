package unpack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

var (
	// ErrDamaged: the compressed data ends early or is damaged; what was read before
	// stands.
	ErrDamaged = errors.New("the compressed data")
	// ErrRatio: the text is so much larger than the compressed data that it is made to
	// fill memory.
	ErrRatio = errors.New("the compressed data grows like no trace's")
)

// damage words an error of a decompressor after n bytes of text. Errors of what is
// below it stay as they are.
func damage(err error, n int64) error {
	var f *sourceError
	switch {
	case errors.As(err, &f):
		return f.error
	case errors.Is(err, errTail):
		return fmt.Errorf("%w, after %d bytes of text", err, n)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%w ends early, after %d bytes of text: the file was cut off (%w)", ErrDamaged, n, err)
	}
	return fmt.Errorf("%w is damaged, after %d bytes of text: %w", ErrDamaged, n, err)
}

// Text is the text of a document, decompressed. Errors stick. It is closed when it
// is not read further.
type Text struct {
	r      io.Reader
	source *source
	packed bool
	err    error
	n      int64
	close  func()
}

const (
	// maxWindow bounds what a zstd stream may ask to be kept, bytes: as much as zstd
	// itself grants without being asked.
	maxWindow = 128 << 20
	ahead     = 256 << 10 // read of a file at once, bytes
	// maxRatio bounds text by the compressed bytes that it comes from, once there is
	// more of it than freeText, bytes. Traces shrink to a tenth, those of one loop to a
	// fiftieth.
	maxRatio = 200
)

// freeText is a variable for the tests.
var freeText int64 = 1 << 30

// New finds out by the first bytes whether a stream is compressed and returns its
// text. Errors wrap ErrDamaged; those of r mostly come with Read.
func New(r io.Reader) (*Text, error) {
	s := &source{r: r}
	s.outer, _ = r.(*member)
	b := bufio.NewReaderSize(s, ahead)
	head, _ := b.Peek(4)
	t := &Text{r: b, source: s, packed: s.outer != nil, close: func() {}}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, damage(err, 0)
		}
		z.Multistream(false)
		t.r, t.packed, t.close = &members{z, b}, true, func() { z.Close() }
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderMaxMemory(1<<40))
		if err != nil {
			return nil, damage(err, 0)
		}
		t.r, t.packed, t.close = z, true, z.Close
	}
	return t, nil
}

// Read implements io.Reader.
func (t *Text) Read(p []byte) (int, error) {
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.r.Read(p)
	t.n += int64(n)
	if t.packed && t.n > freeText && t.n/maxRatio > t.source.packed() {
		t.err = fmt.Errorf("%w: %d bytes of text from %d; if it is meant to, decompress it first", ErrRatio, t.n, t.source.packed())
		return 0, t.err
	}
	if err == nil || err == io.EOF {
		return n, err
	}
	t.err = damage(err, t.n)
	return n, t.err
}

// Err is the error that Read returned, nil if that is none or io.EOF.
func (t *Text) Err() error { return t.err }

// Damaged says whether Err is about the compressed data: it ends early or is damaged,
// and what was read before stands.
func (t *Text) Damaged() bool { return errors.Is(t.err, ErrDamaged) }

// Len is how much was read, bytes of text.
func (t *Text) Len() int64 { return t.n }

// Close ends the decompressor. It does not close what is below.
func (t *Text) Close() { t.close() }

// sourceError is an error of what is below a decompressor.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

type source struct {
	r     io.Reader
	n     int64   // read, bytes
	outer *member // r, where that is in an archive
}

// packed is how many compressed bytes were there, at least those that were read.
func (s *source) packed() int64 {
	if s.outer != nil {
		return min(s.n, s.outer.size)
	}
	return s.n
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.n += int64(n)
	if err != nil && err != io.EOF {
		err = &sourceError{err}
	}
	return n, err
}
