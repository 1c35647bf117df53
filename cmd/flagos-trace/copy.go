package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/unpack"
)

// Beginnings of compressed files.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// copyTrace copies the text of a trace as it is, compressed by the ending of the new
// file. copied is false where the text is no regular file's, and cannot be read
// again.
func copyTrace(to, from string) (copied bool, err error) {
	in, err := os.Open(from)
	if err != nil {
		return false, err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	head := make([]byte, 4)
	n, err := in.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, err
	}
	head = head[:n]
	gz, zst := strings.HasSuffix(to, ".gz"), strings.HasSuffix(to, ".zst")
	isGzip, isZstd := bytes.HasPrefix(head, gzipMagic), bytes.HasPrefix(head, zstdMagic)
	text := io.Reader(in)
	if gz != isGzip || zst != isZstd {
		unpacked, err := unpack.New(in)
		if err != nil {
			return false, err
		}
		defer unpacked.Close()
		text = unpacked
	} else {
		gz, zst = false, false // the same file
	}
	out, err := outfile.Create(to)
	if err != nil {
		return false, fmt.Errorf("write trace %s: %w", to, err)
	}
	defer out.Abort()
	var w io.WriteCloser = keepOpen{out}
	switch {
	case gz:
		w = gzip.NewWriter(out)
	case zst:
		if w, err = zstd.NewWriter(out, zstd.WithEncoderConcurrency(1)); err != nil {
			return false, err
		}
	}
	if _, err = io.Copy(w, text); err == nil {
		err = w.Close()
	}
	if err == nil {
		err = out.Commit()
	}
	if err != nil {
		return false, fmt.Errorf("write trace %s: %w", to, err)
	}
	return true, nil
}

// keepOpen leaves the closing to the file's owner.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }
