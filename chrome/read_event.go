package chrome

// event takes apart the event at b[i], which must be strict JSON; it returns its
// end, -1 if it is anything else or not complete.
func (l *lexer) event(b []byte, i int) int {
	if l.shapes != nil {
		if end := l.shaped(b, i); end > 0 {
			return end
		}
	}
	return l.anyEvent(b, i)
}

// begin forgets the event before.
func (l *lexer) begin() {
	l.set, l.keep, l.hasKind = 0, false, false
	l.at = [numPlaces]span{}
	l.extra = l.extra[:0]
}

func (l *lexer) anyEvent(b []byte, i int) int {
	l.begin()
	notes := len(l.notes)
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	for {
		if i >= len(b) || b[i] != '"' {
			break
		}
		key := i
		end := strictString(b, i)
		if end < 0 {
			break
		}
		if i = end; i >= len(b) {
			break
		}
		if b[i] != ':' {
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				break
			}
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		v := i
		place := placeOf(b[key+1 : end-1])
		at := &l.at[place]
		if place == placeArgs && v < len(b) && b[v] == '{' {
			if at.off != 0 {
				l.set, l.keep = 0, false
			}
			i = l.arguments(b, v)
		} else {
			i = jsonEnd(b, v, 1)
		}
		if i < 0 {
			break
		}
		s := span{uint32(v), uint32(i - v)}
		switch {
		case place == placeNone:
			l.extra = append(l.extra, span{uint32(key), uint32(end - key)}, s)
		case at.off != 0:
			l.note(RuleDuplicateKey, "an event names a key twice; the last one counts", v)
			*at = s
		default:
			*at = s
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			break
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			if i++; i < len(b) && b[i] <= ' ' {
				i = skipSpace(b, i)
			}
			continue
		}
		break
	}
	l.notes = l.notes[:notes]
	return -1
}

// arguments goes over an event's arguments and notes those that have a slot.
func (l *lexer) arguments(b []byte, i int) int {
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1
	}
	var seen [4]uint64
	n := 0
	for {
		if i >= len(b) || b[i] != '"' {
			return -1
		}
		start := i + 1
		if i = strictString(b, i); i < 0 || i >= len(b) {
			return -1
		}
		key := b[start : i-1]
		if b[i] != ':' {
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
		}
		if i++; i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		v := i
		if i = jsonEnd(b, v, 2); i < 0 {
			return -1
		}
		h := argHash(key)
		if seen[h>>6]&(1<<(h&63)) != 0 && l.repeated(b, key, n) {
			l.note(RuleDuplicateKey, "args name a key twice; the last one counts", start)
		}
		seen[h>>6] |= 1 << (h & 63)
		if n < len(l.keys) {
			l.keys[n] = span{uint32(start), uint32(len(key))}
			n++
		}
		l.keep = l.keep || l.kept(key)
		if slot := l.rules.args.slot(key); slot >= 0 {
			l.marks |= 1 << slot
			if slot < numSlots {
				l.slots[slot] = span{uint32(v), uint32(i - v)}
				l.set |= 1 << slot
			}
		}
		if i < len(b) && b[i] <= ' ' {
			i = skipSpace(b, i)
		}
		if i >= len(b) {
			return -1
		}
		switch b[i] {
		case '}':
			return i + 1
		case ',':
			if i++; i < len(b) && b[i] <= ' ' {
				i = skipSpace(b, i)
			}
		default:
			return -1
		}
	}
}

func (l *lexer) repeated(b, key []byte, n int) bool {
	for _, k := range l.keys[:n] {
		if string(k.in(b)) == string(key) {
			return true
		}
	}
	return false
}

// jsonEnd returns the end of the strict JSON value at b[i], -1 if it is anything
// else or not complete.
func jsonEnd(b []byte, i, depth int) int {
	if i >= len(b) || depth > maxDepth {
		return -1
	}
	c := b[i]
	switch {
	case c == '"':
		return strictString(b, i)
	case c == '{', c == '[':
	default:
		return scalarEnd(b, i)
	}
	closing := c + 2
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == closing {
		return i + 1
	}
	for {
		if c == '{' {
			if i >= len(b) || b[i] != '"' {
				return -1
			}
			if i = strictString(b, i); i < 0 {
				return -1
			}
			if i = skipSpace(b, i); i >= len(b) || b[i] != ':' {
				return -1
			}
			i = skipSpace(b, i+1)
		}
		if i = jsonEnd(b, i, depth+1); i < 0 {
			return -1
		}
		if i = skipSpace(b, i); i >= len(b) {
			return -1
		}
		switch b[i] {
		case closing:
			return i + 1
		case ',':
			i = skipSpace(b, i+1)
		default:
			return -1
		}
	}
}

func scalarEnd(b []byte, i int) int {
	start := i
	// Most are numbers without an exponent.
	if i < len(b) && b[i] == '-' {
		i++
	}
	whole := i
	i = digitsEnd(b, i)
	if i > whole && (b[whole] != '0' || i == whole+1) && i < len(b) {
		if !scalarByte[b[i]] {
			return i
		}
		if b[i] == '.' {
			point := i
			if i = digitsEnd(b, i+1); i > point+1 && i < len(b) && !scalarByte[b[i]] {
				return i
			}
		}
	}
	for i < len(b) && scalarByte[b[i]] {
		i++
	}
	// At the end of the text it may go on.
	if i == len(b) || !strictScalar(b[start:i]) {
		return -1
	}
	return i
}
