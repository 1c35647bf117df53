package chrome

import (
	"bytes"
	"math"
	"math/bits"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// finish makes an item of the event that was just taken apart, which stood at
// l.text[at], and whose spans are of b.
func (l *lexer) finish(b []byte, at int) {
	n := len(l.items)
	l.items = slices.Grow(l.items, 1)
	it := &l.items[:n+1][n] // counts when it is whole
	*it = item{
		at: uint32(at), detail: -1, name: l.at[placeName], cat: l.at[placeCategory], pid: l.at[placePID], tid: l.at[placeTID],
		id: l.at[placeID], args: l.at[placeArgs],
	}
	ph := l.at[placePhase].in(b)
	if len(ph) == 3 && ph[0] == '"' {
		it.phase = ph[1]
	}
	switch it.phase {
	case 'I':
		it.phase = 'i'
	case 0:
		if ph == nil {
			l.note(RulePhase, "an event without a phase was left out", at)
		} else {
			l.note(RulePhase, "an event with a phase that is no letter was left out", at)
		}
		return
	}
	if it.cat.off != 0 {
		if !l.hasKind {
			l.kind = l.rules.kinds[string(it.cat.in(b).bare())]
		}
		it.kind = l.kind
	}
	it.ts, it.has = l.time(b, l.at[placeTS], itemTS, at)
	if it.has&itemTS == 0 && it.phase != 'M' {
		if l.at[placeTS].off == 0 {
			l.note(RuleTime, "an event without ts was left out", at)
		}
		return
	}
	if l.at[placeDur].off != 0 {
		if it.phase == 'X' {
			d, has := l.time(b, l.at[placeDur], itemDur, at)
			it.dur, it.has = d, it.has|has
		} else if it.phase != 'B' { // whose end says how long it is
			l.extra = append(l.extra, l.quoted("dur"), l.at[placeDur])
		}
	}
	if it.args.off != 0 && b[it.args.off] == '{' {
		it.has |= itemArgs
		if l.keep {
			it.has |= itemKeep
		}
		l.argsOf(b, it, at)
	} else if it.args.off != 0 {
		if string(it.args.in(b)) != "null" {
			l.note(RuleArgs, "args are no object", at)
		}
		if it.phase != 'B' { // whose end may add some
			l.extra = append(l.extra, l.quoted("args"), it.args)
		}
		it.args = span{}
	}
	flow := it.phase == 's' || it.phase == 't' || it.phase == 'f'
	if l.at[placeBinding].off != 0 {
		switch {
		case flow && l.at[placeBinding].in(l.text).Is("e"):
			it.has |= itemEnclosing
		default:
			l.extra = append(l.extra, l.quoted("bp"), l.at[placeBinding])
		}
	}
	if !flow && it.id.off != 0 {
		l.extra = append(l.extra, l.quoted("id"), it.id)
	}
	if len(l.extra) > 0 {
		l.fields(it)
	}
	l.items = l.items[:n+1]
}

// quoted appends a key to the text and returns where it stands.
func (l *lexer) quoted(key string) span {
	off := len(l.text)
	l.text = append(append(append(l.text, '"'), key...), '"')
	return span{uint32(off), uint32(len(key) + 2)}
}

// fields appends the members without a place of their own, joined, to the text.
func (l *lexer) fields(it *item) {
	off := len(l.text)
	for k := 0; k < len(l.extra); k += 2 {
		if k > 0 {
			l.text = append(l.text, ", "...)
		}
		key, v := l.extra[k], l.extra[k+1]
		if it.phase == 'X' && it.has&itemDur == 0 && l.at[placeDur].off == 0 && string(key.in(l.text)) == `"tdur"` {
			if d, _, ok := readTime(v.in(l.text).bare()); ok && d >= 0 {
				it.dur, it.has = d, it.has|itemDur
				l.note(RuleDuration, "a span without dur; its tdur was taken", int(it.at))
			}
		}
		l.text = append(l.text, l.text[key.off:key.off+key.n]...)
		l.text = append(l.text, ": "...)
		l.text = append(l.text, l.text[v.off:v.off+v.n]...)
	}
	it.fields = span{uint32(off), uint32(len(l.text) - off)}
}

// time reads a ts or dur.
func (l *lexer) time(b []byte, s span, has itemFlags, at int) (int64, itemFlags) {
	if s.off == 0 {
		return 0, 0
	}
	v := s.in(b)
	if v[0] == '"' {
		l.note(RuleTimeText, "a time is quoted", at)
		v = v.bare()
	}
	l.decimal = l.decimal || bytes.ContainsAny(v, ".eE")
	ns, rounded, ok := readTime(v)
	if !ok {
		l.note(RuleTime, "a time is no number of microseconds that int64 nanoseconds hold", at)
		return 0, 0
	}
	if rounded {
		l.note(RuleTimeRounded, "a time has more digits than nanoseconds", at)
	}
	return ns, has
}

// readTime is parseMicros, faster for the usual form and telling whether
// digits were rounded away.
func readTime(b []byte) (ns int64, rounded, ok bool) {
	point, unit := len(b), int64(1000)
	for k := point - 2; k > 0 && k >= len(b)-4; k-- {
		if unit /= 10; b[k] == '.' {
			point = k
			break
		}
	}
	if n, ok := digits(b[:point]); ok && n < math.MaxInt64/1000 {
		if point == len(b) {
			return n * 1000, false, true
		}
		if f, ok := digits(b[point+1:]); ok {
			return n*1000 + f*unit, false, true
		}
	}
	ns, err := parseMicros(b)
	if err != nil {
		return 0, false, false
	}
	return ns, hasFinerDigits(b, ns), true
}

// hasFinerDigits reports whether b, which is about ns nanoseconds, has digits
// beyond them that are not zero.
func hasFinerDigits(b []byte, ns int64) bool {
	for i, c := range b {
		if c == 'e' || c == 'E' {
			return false // nobody writes nanoseconds so
		}
		if c == '.' {
			for k := i + 4; k < len(b); k++ {
				if b[k] != '0' && b[k] != 'e' && b[k] != 'E' {
					return true
				}
			}
			return false
		}
	}
	return false
}

// argsOf takes what is understood of the arguments into an item.
func (l *lexer) argsOf(b []byte, it *item, at int) {
	if l.set&(1<<slotExternal) != 0 {
		if n, ok := l.slots[slotExternal].in(b).Int(); ok {
			it.external, it.has = n, it.has|itemExternal
		} else {
			l.note(RuleExternalID, "an External id is no integer", at)
		}
	}
	if l.set&(1<<slotCorrelation) != 0 {
		if n, ok := l.slots[slotCorrelation].in(b).integer(); ok {
			it.correlation = uint64(max(n, 0))
			if n < 0 && l.slots[slotCorrelation].in(b).bare()[0] != '-' {
				it.correlation = uint64(n)
			}
		} else {
			l.note(RuleCorrelationBad, "a correlation id is no integer", at)
		}
	}
	if l.set&(1<<slotFinished) != 0 && string(l.slots[slotFinished].in(b)) == "false" {
		it.has |= itemUnfinished
	}
	if (it.phase == 'X' || it.phase == 'B') && it.kind >= timeline.Kernel && it.kind <= timeline.Sync {
		k := len(l.details)
		it.detail = int32(k)
		l.details = slices.Grow(l.details, 1)[:k+1] // in place: they are large
		l.details[k] = details{}
		l.detail(b, &l.details[k])
	}
}

// integer is an integer of 64 bits with or without a sign, as its bits.
func (v Value) integer() (int64, bool) {
	if n, ok := v.Int(); ok {
		return n, true
	}
	b := v.bare()
	if len(b) != 19 && len(b) != 20 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b), 10, 64)
	return int64(n), err == nil
}

func (l *lexer) detail(b []byte, d *details) {
	for set := l.set &^ (1<<slotDevice - 1); set != 0; set &= set - 1 {
		slot := bits.TrailingZeros64(set)
		v := l.slots[slot].in(b)
		ok := false
		switch slot {
		case slotGrid:
			d.grid, ok = dims(v)
		case slotBlock:
			d.block, ok = dims(v)
		case slotSyncKind:
			d.v[slot], ok = syncKind(v), true
		case slotCollective:
			ok = true
		case slotTimedBy:
			ok = v.IsString() && string(v.Text(nil)) == timedByCall
		case slotFinished:
		default:
			d.v[slot], ok = v.integer()
		}
		if ok {
			d.set |= 1 << slot
		}
	}
}

func dims(v Value) (d [3]int32, ok bool) {
	n := 0
	for e := range Elements(v) {
		x, good := e.Int()
		if !good || n == 3 || x < math.MinInt32 || x > math.MaxInt32 {
			return d, false
		}
		d[n] = int32(x)
		n++
	}
	return d, n == 3
}
