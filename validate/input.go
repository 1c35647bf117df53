package validate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// ErrCompressed: the compressed data cannot be read.
var ErrCompressed = errors.New("validate: compressed data")

// errCut means that the compressed data ends early or breaks on the way: what
// came before can be checked.
var errCut = errors.New("the compressed data")

func isCut(err error) bool { return errors.Is(err, errCut) }

// decompress returns a reader of the text, whether it is compressed or not.
func decompress(r io.Reader) (io.Reader, func(), error) {
	in := bufio.NewReaderSize(r, 256<<10)
	magic, _ := in.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: gzip: %w", ErrCompressed, err)
		}
		return &unpacked{r: z}, func() { z.Close() }, nil
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		// One decoder and a bounded window: a trace needs no more.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: zstd: %w", ErrCompressed, err)
		}
		return &unpacked{r: z}, z.Close, nil
	}
	return in, func() {}, nil
}

// unpacked marks the errors of a decompressor.
type unpacked struct {
	r    io.Reader
	text int64
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	u.text += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w ends or breaks after %d bytes of text: %w", errCut, u.text, err)
	}
	return n, err
}
