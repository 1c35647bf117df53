package validate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// Errors that Run wraps; test with errors.Is.
var (
	// ErrNotTrace: the text is neither an object nor a list.
	ErrNotTrace = errors.New("validate: not a trace")
	// ErrTooLarge: one event or member is larger than what is held in memory.
	ErrTooLarge = errors.New("validate: value too large")
)

type mode uint8

const (
	atStart mode = iota
	inMembers
	inEvents
	atEnd
)

// document puts the chunks together.
type document struct {
	t     *trace
	found *collector
	rules *chrome.Rules
	size  int // of a chunk

	p       parser
	scratch *batch
	mode    mode
	comma   bool // inMembers, inEvents: a comma is due
	events  bool // traceEvents was seen
	keys    keySet
	carry   []byte // text not yet consumed
	base    int64  // offset of carry
	tried   int    // length of carry when it was last read in vain
	garbage bool
	memory  int
}

// readers is how many chunks are read at once.
func readers() int { return max(1, min(4, runtime.GOMAXPROCS(0))) }

// read reads a whole document. The error is one of r, ErrNotTrace or ErrTooLarge;
// what was read until then is in d.t.
func (d *document) read(r io.Reader) error {
	ctx, cancel := context.WithCancel(context.Background())
	workers := readers()
	ordered := make(chan *chunk, 2*workers)
	work := make(chan *chunk, 2*workers)
	free := make(chan []byte, 4*workers)
	batches := make(chan *batch, 4*workers)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		defer close(ordered)
		defer close(work)
		s := &splitter{size: d.size, r: r, free: free}
		for first := true; ; first = false {
			c := s.next()
			c.first = first
			select {
			case ordered <- c:
			case <-ctx.Done():
				return
			}
			if !first {
				select {
				case work <- c:
				case <-ctx.Done():
					return
				}
			}
			if c.last {
				return
			}
		}
	}()
	for range workers {
		go func() {
			p := parser{rules: d.rules}
			for c := range work {
				select {
				case c.out = <-batches:
					c.out.reset()
				default:
					c.out = newBatch()
				}
				p.begin(c.buf, c.base, c.out)
				p.final = c.last
				c.n, c.st = p.events(0, &c.comma)
				c.out.bytes = c.n
				close(c.ready)
			}
		}()
	}
	defer func() { cancel(); <-finished }()

	d.scratch = newBatch()
	var err error
	for c := range ordered {
		if err = d.chunk(c); err != nil {
			break
		}
		if c.out != nil {
			select {
			case batches <- c.out:
			default:
			}
		}
		// What a parser may still point into is its own copy.
		if cap(c.buf) <= 2*chunkSize {
			select {
			case free <- c.buf:
			default:
			}
		}
		d.t.bytes = c.base + int64(len(c.buf))
		if c.last {
			d.finish(c.err)
			if err = c.err; err == nil && d.mode == atStart {
				err = fmt.Errorf("%w: it is empty", ErrNotTrace)
			}
		}
	}
	return err
}

func (p *parser) begin(b []byte, base int64, out *batch) {
	p.b, p.base, p.out = b, base, out
	p.lastRow, p.lastCat = 0, nil
	p.issues, p.more = p.issues[:0], 0
}

// chunk takes in a chunk: what a worker has read of it, if it was right to begin
// where it did, or by reading it here.
func (d *document) chunk(c *chunk) error {
	if c.first {
		d.base = c.base
	} else {
		<-c.ready
	}
	if !c.first && d.mode == inEvents && len(d.carry) == 0 && !d.comma {
		d.t.commit(c.out, d.found)
		d.comma = c.comma
		d.base = c.base + int64(c.n)
		switch {
		case c.st == done:
			d.eventsEnd()
		case c.n == len(c.buf):
			return nil
		}
		d.carry, d.tried = append(d.carry, c.buf[c.n:]...), 0
		if c.st == short {
			d.tried = len(d.carry)
			return nil
		}
	} else {
		d.carry = append(d.carry, c.buf...)
	}
	// Reading a large value anew with each chunk would take a time that grows with
	// the square of its size.
	if len(d.carry) < 2*d.tried && !c.last {
		return nil
	}
	if len(d.carry) > maxValue {
		return fmt.Errorf("%w: more than %d bytes, at byte %d", ErrTooLarge, maxValue, d.base)
	}
	n, err := d.consume(d.carry, c.last)
	d.base += int64(n)
	d.carry = d.carry[:copy(d.carry, d.carry[n:])]
	d.tried = len(d.carry)
	return err
}

