package chrome

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/internal/unpack"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ReadOptions of reading. The zero value is good.
type ReadOptions struct {
	// Rules say what things are called; nil: DefaultRules.
	Rules *Rules
	// Workers is the number of goroutines that take text apart; 0 means as many as
	// there are processors.
	Workers int
	// MaxFindings is how many findings of one rule are kept in full; 0 means 100.
	// All are counted.
	MaxFindings int
	// Visit, if it is set, is called once for every event of the timeline t: its index,
	// and its arguments as raw members without braces, valid until Visit returns. What
	// the event is and its arguments are settled then, and so is the length of a span;
	// times, arrows, rows and what stands at the top of the document are not. Most
	// events are visited as they are read; those that later ones say more of (begins of
	// spans, events without a category) when all are read.
	Visit func(t *timeline.Trace, event uint32, args []byte)
	// Member has ReadFile and ReadEach read only the trace of that name in an archive;
	// the others may be damaged then.
	Member string
	// DropArgs leaves raw arguments out of the timeline, which is then some 40 %
	// smaller and cannot be written as it stood.
	DropArgs bool
	// DropOffsets leaves out where events stand in the text. With DropArgs, most events
	// then have nothing beyond their columns, and the timeline no table of it.
	DropOffsets bool
	// KeepKeys are keys of arguments: an event that has one of them keeps its raw
	// arguments in spite of DropArgs.
	KeepKeys []string
}

// Class is what events are counted by. An instant is 'i', however it was spelled.
type Class struct {
	Phase    byte
	Category string
}

// Document is a trace that was read, and what is to be said about it.
type Document struct {
	Name  string // of the file; path/member in an archive
	Trace *timeline.Trace
	// Producer is who wrote it, as far as can be told.
	Producer Producer
	// Findings are those that reading makes, in the order of the text for each
	// block; the first MaxFindings of each rule. FindingCounts counts them all.
	Findings      []Finding
	FindingCounts map[string]uint64
	// Counts counts the events of the document, those included that became
	// something else in the timeline (metadata, arrows, ends of spans).
	Counts map[Class]uint64
	Bytes  int64 // of text, after decompression
}

