package chrome

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	scanBuffer = 1 << 17 // what is read at a time, and held at least, bytes
	maxValue   = 1 << 29 // largest event or member, bytes
	maxIdle    = 100     // reads in a row that bring nothing and no error
)

// scanner holds the text from the value at hand on.
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

// fill reads more text behind what there is: at least as much again, however
// little the reader brings at a time. A value that is lexed anew after each fill
// then costs less than three times its size. It returns an error when there is
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
	held := len(s.buf)
	if held >= maxValue {
		return fmt.Errorf("%w: more than %d bytes in one, at byte %d", ErrTooLarge, maxValue, s.offset())
	}
	want := min(max(scanBuffer, 2*held), maxValue)
	s.buf = slices.Grow(s.buf, want-held)
	for idle := 0; len(s.buf) < want; {
		n, err := s.r.Read(s.buf[len(s.buf):want])
		s.buf = s.buf[:len(s.buf)+n]
		if err != nil {
			s.failed = readError(s.base+int64(len(s.buf)), err)
			s.ended = errors.Is(err, io.EOF)
			break
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle == maxIdle {
			s.failed = readError(s.base+int64(len(s.buf)), io.ErrNoProgress)
			break
		}
	}
	if len(s.buf) == held {
		return s.failed
	}
	return nil
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
