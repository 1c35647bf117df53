package unpack

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// members reads the members of a gzip file one after the other. What follows the
// last of them and is none does not spoil it: tapes and some object stores pad files
// with zeros, and appended text leaves the trace whole.
type members struct {
	z *gzip.Reader
	b *bufio.Reader
}

func (m *members) Read(p []byte) (int, error) {
	for {
		n, err := m.z.Read(p)
		if err != io.EOF {
			return n, err
		}
		if n > 0 {
			return n, nil // the end is told with the next call
		}
		if err := m.next(); err != nil {
			return 0, err
		}
	}
}

// next goes on to the next member. The error is io.EOF where there is none.
func (m *members) next() error {
	for {
		head, err := m.b.Peek(2)
		switch {
		case len(head) > 0 && head[0] == 0:
			m.b.Discard(1) // padding
			continue
		case len(head) == 2 && head[0] == 0x1f && head[1] == 0x8b:
			if err := m.z.Reset(m.b); err != nil {
				if err == io.EOF { // of a header that is cut off
					err = io.ErrUnexpectedEOF
				}
				return err
			}
			m.z.Multistream(false)
			return nil
		case len(head) > 0:
			return errTail
		case err == nil || errors.Is(err, io.EOF):
			return io.EOF
		}
		return err
	}
}

// errTail: something that is not gzip follows whole members.
var errTail = fmt.Errorf("%w is whole, but something that is not gzip follows it, and was left out", ErrDamaged)
