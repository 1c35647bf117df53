package chrome

import (
	"math/bits"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Nearly all events of a trace are written like one before: the same keys in the same
// order, with the same space around them. So the lexer keeps the keys that it has gone
// over as a tree, and steps along it: that a key stands there again takes the comparison
// of a few words, and with it is known that it is strict JSON, what it means, and that it
// does not stand there twice. Whatever is not in the tree, and cannot be taken into it, is
// for the lexer that takes anything; what comes out is the same.

// shape is a step in the tree: a key behind those that lead to it. The phase, category and
// row of an event, which many share, are in it with their values, together with the key
// behind them. What each step needs stands first, in a cache line.
type shape struct {
	words [3]uint64 // of text: the first eight bytes, eight further ones, the last ones,
	mask  uint64    // of which so much counts
	child *shape    // the first one
	next  *shape    // the next child of what this one is a child of
	at    [3]uint16 // where the words begin
	n     uint16    // length of text
	place place     // of an event's key
	slot  int8      // of an argument's, -1: none
	keep  bool      // an argument that is to be kept
	whole bool      // text ends with a value, not with a key
	word  bool      // which is a number or the like, and ends where another byte follows

	text     []byte // from behind the value before, or the brace, to a value, or its end
	values   []shapeValue
	key      span     // in text, with its quotes
	keys     []string // in quotes; several where values stand between them
	children int
	up       *shape // nil: this is where the object begins
}

// shapeValue is a value in the text of a shape.
type shapeValue struct {
	place  place
	kind   timeline.Kind // of a category
	off, n uint32
}

// shapes is what a lexer has learned of the text before. Its size is bounded.
type shapes struct {
	events, args shape // before the first key
	n            int
	containers   [1 << containerBits][]byte // by hash, of strict JSON
}

// behind finds what stands at b[i] behind s; nil: nothing that is known. What is found is
// looked at first the next time.
func (s *shape) behind(b []byte, i int) *shape {
	var before *shape
	for n := s.child; n != nil; before, n = n, n.next {
		if end := i + int(n.n); end+8 <= len(b) &&
			((load64(b, i)^n.words[0])|(load64(b, i+int(n.at[1]))^n.words[1])|(load64(b, i+int(n.at[2]))^n.words[2]))&n.mask == 0 &&
			(n.at[2] <= 16 || string(b[i+16:i+int(n.at[2])]) == string(n.text[16:n.at[2]])) &&
			(!n.word || !scalarByte[b[end]]) {
			if before != nil {
				before.next, n.next, s.child = n.next, s.child, n
			}
			return n
		}
	}
	return nil
}

// shaped is event for an event whose keys are in the tree, or can be; 0: it is not one,
// or not strict JSON.
func (l *lexer) shaped(b []byte, i int) int {
	l.begin()
	s := &l.shapes.events
	for i++; ; {
		n := s.behind(b, i)
		if n == nil {
			if end := closed(b, i); end > 0 {
				return end
			}
			if n = l.learn(s, b, i, true); n == nil {
				return 0
			}
		}
		s = n
		start := uint32(i)
		for k := range n.values {
			v := &n.values[k]
			l.at[v.place] = span{start + v.off, v.n}
			if v.place == placeCategory {
				l.kind, l.hasKind = v.kind, true
			}
		}
		i += int(n.n)
		if n.whole {
			continue
		}
		if b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		v := i
		if n.place == placeArgs && v < len(b) && b[v] == '{' {
			i = l.shapedArgs(b, v)
		} else {
			i = jsonEnd(b, v, 1)
		}
		if i <= 0 {
			return 0
		}
		at := span{uint32(v), uint32(i - v)}
		l.at[n.place] = at
		if n.place == placeNone {
			l.extra = append(l.extra, span{start + n.key.off, n.key.n}, at)
		}
	}
}

// shapedArgs is arguments for those whose keys are in the tree, or can be; 0: they are
// not, or not strict JSON.
func (l *lexer) shapedArgs(b []byte, i int) int {
	k := l.shapes
	s := &k.args
	last := uint64(l.at[placeName].n)
	for i++; ; {
		n := s.behind(b, i)
		if n == nil {
			if end := closed(b, i); end > 0 {
				return end
			}
			if n = l.learn(s, b, i, false); n == nil {
				return 0
			}
		}
		s = n
		i += int(n.n)
		c := b[i]
		if c <= ' ' {
			if i = skipSpace(b, i); i >= len(b) {
				return 0
			}
			c = b[i]
		}
		v := i
		switch {
		case c == '"':
			i = strictString(b, v)
		case c == '[' || c == '{':
			i = k.container(b, v, &last)
		default:
			i = scalarEnd(b, v)
		}
		if i < 0 {
			return 0
		}
		if n.slot >= 0 {
			l.marks |= 1 << n.slot
			if n.slot < numSlots {
				l.slots[n.slot] = span{uint32(v), uint32(i - v)}
				l.set |= 1 << n.slot
			}
		}
		l.keep = l.keep || n.keep
	}
}

// closed returns the end of an object that ends at b[i]; 0: it does not.
func closed(b []byte, i int) int {
	if i < len(b) && b[i] <= ' ' {
		i = skipSpace(b, i)
	}
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	return 0
}

// container is jsonEnd for an array or object among arguments. The same ones come again
// and again: the types and shapes of an operator's inputs. last is what the one before it
// in the event was; it helps to guess which one it is.
func (k *shapes) container(b []byte, i int, last *uint64) int {
	if i+16 > len(b) {
		return jsonEnd(b, i, 2)
	}
	const m = 0x9e3779b97f4a7c15
	h := (load64(b, i)*m ^ bits.RotateLeft64(load64(b, i+8), 29) ^ *last) * m >> (64 - containerBits)
	*last = h
	at := &k.containers[h]
	if end := i + len(*at); end > i && end <= len(b) && string(b[i:end]) == string(*at) {
		return end
	}
	end := jsonEnd(b, i, 2)
	if end > 0 && end-i <= maxContainer {
		*at = append((*at)[:0], b[i:end]...)
	}
	return end
}