// Read reads a document into a timeline: an object with traceEvents or a bare
// array of events, compressed with gzip or zstd or not. It takes what writers of
// such documents are known to produce, mends what is broken, leaves out what
// cannot be read, and says so in findings. Memory is that of the timeline and a
// few blocks of text, or twice the largest event.
//
// The timeline has a Source. Times are exact; a digit beyond the nanosecond is
// rounded. Begin and end events are one span; arrows between API calls and device
// work are the events' flags, where they stand on the events they belong to.
//
// Errors wrap ErrSyntax (no trace at all), ErrTruncated (nothing there),
// ErrTooLarge, or are those of r. A damaged or cut file is no error.
func Read(r io.Reader, o ReadOptions) (*Document, error) {
	if o.Rules == nil {
		o.Rules = DefaultRules()
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if o.MaxFindings <= 0 {
		o.MaxFindings = 100
	}
	in, err := unpack.New(r)
	if err != nil {
		return nil, packedError(err)
	}
	defer in.Close()
	d := documentReader{builder: newBuilder(o), in: in, o: &o}
	err = d.document()
	if err != nil && (in.Err() == nil || in.Damaged()) {
		return nil, err
	}
	if in.Err() != nil {
		if !in.Damaged() {
			return nil, fmt.Errorf("chrome: read trace, at byte %d of the text: %w", in.Len(), in.Err())
		}
		d.find.add(RuleCompressed, in.Len(), -1, in.Err().Error())
	}
	return d.builder.finish(in.Len()), nil
}

// packedError is the error of compressed data that cannot even be begun.
func packedError(err error) error {
	if errors.Is(err, unpack.ErrDamaged) {
		return fmt.Errorf("%w: %w", ErrTruncated, err)
	}
	return fmt.Errorf("chrome: read trace: %w", err)
}

// documentReader reads what is around the events.
type documentReader struct {
	*builder
	in        *unpack.Text
	o         *ReadOptions
	pipelines []*pipeline
	events    bool // a list of events was there
	ended     bool // what comes cannot be read, and that was said
}

func (d *documentReader) document() error {
	defer func() {
		for _, p := range d.pipelines {
			p.close()
		}
	}()
	s := &scanner{r: d.in}
	c, err := s.peek()
	if err == nil && c == 0xef {
		for len(s.buf) < 3 && err == nil {
			err = s.fill()
		}
		if err == nil && bytes.HasPrefix(s.buf, []byte("\xef\xbb\xbf")) {
			d.find.add(RuleByteOrderMark, 0, -1, "a byte order mark before the document")
			s.at += 3
			c, err = s.peek()
		}
	}
	if err != nil {
		return err
	}
	switch c {
	case '[':
		d.src.Array = true
		s.at++
		closed, err := d.list(s)
		if err != nil || !closed {
			return err
		}
	case '{':
		if err := d.object(s); err != nil {
			return err
		}
	default:
		return s.syntax(s.at, "a trace ('{' or '[')")
	}
	if _, err := s.peek(); err == nil && !d.ended {
		d.find.add(RuleTrailing, s.offset(), -1, "text behind the document was not read")
	}
	return nil
}

// list reads the events from s on, behind the opening bracket, and leaves s
// behind the closing one. closed is false if the text ended before.
func (d *documentReader) list(s *scanner) (closed bool, err error) {
	d.events = true
	p := newPipeline(s.buf[s.at:], s.r, s.offset(), d.o)
	d.pipelines = append(d.pipelines, p)
	closed, err = p.each(d.block)
	if err != nil {
		return false, err
	}
	if !closed {
		d.find.add(RuleUnclosed, d.in.Len(), -1, "the list of events is not closed: the text ends before")
		d.ended = true // and was read to there
		return false, nil
	}
	*s = scanner{r: p, base: p.left.base + int64(p.leftAt)}
	return true, nil
}

// object reads the members of the document.
func (d *documentReader) object(s *scanner) error {
	s.at++
	comma := true
	for {
		c, err := s.peek()
		if err != nil {
			d.unclosed(s)
			return nil
		}
		switch c {
		case '}':
			if comma && len(d.t.Metadata) > 0 {
				d.find.add(RuleComma, s.offset(), -1, "a comma before the closing brace")
			}
			s.at++
			if !d.events {
				d.find.add(RuleNoEvents, s.offset(), -1, "the document has no traceEvents")
			}
			return nil
		case ',':
			if comma {
				d.find.add(RuleComma, s.offset(), -1, "a comma too many between top-level members")
			}
			comma = true
			s.at++
			continue
		}
		if !comma {
			d.find.add(RuleComma, s.offset(), -1, "no comma between two top-level members")
		}
		comma = false
		ended, err := d.member(s)
		if err != nil || ended {
			return err
		}
	}
}

func (d *documentReader) unclosed(s *scanner) {
	if !d.events {
		d.find.add(RuleNoEvents, s.offset(), -1, "the text ends before any traceEvents")
	}
	d.find.add(RuleUnclosed, s.offset(), -1, "the document is not closed: the text ends before")
}

// member reads one member; ended: the text does not go on.
func (d *documentReader) member(s *scanner) (ended bool, err error) {
	start := s.offset()
	value, err := s.whole("a key and a colon", skipKey)
	if err != nil {
		return d.lost(s, start, err)
	}
	end, _ := skipString(s.buf, s.at)
	key := string(Value(s.buf[s.at:end]).Text(nil))
	if !utf8.ValidString(key) {
		d.find.add(RuleUTF8, start, -1, "in the key of a top-level member: bytes that are not UTF-8 were replaced")
		key = strings.ToValidUTF8(key, "\uFFFD")
	}
	s.at = value
	c, err := s.peek()
	if err != nil {
		return d.lost(s, start, err)
	}
	if key == "traceEvents" && c == '[' {
		if d.events {
			d.find.add(RuleDuplicateKey, start, -1, "a second list of events; both were read")
		}
		s.at++
		d.src.EventsAt = len(d.t.Metadata)
		closed, err := d.list(s)
		return !closed, err
	}
	// A value must have behind it what may stand there.
	lex := func(b []byte, i int) (int, state) {
		end, st := skipValue(b, i, 0)
		if st != done {
			return end, st
		}
		if j := skipSpace(b, end); j >= len(b) {
			if s.failed == nil {
				return end, short
			}
		} else if b[j] != ',' && b[j] != '}' {
			return j, wrong
		}
		return end, done
	}
	if end, err = s.whole("a value", lex); err == nil {
		raw := s.buf[s.at:end]
		if jsonEnd(append(raw[:len(raw):len(raw)], ' '), 0, 0) == len(raw) {
			d.property(key, raw, start)
			s.at = end
			return false, nil
		}
	}
	if errors.Is(err, ErrTooLarge) {
		return false, err
	}
	return d.mendMember(s, key, start)
}

// mendMember mends the value at s.at, which is not JSON.
func (d *documentReader) mendMember(s *scanner, key string, start int64) (ended bool, err error) {
	for {
		m := mender{b: s.buf, final: s.failed != nil}
		end := m.value(s.at, 0)
		if end > 0 {
			for k, r := range mendedRules {
				if m.what&(1<<k) != 0 {
					d.find.add(r.rule, start, -1, fmt.Sprintf("in the top-level member %.60q: %s", key, r.text))
				}
			}
			d.property(key, m.out, start)
			s.at = end
			return false, nil
		}
		switch {
		case !m.short:
			return d.lost(s, start, ErrSyntax)
		case m.final:
			return d.lost(s, start, ErrTruncated)
		}
		if err := s.fill(); errors.Is(err, ErrTooLarge) {
			return false, err
		}
	}
}

// lost steps over what is no member, to the list of events if there is one ahead.
func (d *documentReader) lost(s *scanner, start int64, cause error) (ended bool, err error) {
	defer func() { d.ended = ended }()
	if errors.Is(cause, ErrTooLarge) {
		return false, cause
	}
	if errors.Is(cause, ErrTruncated) || d.in.Err() != nil {
		d.find.add(RuleTruncated, start, -1, "the text ends inside a top-level member, which was left out")
		d.unclosed(s)
		return true, nil
	}
	if s.offset() == start && s.at < len(s.buf) {
		s.at++ // do not find the same again
	}
	events := []byte(`"traceEvents"`)
	for !d.events {
		if k := bytes.Index(s.buf[s.at:], events); k >= 0 {
			s.at += k
			d.find.add(RuleMember, start, -1, "a top-level member cannot be read; what stands before traceEvents was left out")
			return false, nil
		}
		s.at = max(s.at, len(s.buf)-len(events))
		if s.fill() != nil {
			break
		}
	}
	d.find.add(RuleMember, start, -1, "a top-level member cannot be read; what stands behind it was left out")
	if !d.events {
		return true, fmt.Errorf("%w: byte %d: a top-level member cannot be read, and no traceEvents follows", ErrSyntax, start)
	}
	return true, nil
}
