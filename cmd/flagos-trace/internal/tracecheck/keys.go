package tracecheck

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// keyWalk finds the keys that the objects in a JSON text name twice. It keeps
// its memory from one text to the next.
type keyWalk struct {
	text []byte
	open []container
	keys [][]byte // of the open objects, the innermost one's last
}

// container is an object or an array that the walk is inside of.
type container struct {
	object bool
	value  bool // what comes next in an object is a value
	first  int  // index in keys of the object's first
	index  int  // of the element at hand of an array
	names  map[string]bool
}

// manyKeys is the number of keys from which on a map finds one sooner.
const manyKeys = 32

// walk calls twice for every such key, with the place of its object ("args.a[2]",
// "" for the text's own value). The text must be JSON; it is passed once.
func (w *keyWalk) walk(text []byte, twice func(key []byte, place string)) {
	w.text, w.open, w.keys = text, w.open[:0], w.keys[:0]
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			w.open = append(w.open, container{object: text[i] == '{', first: len(w.keys)})
		case '}', ']':
			last := len(w.open) - 1
			w.keys = w.keys[:w.open[last].first]
			w.open = w.open[:last]
		case ',':
			c := &w.open[len(w.open)-1]
			c.value = false
			c.index++
		case '"':
			end := stringEnd(text, i)
			if n := len(w.open); n > 0 && w.open[n-1].object && !w.open[n-1].value {
				w.open[n-1].value = true
				if key := unquote(text[i:end]); w.add(key) {
					twice(key, w.place())
				}
			}
			i = end - 1
		}
	}
}

// add notes a key of the innermost object and reports whether it was there.
func (w *keyWalk) add(key []byte) (twice bool) {
	c := &w.open[len(w.open)-1]
	own := w.keys[c.first:]
	if c.names == nil && len(own) >= manyKeys {
		c.names = map[string]bool{}
		for _, k := range own {
			c.names[string(k)] = true
		}
	}
	if c.names != nil {
		twice = c.names[string(key)]
		c.names[string(key)] = true
	} else {
		for _, k := range own {
			twice = twice || bytes.Equal(k, key)
		}
	}
	w.keys = append(w.keys, key)
	return twice
}

// place names where the innermost object is.
func (w *keyWalk) place() string {
	var b strings.Builder
	for i, c := range w.open[:len(w.open)-1] {
		if !c.object {
			fmt.Fprintf(&b, "[%d]", c.index)
		} else {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			// The key at hand is the last before those of the container within.
			b.Write(w.keys[w.open[i+1].first-1])
		}
	}
	return b.String()
}

// stringEnd returns the index behind the string that starts at text[i].
func stringEnd(text []byte, i int) int {
	for i++; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// unquote returns what a JSON string says: "\u0061" and "a" are the same key.
func unquote(text []byte) []byte {
	if bytes.IndexByte(text, '\\') >= 0 {
		var s string
		if json.Unmarshal(text, &s) == nil {
			return []byte(s)
		}
	}
	return text[1 : len(text)-1]
}
