package chrome

import (
	"io"
	"slices"
	"sync"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// blockBytes is the text that a block aims at: enough for the work on it to
// outweigh handing it over, little enough for several to be held.
const blockBytes = 512 << 10

// block is a piece of the list of events. The splitter cuts where an event seems
// to begin, without knowing; a worker lexes the block as if it did. Whether the
// guess was right is known when the block before it has been used up exactly, and
// only then the work counts. So the result does not depend on the cuts.
type block struct {
	lexer
	base    int64 // offset of the block in the text
	started listState
	rest    int // where lexing stopped, and why
	stop    stop
	last    bool  // there is no more text behind it,
	err     error // for this reason
	ready   chan struct{}
}

// pipeline reads a list of events: a splitter, workers, and whoever calls each.
type pipeline struct {
	o      *ReadOptions
	shapes shapes // of whoever calls each
	free   chan *block
	todo   chan *block
	order  chan *block
	quit   chan struct{}
	group  sync.WaitGroup

	// What is left when the list has been closed.
	left   *block
	leftAt int
	err    error // why the text ended; nil until it has, io.EOF in the regular case
}

// newPipeline starts to read a list whose text is head and then r; the opening
// bracket has been consumed. base is the offset of head in the text. The caller
// must call close.
func newPipeline(head []byte, r io.Reader, base int64, o *ReadOptions) *pipeline {
	inFlight := o.Workers + 2
	p := &pipeline{
		o: o, free: make(chan *block, inFlight), todo: make(chan *block, inFlight),
		order: make(chan *block, inFlight), quit: make(chan struct{}),
	}
	for range inFlight {
		p.free <- &block{lexer: newLexer(o), ready: make(chan struct{}, 1)}
	}
	for range o.Workers {
		p.group.Go(func() {
			known := new(shapes)
			for b := range p.todo {
				b.run(known)
				b.ready <- struct{}{}
			}
		})
	}
	p.group.Go(func() { p.split(slices.Clone(head), r, base) })
	return p
}

func (p *pipeline) close() {
	close(p.quit)
	for range p.order {
	}
	p.group.Wait()
}

func newLexer(o *ReadOptions) lexer { return lexer{rules: o.Rules, keepKeys: o.KeepKeys} }

// run takes the block apart with what the caller's blocks before it taught, and adds to
// it.
func (b *block) run(known *shapes) {
	b.shapes = known
	b.reset(b.started)
	b.rest, b.stop = b.lexer.run(0, b.last)
}

func (p *pipeline) split(carry []byte, r io.Reader, base int64) {
	defer close(p.todo)
	defer close(p.order)
	for state := listStart; ; state = afterComma {
		var b *block
		select {
		case b = <-p.free:
		case <-p.quit:
			return
		}
		if cap(b.text) > 4*blockBytes {
			b.text = nil // of one large event
		}
		want := max(blockBytes, 2*len(carry))
		if cap(b.text) < want {
			b.text = hugepage.Make[byte](want)
		}
		b.text = append(b.text[:0], carry...)
		b.base, b.started, b.last, b.err = base, state, false, nil
		for idle := 0; len(b.text) < want; {
			n, err := r.Read(b.text[len(b.text):want])
			b.text = b.text[:len(b.text)+n]
			if n > 0 {
				idle = 0
			} else if idle++; idle == maxIdle && err == nil {
				err = io.ErrNoProgress
			}
			if err != nil {
				b.last, b.err = true, err
				break
			}
		}
		cut := len(b.text)
		if !b.last {
			cut = lastEvent(b.text)
		}
		carry = append(carry[:0], b.text[cut:]...)
		b.text, b.limit = b.text[:cut], cut
		base += int64(cut)
		p.todo <- b
		p.order <- b
		if b.last {
			return
		}
	}
}

// lastEvent finds where the last event in b seems to begin; len(b): nowhere.
func lastEvent(b []byte) int {
	const window = 64 << 10
	for i := len(b) - 1; i > max(0, len(b)-window); i-- {
		if b[i] == '{' && followsEvent(b, i) && beginsEvent(b, i) {
			return i
		}
	}
	return len(b)
}

// next returns the next block, lexed or not yet used; nil at the end.
func (p *pipeline) next() *block {
	b, ok := <-p.order
	if !ok {
		return nil
	}
	<-b.ready
	if b.last {
		p.err = b.err
	}
	return b
}

// each calls build with every block in order, lexed from where the one before it
// ended. It returns whether the list was closed; then p reads what is left.
func (p *pipeline) each(build func(*block) error) (closed bool, err error) {
	state := listStart
	for b := p.next(); b != nil; b = p.next() {
		if b.started != state {
			b.started = state
			b.text = b.text[:b.limit]
			b.run(&p.shapes)
		}
		own := b // given back when done
		for {
			if err := build(b); err != nil {
				return false, err
			}
			state = b.state
			if b.stop != stopShort {
				break
			}
			if b.limit-b.rest > maxValue {
				return false, ErrTooLarge
			}
			b = p.join(b, state)
			if own != nil {
				p.free <- own
				own = nil
			}
		}
		if b.stop == stopClosed {
			p.left, p.leftAt = b, b.rest
			return true, nil
		}
		if own != nil {
			p.free <- own
		}
	}
	return false, nil
}

// join makes a block of what is left of b and as many of the next ones as it
// takes to have twice that.
func (p *pipeline) join(b *block, state listState) *block {
	rest := b.text[b.rest:b.limit]
	j := &block{lexer: newLexer(p.o), base: b.base + int64(b.rest), started: state, last: b.last}
	j.text = append(make([]byte, 0, 2*len(rest)+blockBytes), rest...)
	for want := 2 * len(rest); len(j.text) <= want && !j.last; {
		n := p.next()
		if n == nil {
			j.last = true
			break
		}
		j.text = append(j.text, n.text[:n.limit]...)
		j.last = n.last
		p.free <- n
	}
	j.limit = len(j.text)
	j.run(&p.shapes)
	return j
}

// Read reads the text behind the list.
func (p *pipeline) Read(dst []byte) (int, error) {
	for p.left != nil {
		if n := copy(dst, p.left.text[p.leftAt:p.left.limit]); n > 0 {
			p.leftAt += n
			return n, nil
		}
		if p.left.last || p.err != nil {
			break
		}
		if cap(p.left.ready) > 0 {
			p.free <- p.left
		}
		p.left, p.leftAt = p.next(), 0
	}
	if p.err == nil {
		return 0, io.EOF
	}
	return 0, p.err
}
