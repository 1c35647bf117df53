package chrome

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/flate"
)

// sink receives the document's text in order. When it compresses, the result is
// one gzip member (not every reader goes on to a second): each text is a run of
// deflate blocks of its own that ends on a byte boundary, made by any goroutine.
type sink struct {
	w         io.Writer
	gzip      bool
	started   bool
	crc       uint32
	bytes     int64 // of text
	fileBytes int64
}

func newSink(w io.Writer, gzip bool) *sink { return &sink{w: w, gzip: gzip} }

// gzipLevel is the fastest of the levels that look for matches, and measured
// faster than the stateless mode at a better ratio: kernel events shrink to an
// eleventh (BenchmarkWrite). Huffman coding alone is half as fast again, and
// leaves two thirds.
const gzipLevel = flate.BestSpeed

var (
	// No file name, no time: the same trace gives the same bytes.
	gzipHeader = []byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}
	// An empty final block, which ends the deflate stream.
	gzipFinal = []byte{0x03, 0x00}
)

// compressor packs texts for a sink, in one goroutine.
type compressor struct {
	level int
	w     *flate.Writer
	buf   bytes.Buffer
}

func (s *sink) compressor() *compressor {
	c := &compressor{}
	if s.gzip {
		c.level = gzipLevel
	}
	return c
}

func (c *compressor) pack(t *text) error {
	if c.level == 0 {
		return nil
	}
	c.buf = *bytes.NewBuffer(t.packed[:0])
	if c.w == nil {
		w, err := flate.NewWriter(&c.buf, c.level)
		if err != nil {
			return err
		}
		c.w = w
	} else {
		c.w.Reset(&c.buf)
	}
	if _, err := c.w.Write(t.raw); err != nil {
		return err
	}
	// Flush ends the block on a byte boundary without marking it the last.
	if err := c.w.Flush(); err != nil {
		return err
	}
	t.packed = c.buf.Bytes()
	return nil
}

func (s *sink) put(t *text) error {
	s.bytes += int64(len(t.raw))
	if !s.gzip {
		return s.write(t.raw)
	}
	if !s.started {
		s.started = true
		if err := s.write(gzipHeader); err != nil {
			return err
		}
	}
	s.crc = crc32.Update(s.crc, crc32.IEEETable, t.raw)
	return s.write(t.packed)
}

func (s *sink) write(b []byte) error {
	n, err := s.w.Write(b)
	s.fileBytes += int64(n)
	return err
}

func (s *sink) close() error {
	if !s.gzip {
		return nil
	}
	end := append([]byte(nil), gzipFinal...)
	end = binary.LittleEndian.AppendUint32(end, s.crc)
	end = binary.LittleEndian.AppendUint32(end, uint32(s.bytes))
	return s.write(end)
}
