package chrome

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

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

// Event is one event, its well-known fields as raw values: nil where absent, and
// the last one where a key stands twice.
type Event struct {
	Offset int64 // of Raw in the text, after decompression
	Raw    Value
	Phase, Category, Name, PID, TID,
	TS, Dur, ID, Args,
	Scope, BindingPoint Value // "s", "bp"
}

// Scan streams through a document: an object with traceEvents, or a bare array
// of events; gzip is recognised by its first bytes. Memory is bounded by the
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

const (
	scanBuffer = 1 << 17 // what is held at first, bytes
	maxValue   = 1 << 29 // largest event or member, bytes
)

type scanner struct {
	r      io.Reader
	h      Handler
	buf    []byte // what was read and not yet consumed is buf[at:]
	at     int
	base   int64 // offset in the text of buf[0]
	failed error // of r
	ended  bool  // failed is the regular end
	event  Event
}

func (s *scanner) offset() int64 { return s.base + int64(s.at) }

// fill reads more text behind what there is. It returns an error when there is
// no more.
func (s *scanner) fill() error {
	if s.failed != nil {
		return s.failed
	}
	if s.at > 0 {
		n := copy(s.buf, s.buf[s.at:])
		s.base += int64(s.at)
		s.buf, s.at = s.buf[:n], 0
	}
	if len(s.buf) == cap(s.buf) {
		if len(s.buf) >= maxValue {
			return fmt.Errorf("%w: more than %d bytes in one, at byte %d", ErrTooLarge, maxValue, s.offset())
		}
		s.buf = slices.Grow(s.buf, max(scanBuffer, len(s.buf)))
	}
	for range 100 {
		n, err := s.r.Read(s.buf[len(s.buf):cap(s.buf)])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.failed = readError(s.base+int64(len(s.buf)), err)
			s.ended = errors.Is(err, io.EOF)
		}
		if n > 0 {
			return nil
		}
		if err != nil {
			return s.failed
		}
	}
	return io.ErrNoProgress
}

func readError(offset int64, err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: at byte %d", ErrTruncated, offset)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%w: the compressed data ends at byte %d of the text", ErrTruncated, offset)
	}
	return fmt.Errorf("chrome: read trace, at byte %d of the text: %w", offset, err)
}

func (s *scanner) syntax(at int, expected string) error {
	found := "the end"
	if at < len(s.buf) {
		found = fmt.Sprintf("%q", s.buf[at:min(at+16, len(s.buf))])
	}
	return fmt.Errorf("%w: byte %d: expected %s, found %s", ErrSyntax, s.base+int64(at), expected, found)
}

// peek steps over white space and returns the next byte without consuming it.
func (s *scanner) peek() (byte, error) {
	for {
		if s.at = skipSpace(s.buf, s.at); s.at < len(s.buf) {
			return s.buf[s.at], nil
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

// whole calls lex on the text from s.at until it has all of a value, reading
// more as needed, and returns the value's end.
func (s *scanner) whole(what string, lex func(b []byte, i int) (int, state)) (int, error) {
	for {
		end, st := lex(s.buf, s.at)
		switch st {
		case done:
			return end, nil
		case wrong:
			return 0, s.syntax(end, what)
		}
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
}

func lexValue(b []byte, i int) (int, state) { return skipValue(b, i, 0) }

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

// lexEvent finds the end of the event at b[i] and notes its fields on the way.
func (s *scanner) lexEvent(b []byte, i int) (int, state) {
	e := &s.event
	*e = Event{}
	if b[i] != '{' {
		return i, wrong
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, done
	}
	for {
		key := i
		v, st := skipKey(b, i)
		if st != done {
			return v, st
		}
		end, st := skipValue(b, v, 1)
		if st != done {
			return end, st
		}
		if f := e.field(b, key); f != nil {
			*f = b[v:end:end]
		}
		if i = skipSpace(b, end); i >= len(b) {
			return i, short
		}
		switch b[i] {
		case '}':
			return i + 1, done
		case ',':
			i = skipSpace(b, i+1)
		default:
			return i, wrong
		}
	}
}

// field finds where the value of the key that starts at b[i] belongs, nil for a
// key without a field.
func (e *Event) field(b []byte, i int) *Value {
	rest := b[i+1:]
	n := bytes.IndexByte(rest[:min(len(rest), 5)], '"')
	if n < 0 {
		return nil
	}
	switch string(rest[:n]) {
	case "ph":
		return &e.Phase
	case "cat":
		return &e.Category
	case "name":
		return &e.Name
	case "pid":
		return &e.PID
	case "tid":
		return &e.TID
	case "ts":
		return &e.TS
	case "dur":
		return &e.Dur
	case "id":
		return &e.ID
	case "args":
		return &e.Args
	case "s":
		return &e.Scope
	case "bp":
		return &e.BindingPoint
	}
	return nil
}
