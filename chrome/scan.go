package chrome

import (
	"bufio"
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

// Handler receives what Scan finds, in the order of the text. What it is given
// is valid only until it returns. An error ends the scan and is returned wrapped.
type Handler interface {
	// Member is a top-level member other than traceEvents; key is its text
	// between the quotes.
	Member(key string, v Value) error
	// Event is one element of traceEvents, or of the bare array.
	Event(e *Event) error
}

// Scan streams through a document: an object with traceEvents, or a bare array
// of events; gzip is recognised by its first bytes. Memory is bounded by twice the
// largest event or member. A comma before a closing bracket is forgiven, and a
// byte order mark. Errors wrap ErrSyntax, ErrTruncated or ErrTooLarge and name
// the byte offset in the text, or are those of r and h.
func Scan(r io.Reader, h Handler) error {
	in := bufio.NewReaderSize(r, 64<<10)
	s := scanner{r: in, h: h}
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return readError(0, err)
		}
		defer z.Close()
		s.r = z
	}
	return s.document()
}

func (s *scanner) document() error {
	c, err := s.peek()
	if err == nil && c == 0xef {
		for len(s.buf) < 3 && err == nil {
			err = s.fill()
		}
		if err == nil && bytes.HasPrefix(s.buf, []byte("\xef\xbb\xbf")) {
			s.at += 3
			c, err = s.peek()
		}
	}
	if err != nil {
		return err
	}
	switch c {
	case '[':
		err = s.events()
	case '{':
		err = s.object()
	default:
		return s.syntax(s.at, "a trace ('{' or '[')")
	}
	if err != nil {
		return err
	}
	if _, err = s.peek(); err == nil {
		return s.syntax(s.at, "the end of the trace")
	}
	if s.ended {
		return nil
	}
	return err
}

// list walks over a bracketed list: item consumes one element.
func (s *scanner) list(closing byte, item func() error) error {
	s.at++
	for {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c == closing {
			s.at++
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		switch c {
		case ',':
			s.at++
		case closing:
		default:
			return s.syntax(s.at, fmt.Sprintf("',' or '%c'", closing))
		}
	}
}

func (s *scanner) object() error {
	return s.list('}', func() error {
		value, err := s.whole("a key and a colon", skipKey)
		if err != nil {
			return err
		}
		end, _ := skipString(s.buf, s.at)
		key := string(s.buf[s.at+1 : end-1])
		s.at = value
		c, err := s.peek()
		if err != nil {
			return err
		}
		if key == "traceEvents" && c == '[' {
			return s.events()
		}
		at := s.offset()
		if end, err = s.whole("a value", lexValue); err != nil {
			return err
		}
		v := Value(s.buf[s.at:end:end])
		s.at = end
		if err = s.h.Member(key, v); err != nil {
			return fmt.Errorf("chrome: member %.60q at byte %d: %w", key, at, err)
		}
		return nil
	})
}

func (s *scanner) events() error {
	return s.list(']', func() error {
		end, err := s.whole("an event", s.lexEvent)
		if err != nil {
			return err
		}
		s.event.Offset = s.offset()
		s.event.Raw = s.buf[s.at:end:end]
		s.at = end
		if err := s.h.Event(&s.event); err != nil {
			return fmt.Errorf("chrome: event at byte %d: %w", s.event.Offset, err)
		}
		return nil
	})
}
