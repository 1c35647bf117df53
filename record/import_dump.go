package record

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Errors of reading a dump of activity buffers.
var (
	// ErrTruncatedDump: the file of buffers ends inside one. What came before was
	// read.
	ErrTruncatedDump = errors.New("the dump ends inside a buffer")
	// ErrEmptyDump: the file holds no buffer at all.
	ErrEmptyDump = errors.New("the dump holds no activity buffer")
	// ErrNames: the file of names is not what it should be.
	ErrNames = errors.New("bad names file")
)

// maxDumpBuffer bounds a dumped buffer, bytes: clients give CUPTI 1 to 64 MB.
const maxDumpBuffer = 1 << 30

// dumpHead is the size of what stands before each buffer of a dump: its valid
// size, the context handle and the stream id, three little-endian u64.
const dumpHead = 24

// readDump calls fn for each buffer of a dump, gzip'd or not. data is valid
// during the call.
func readDump(path string, fn func(offset int64, data []byte) error) error {
	f, err := openMaybeGzip(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var head [dumpHead]byte
	var buf []byte
	for off := int64(0); ; {
		n, err := io.ReadFull(f, head[:])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: byte %d: %w: %d of %d bytes of its head (%v)", path, off, ErrTruncatedDump, n, dumpHead, err)
		}
		size := binary.LittleEndian.Uint64(head[:])
		if size > maxDumpBuffer {
			return fmt.Errorf("%s: byte %d: a buffer of %d bytes is not plausible; is this a dump of activity buffers?", path, off, size)
		}
		if buf, err = readGrowing(f, buf[:0], int(size)); err != nil {
			return errors.Join(
				fn(off+dumpHead, buf),
				fmt.Errorf("%s: byte %d: %w: %d of %d bytes", path, off+dumpHead, ErrTruncatedDump, len(buf), size))
		}
		if err := fn(off+dumpHead, buf); err != nil {
			return err
		}
		off += dumpHead + int64(size)
	}
}

// readGrowing reads size bytes behind buf. Memory is taken as the bytes come: a
// size that the file only claims costs nothing.
func readGrowing(r io.Reader, buf []byte, size int) ([]byte, error) {
	for len(buf) < size {
		n := min(size-len(buf), max(cap(buf)-len(buf), 1<<20))
		buf = slices.Grow(buf, n)
		got, err := io.ReadFull(r, buf[len(buf):len(buf)+n])
		buf = buf[:len(buf)+got]
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// readNames calls fn for each line of a file of kernel names: the pointer in
// hex, a tab, the name.
func readNames(path string, fn func(ptr uint64, name string)) error {
	f, err := openMaybeGzip(path)
	if err != nil {
		return err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	line := 0
	for s.Scan() {
		line++
		if s.Text() == "" {
			continue
		}
		hex, name, ok := strings.Cut(s.Text(), "\t")
		ptr, err := strconv.ParseUint(strings.TrimPrefix(hex, "0x"), 16, 64)
		if !ok || err != nil {
			return fmt.Errorf("%s: line %d: %w: want a hex pointer, a tab and a name, got %.60q", path, line, ErrNames, s.Text())
		}
		fn(ptr, name)
	}
	if err := s.Err(); err != nil {
		return fmt.Errorf("%s: line %d: %w: %v", path, line+1, ErrNames, err)
	}
	return nil
}

// gzipMagic is how a gzip stream begins.
var gzipMagic = []byte{0x1f, 0x8b}

// openMaybeGzip opens a file and decompresses it if its first bytes say gzip.
func openMaybeGzip(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(f, 1<<16)
	if magic, _ := r.Peek(2); !bytes.Equal(magic, gzipMagic) {
		return readCloser{r, f}, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return readCloser{z, f}, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}
