package chrome

// event takes apart the event at b[i], which must be strict JSON; it returns its
// end, -1 if it is anything else or not complete.
func (l *lexer) event(b []byte, i int) int {
	it := &l.cur
	*it = item{detail: -1}
	l.set = 0
	l.ts, l.dur, l.scope, l.binding, l.phase, l.tdur, l.badArgs = span{}, span{}, span{}, span{}, span{}, span{}, span{}
	l.extra = l.extra[:0]
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
		at := l.place(b[key+1 : end-1])
		if at == &it.args && v < len(b) && b[v] == '{' {
			if it.args.off != 0 {
				l.set = 0
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
		case at == nil:
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

// place finds where the value of a key belongs, nil for a key without a place.
func (l *lexer) place(key []byte) *span {
	switch string(key) {
	case "ph":
		return &l.phase
	case "cat":
		return &l.cur.cat
	case "name":
		return &l.cur.name
	case "pid":
		return &l.cur.pid
	case "tid":
		return &l.cur.tid
	case "ts":
		return &l.ts
	case "dur":
		return &l.dur
	case "id":
		return &l.cur.id
	case "args":
		return &l.cur.args
	case "bp":
		return &l.binding
	}
	return nil
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
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	if i > whole && (b[whole] != '0' || i == whole+1) && i < len(b) {
		if !scalarByte[b[i]] {
			return i
		}
		if b[i] == '.' {
			point := i
			for i++; i < len(b) && b[i]-'0' <= 9; i++ {
			}
			if i > point+1 && i < len(b) && !scalarByte[b[i]] {
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