// consume reads on in b and returns how far it came.
func (d *document) consume(b []byte, final bool) (int, error) {
	i := 0
	d.p.final = final
	for {
		i = skipSpace(b, i)
		if d.mode == atStart && bytes.HasPrefix(b[i:], []byte("\xef\xbb\xbf")) {
			d.found.at(rByteOrderMark, d.base+int64(i), "the text begins with a byte order mark")
			i = skipSpace(b, i+3)
		}
		if i >= len(b) {
			return i, nil
		}
		switch d.mode {
		case atStart:
			switch b[i] {
			case '[':
				d.mode, d.t.array, d.events = inEvents, true, true
			case '{':
				d.mode = inMembers
			default:
				return i, fmt.Errorf("%w: it begins with %s", ErrNotTrace, found(b, i))
			}
			i++
		case inMembers:
			end, st := d.member(b, i, final)
			if st == short {
				return i, nil
			}
			i = end
		case inEvents:
			d.scratch.reset()
			d.scratch.follows = d.t.events > 0
			d.p.begin(b, d.base, d.scratch)
			end, st := d.p.events(i, &d.comma)
			d.t.commit(d.scratch, d.found)
			if st == short {
				return end, nil
			}
			i = end
			d.eventsEnd()
		case atEnd:
			if !d.garbage {
				d.garbage = true
				d.found.at(rSyntax, d.base+int64(i), "%q follows the end of the document", b[i])
			}
			return len(b), nil
		}
	}
}

func (d *document) eventsEnd() {
	d.comma = true
	d.mode = inMembers
	if d.t.array {
		d.mode = atEnd
	}
}

const (
	// maxMembers bounds what is kept of members, bytes; memberBytes is what one takes
	// beside its text.
	maxMembers  = 4 << 20
	memberBytes = 200
)

// member reads a member of the document, or its end.
func (d *document) member(b []byte, i int, final bool) (int, status) {
	p := &d.p
	p.begin(b, d.base, d.scratch)
	switch {
	case b[i] == '}':
		if !d.comma && d.keys.few != nil {
			d.found.at(rTrailingComma, d.base+int64(i), "a comma stands before the } that closes the document")
		}
		d.mode = atEnd
		return i + 1, done
	case b[i] == ',' && d.comma:
		d.comma = false
		return i + 1, done
	}
	noComma := d.comma && b[i] == '"'
	key, v, st := p.key(i)
	if st == done && v >= len(b) {
		st = short
	}
	if st == done && noComma && string(key) == "traceEvents" && b[v] == '[' {
		d.found.at(rSyntax, d.base+int64(i), "no comma stands between two members")
	}
	if st == done && string(key) == "traceEvents" && b[v] == '[' {
		d.issues(p)
		if d.keys.add([]byte("traceEvents")) {
			d.found.at(rDuplicateKey, d.base+int64(i), "the document names traceEvents twice; the events of both are read")
		}
		d.mode, d.comma, d.events = inEvents, false, true
		return v + 1, done
	}
	end := v
	if st == done {
		end, st = p.skip(v, 0)
	}
	switch st {
	case short:
		return i, short
	case wrong:
		// A broken member does not take the events with it.
		k := bytes.Index(b[p.errAt:], []byte(`"traceEvents"`))
		if k < 0 && !d.events && !final && len(b)-i <= maxBroken {
			return i, short
		}
		d.found.at(rSyntax, d.base+int64(p.errAt), "expected %s, found %s in the document's members", p.errWhat, found(b, p.errAt))
		if k >= 0 && !d.events {
			d.comma = false
			return p.errAt + k, done
		}
		d.mode, d.garbage = atEnd, true
		return len(b), done
	}
	if noComma {
		d.found.at(rSyntax, d.base+int64(i), "no comma stands between two members")
	}
	d.issues(p)
	if d.keys.add(append([]byte(nil), key...)) {
		d.found.at(rDuplicateKey, d.base+int64(i), "the document names %.60q twice", key)
	}
	if d.memory += end - v + len(key) + memberBytes; d.memory <= maxMembers {
		d.t.members[string(key)] = chrome.Value(append([]byte(nil), b[v:end]...))
	}
	d.comma = true
	return end, done
}

func (d *document) issues(p *parser) {
	for _, is := range p.issues {
		d.found.at(is.rule, is.at, "%s", is.detail)
	}
}

// finish says what is wrong with how the text ends.
func (d *document) finish(err error) {
	end := d.base + int64(len(d.carry))
	why := "the text ends"
	if err != nil {
		why = err.Error()
	}
	switch {
	case d.mode == atEnd:
		if err != nil {
			d.found.at(rTruncated, end, "%s", why)
		}
		if !d.events {
			d.found.at(rNoEvents, 0, "the document has no traceEvents")
		}
	case d.mode == inEvents && d.t.array && len(bytes.TrimSpace(d.carry)) == 0 && err == nil:
		if !d.comma && d.t.events > 0 {
			d.found.at(rTrailingComma, end, "the text ends with a comma")
		}
		d.found.at(rUnclosed, end, "the list of events is not closed with ]")
	default:
		where := "before the events"
		if d.mode == inEvents {
			where = fmt.Sprintf("inside event %d", d.t.events)
			if len(bytes.TrimSpace(d.carry)) == 0 {
				where = fmt.Sprintf("after event %d", d.t.events-1)
			}
		} else if d.events {
			where = "after the events"
		}
		d.found.at(rTruncated, end, "%s %s", why, where)
		if !d.events {
			d.found.at(rNoEvents, 0, "the document has no traceEvents")
		}
	}
}
