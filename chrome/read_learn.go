package chrome

// Bounds of what is learned.
const (
	maxShapes        = 4096
	maxShapeChildren = 32
	maxShapeValues   = 16  // children that end with a value, of those; further values are not learned
	maxShapeKeys     = 64  // of an object
	maxShapeText     = 256 // bytes
	maxContainer     = 256 // bytes
	containerBits    = 11
)

// learn takes what stands at b[i] into the tree; nil: there is no key, or it cannot be.
func (l *lexer) learn(s *shape, b []byte, i int, event bool) *shape {
	if s.children >= maxShapeChildren || l.shapes.n >= maxShapes {
		return nil
	}
	n := &shape{up: s}
	start := i
	for first := s.up == nil; ; first = false {
		key, end, v := keyAt(b, i, first)
		if v < 0 || n.has(b[key:end]) {
			return nil
		}
		n.keys = append(n.keys, string(b[key:end]))
		name := b[key+1 : end-1]
		i = v
		if event {
			n.place = placeOf(name)
		} else {
			n.slot, n.keep = int8(l.rules.args.slot(name)), l.kept(name)
		}
		n.key = span{uint32(key - start), uint32(end - key)}
		n.word = false
		if n.whole = n.place.shared() && s.children < maxShapeValues && v < len(b) && b[v] != '{' && b[v] != '['; !n.whole {
			break
		}
		if i = jsonEnd(b, v, 1); i < 0 {
			return nil
		}
		n.word = b[v] != '"'
		x := shapeValue{place: n.place, off: uint32(v - start), n: uint32(i - v)}
		if n.place == placeCategory {
			x.kind = l.rules.kinds[string(Value(b[v:i]).bare())]
		}
		n.values = append(n.values, x)
		if closed(b, i) > 0 {
			break
		}
	}
	if i-start > maxShapeText || i+8 > len(b) {
		return nil
	}
	n.text, n.n, n.mask = append(n.text, b[start:i]...), uint16(i-start), ^uint64(0)
	if short := 8 - len(n.text); short > 0 {
		n.mask >>= 8 * short
	} else {
		n.at[2] = n.n - 8
		n.at[1] = min(8, n.at[2])
	}
	for k := range n.words {
		n.words[k] = load64(b, start+int(n.at[k]))
	}
	last := &s.child
	for *last != nil {
		last = &(*last).next
	}
	*last = n
	s.children++
	l.shapes.n++
	return n
}

// keyAt finds the key at b[i], with its quotes, and the value behind it; v is negative if
// there is none. Before any but the first is a comma.
func keyAt(b []byte, i int, first bool) (key, end, v int) {
	i = skipSpace(b, i)
	if !first {
		if i >= len(b) || b[i] != ',' {
			return 0, 0, -1
		}
		i = skipSpace(b, i+1)
	}
	if i >= len(b) || b[i] != '"' {
		return 0, 0, -1
	}
	key = i
	if end = strictString(b, i); end < 0 {
		return 0, 0, -1
	}
	if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
		return 0, 0, -1
	}
	return key, end, skipSpace(b, i+1)
}

// has reports whether a key stands in a step or in those that lead to it, or whether those
// are so many that it does not matter.
func (s *shape) has(key []byte) bool {
	n := 0
	for ; s != nil; s = s.up {
		for _, k := range s.keys {
			if k == string(key) {
				return true
			}
		}
		n += len(s.keys)
	}
	return n >= maxShapeKeys
}
