package chrome

import (
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// span is a piece of a block's text; off 0 is none, for no value stands there.
type span struct{ off, n uint32 }

func (s span) in(text []byte) Value {
	if s.off == 0 {
		return nil
	}
	return Value(text[s.off : s.off+s.n : s.off+s.n])
}

// item is one event as the lexer hands it to the builder. Spans are of the
// block's text.
type item struct {
	ts, dur     int64
	correlation uint64
	external    int64
	name, cat, pid, tid,
	id, args, fields span
	at     uint32 // where it stood in the block
	detail int32  // in block.details, -1: none
	phase  byte
	kind   timeline.Kind
	has    itemFlags
}

type itemFlags uint8

const (
	itemTS itemFlags = 1 << iota
	itemDur
	itemExternal
	itemUnfinished
	itemEnclosing // "bp": "e"
	itemArgs      // args are an object, maybe an empty one
	itemKeep      // with a key of ReadOptions.KeepKeys
)

// details are the arguments of an event by slot: integers, of 64 bits with or
// without sign.
type details struct {
	set         uint64 // bit by slot
	v           [numSlots]int64
	grid, block [3]int32
}

// note is a finding of the lexer; the builder knows offset and event.
type note struct {
	rule, text string
	at         uint32
	item       int32  // index in items, or where the next one would stand
	n          uint32 // how often, from there on
}

// lexer takes the events of a block of text apart. What is strict JSON costs one
// pass; everything else is first mended into strict JSON (see mender), appended
// to the text, and then read from there.
type lexer struct {
	rules   *Rules
	text    []byte // the block, then what was mended
	limit   int    // length of the block
	items   []item
	details []details
	notes   []note
	marks   uint64 // marks, and slots, of arguments that were seen
	decimal bool   // a time is no whole number of microseconds, as it is written
	state   listState

	shapes   *shapes  // what was learned; nil: nothing is
	keepKeys []string // arguments that are kept where others are dropped

	// of the event at hand
	at      [numPlaces]span
	slots   [numSlots]span
	set     uint64
	keep    bool
	kind    timeline.Kind // of its category, if
	hasKind bool
	extra   []span // pairs of key and value

	keys     [64]span
	out      []byte // room for mended text
	failures int    // elements in a row that could not be read
}

// listState is where in a list of events the lexer stands.
type listState uint8

const (
	listStart listState = iota
	afterComma
	afterElement
)

// maxFailures is how many elements in a row may fail before the search for the
// next one begins where the last one failed, not where it began.
const maxFailures = 16

// stop says why lexing of a block ended.
type stop uint8

const (
	stopEnd    stop = iota // the block is used up
	stopShort              // an element is not complete
	stopClosed             // the list was closed
)

func (l *lexer) reset(state listState) {
	l.items, l.details, l.notes = l.items[:0], l.details[:0], l.notes[:0]
	l.marks, l.state, l.failures, l.decimal = 0, state, 0, false
}

func (l *lexer) note(rule, text string, at int) {
	if k := len(l.notes); k > 0 {
		if last := &l.notes[k-1]; last.item == int32(len(l.items)) && last.rule == rule {
			last.n++ // without an event between them, one note is enough
			return
		}
	}
	l.notes = append(l.notes, note{rule, text, uint32(at), int32(len(l.items)), 1})
}

// run goes over the elements from l.text[i] on. With final, there is no more text
// to come. It returns where it stopped.
func (l *lexer) run(i int, final bool) (int, stop) {
	for {
		b := l.text[:l.limit]
		if i = skipSpace(b, i); i >= len(b) {
			return i, stopEnd
		}
		end := i
		switch b[i] {
		case ',':
			if l.state != afterElement {
				l.note(RuleComma, "a comma too many", i)
			}
			l.state = afterComma
			i++
			continue
		case ']':
			if l.state == afterComma {
				l.note(RuleComma, "a comma before the closing bracket", i)
			}
			return i + 1, stopClosed
		case '{':
			if l.state == afterElement {
				l.note(RuleComma, "no comma between two events", i)
			}
			if end := l.event(b, i); end > 0 {
				l.finish(b, i)
				l.state, l.failures = afterElement, 0
				i = end
				continue
			}
			var st state
			end, st = l.mendEvent(i, final)
			if st == short {
				return i, stopShort
			}
			if st == done {
				l.state, l.failures = afterElement, 0
				i = end
				continue
			}
		default:
			var st state
			end, st = skipValue(b, i, 0)
			if st == short && !final {
				return i, stopShort
			}
			if st == done {
				l.note(RuleLost, "an element that is no event was left out", i)
				l.state = afterElement
				i = end
				continue
			}
		}
		// What cannot be read may hold the beginning of what can; not for long.
		from := i + 1
		if l.failures++; l.failures > maxFailures {
			from = max(from, end)
		}
		next := nextEvent(b, from)
		if next < 0 {
			if !final {
				return i, stopShort
			}
			l.note(RuleTruncated, "an event that cannot be read, at the end of the text, was left out: "+strconv.Itoa(len(b)-i)+" bytes", i)
			return len(b), stopEnd
		}
		l.note(RuleLost, strconv.Itoa(next-i)+" bytes that are no event were skipped", i)
		l.state = afterComma
		i = next
	}
}
