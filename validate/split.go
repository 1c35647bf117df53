package validate

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// chunkSize is what is read at a time. Chunks end where an event seems to begin,
// so that they can be read on two cores at once; whether one really begins there
// shows when the chunk before has been read.
const chunkSize = 512 << 10

// maxValue bounds one event or member, bytes.
const maxValue = 256 << 20

type chunk struct {
	buf   []byte
	base  int64
	first bool
	last  bool
	err   error // of the reader, but for the end

	ready chan struct{} // closed when out is there
	out   *batch
	n     int // how far it was read
	st    status
	comma bool
}

// splitter cuts a text into chunks of about size bytes.
type splitter struct {
	size int
	r    io.Reader
	rest []byte
	base int64
	free chan []byte
}

// next returns the next chunk; last is set on the final one.
func (s *splitter) next() *chunk {
	var buf []byte
	select {
	case buf = <-s.free:
		buf = buf[:0]
	default:
		buf = hugepage.Make[byte](s.size + s.size/4)[:0]
	}
	buf = append(buf, s.rest...)
	s.rest = s.rest[:0]
	c := &chunk{base: s.base, ready: make(chan struct{})}
	want := max(s.size, len(buf)+1)
	for {
		if cap(buf) < want {
			buf = append(make([]byte, 0, want+want/4), buf...)
		}
		idle := 0
		for len(buf) < want && c.err == nil {
			n, err := s.r.Read(buf[len(buf):want])
			buf = buf[:len(buf)+n]
			c.err = err
			if n > 0 {
				idle = 0
			} else if idle++; idle == 100 && err == nil {
				c.err = io.ErrNoProgress
			}
		}
		if c.err != nil {
			c.buf, c.last = buf, true
			if errors.Is(c.err, io.EOF) {
				c.err = nil
			}
			break
		}
		if at := splitAt(buf); at > 0 {
			s.rest = append(s.rest, buf[at:]...)
			c.buf = buf[:at]
			break
		}
		if len(buf) >= maxValue {
			c.buf, c.last = buf, true
			c.err = fmt.Errorf("%w: no event begins within %d bytes", ErrTooLarge, len(buf))
			break
		}
		want = 2 * len(buf)
	}
	s.base += int64(len(c.buf))
	return c
}

// splitAt finds the last place in b where an event seems to begin, 0 if there is
// none.
func splitAt(b []byte) int {
	for end := len(b); ; {
		k := bytes.LastIndexByte(b[:end], '{')
		if k <= 0 {
			return 0
		}
		if beginsEvent(b, k) {
			return k
		}
		end = k
	}
}
