package validate

import (
	"bytes"
	"math"
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// parser reads events into a batch.
type parser struct {
	lexer
	out   *batch
	rules *chrome.Rules

	// final means that no text follows b.
	final bool

	args    argValues
	unknown keySet // keys of an event that no rule knows
	strange keySet // keys of args that no rule knows

	lastCat    []byte // raw text in lastText
	lastCatID  uint16
	lastRow    uint32
	lastPID    []byte
	lastTID    []byte
	rowScratch []byte
}

// argValues are the arguments of the event at hand; what mask does not name is of
// an earlier one.
type argValues struct {
	device
	ext, corr, seq int64
	evIdx          int64
	waits          int64
	syncKind       syncKind
	notNumber      bool // an argument is no number
	count          int
	name           []byte
}

// The keys of an event, as bits.
const (
	ePhase = 1 << iota
	eCategory
	eName
	ePID
	eTID
	eTS
	eDur
	eID
	eArgs
	eScope
	eBinding
)

// events reads events from b[i:], which begins where one may, or after one if
// comma says that a comma is due. It returns how far it came, and done when the
// list was closed, short when the text ended.
func (p *parser) events(i int, comma *bool) (int, status) {
	b := p.b
	for {
		if i = skipSpace(b, i); i >= len(b) {
			return i, short
		}
		switch c := b[i]; {
		case c == ']':
			if !*comma && p.out.events > 0 || !*comma && p.out.follows {
				p.out.find(rTrailingComma, p.base+int64(i), "a comma stands before the ] that closes the events")
			}
			return i + 1, done
		case c == ',' && *comma:
			*comma = false
			i++
			continue
		}
		start := i
		missing := func() {
			if *comma && b[start] == '{' {
				p.out.find(rSyntax, p.base+int64(start), "no comma stands between two events")
			}
		}
		if b[i] != '{' {
			p.errAt, p.errWhat = i, "an event"
			if *comma {
				p.errWhat = "',' or ']'"
			} else if end, st := p.skip(i, 0); st == done {
				p.out.find(rSyntax, p.base+int64(i), "%s stands where an event is expected", found(b, i))
				p.out.lost++
				i, *comma = end, true
				continue
			} else if st == short && !p.final {
				return i, short
			}
			p.errAt = i
		} else {
			p.issues, p.more = p.issues[:0], 0
			end, st := p.event(i)
			if st == done {
				missing()
				i, *comma = end, true
				continue
			}
			if st == short {
				return i, short
			}
		}
		// The structure broke. Go on at the next place that looks like an event: it
		// may lie before the error, in what was taken for a string.
		next := resync(b, i+1)
		if next < 0 && !p.final && len(b)-i < maxBroken {
			return i, short // it may be found in what follows
		}
		missing()
		p.out.find(rSyntax, p.base+int64(p.errAt), "expected %s, found %s; the event is left out", p.errWhat, found(b, p.errAt))
		p.out.lost++
		if next < 0 {
			return len(b), short
		}
		i, *comma = next, false
	}
}

// maxBroken bounds the text that is searched for the end of a broken event.
const maxBroken = 8 << 20

// resync finds where the next event may begin, at or behind i: a brace after a
// comma, followed by one of an event's keys.
func resync(b []byte, i int) int {
	for {
		k := bytes.IndexByte(b[min(i, len(b)):], '{')
		if k < 0 {
			return -1
		}
		i += k
		if beginsEvent(b, i) {
			return i
		}
		i++
	}
}

// beginsEvent says whether the brace at b[i] looks like that of an event.
func beginsEvent(b []byte, i int) bool {
	j := i - 1
	for j >= 0 && b[j] <= ' ' {
		j--
	}
	if j < 0 || b[j] != ',' {
		return false
	}
	for j--; j >= 0 && b[j] <= ' '; j-- {
	}
	if j < 0 || b[j] != '}' {
		return false
	}
	k := skipSpace(b, i+1)
	if k+5 >= len(b) || b[k] != '"' {
		return false
	}
	n := bytes.IndexByte(b[k+1:k+6], '"')
	return n > 0 && eventKey(b[k+1:k+1+n]) != 0
}

func eventKey(k []byte) int {
	switch string(k) {
	case "ph":
		return ePhase
	case "cat":
		return eCategory
	case "name":
		return eName
	case "pid":
		return ePID
	case "tid":
		return eTID
	case "ts":
		return eTS
	case "dur":
		return eDur
	case "id":
		return eID
	case "args":
		return eArgs
	case "s":
		return eScope
	case "bp":
		return eBinding
	}
	return 0
}

// event reads the event at b[i].
func (p *parser) event(i int) (int, status) {
	b := p.b
	start := i
	var (
		r        record
		seen     int
		pid, tid []byte
		name     []byte
		tsBad    []byte
		durBad   []byte
		idText   []byte
		bindE    bool
		badArgs  bool
	)
	p.args.mask, p.args.bad, p.args.notNumber, p.args.count = 0, 0, false, 0
	i = skipSpace(b, i+1)
	empty := i < len(b) && b[i] == '}'
	if empty {
		i++
	} else {
		p.unknown.reset()
	}
	for !empty {
		key, v, st := p.key(i)
		if st != done {
			return v, st
		}
		if v >= len(b) {
			return v, short
		}
		k := eventKey(key)
		if k == 0 {
			if p.unknown.add(key) {
				p.issue(rDuplicateKey, i, "the key %.60q stands twice in an event", key)
			}
		} else if seen&k != 0 {
			p.issue(rDuplicateKey, i, "the key %q stands twice in an event", key)
		}
		seen |= k
		end := v
		switch k {
		case ePhase, eName, eCategory, ePID, eTID, eID, eBinding, eScope:
			if end, st = p.skip(v, 1); st != done {
				return end, st
			}
			text := b[v:end]
			quoted := b[v] == '"'
			switch k {
			case ePhase:
				if quoted && len(text) == 3 {
					r.ph = text[1]
				}
			case eName:
				if quoted {
					name = text[1 : len(text)-1]
				} else {
					p.issue(rEventField, v, "name is %.40s, which is no string", text)
				}
			case eCategory:
				if quoted {
					r.cat = p.category(text[1 : len(text)-1])
				} else {
					p.issue(rEventField, v, "cat is %.40s, which is no string", text)
				}
			case ePID, eTID:
				if quoted {
					text = text[1 : len(text)-1]
				}
				if k == ePID {
					pid = text
				} else {
					tid = text
				}
			case eID:
				idText = text
			case eBinding:
				bindE = string(text) == `"e"`
			}
		case eTS, eDur:
			ns, e, fraction, fine, ok := micros(b, v)
			if ok {
				end = e
			} else {
				if end, st = p.skip(v, 1); st != done {
					return end, st
				}
				var err error
				if ns, err = chrome.Value(b[v:end]).Nanoseconds(); err != nil {
					if k == eTS {
						tsBad = b[v:end]
					} else {
						durBad = b[v:end]
					}
					break
				}
				point := bytes.IndexByte(b[v:end], '.')
				fraction = point >= 0
				fine = fraction && digitsEnd(b, v+point+1)-(v+point+1) > 3
				if b[v] == '"' {
					p.out.textTimes++
				}
			}
			p.out.fraction = p.out.fraction || fraction
			p.out.fine = p.out.fine || fine
			if k == eTS {
				r.ts, r.flags = ns, r.flags|hasTS
			} else {
				r.dur, r.flags = ns, r.flags|hasDur
			}
		case eArgs:
			if b[v] == '{' {
				end, st = p.arguments(v)
			} else {
				badArgs = true
				end, st = p.skip(v, 1)
			}
			if st != done {
				return end, st
			}
		default:
			if end, st = p.skip(v, 1); st != done {
				return end, st
			}
		}
		// As next does, without a call for what is usual.
		last, at, st := p.next(end)
		if st != done {
			return at, st
		}
		i = at
		if last {
			break
		}
	}
	r.offset = p.base + int64(start)
	r.row = p.row(pid, tid)
	if bindE {
		r.flags |= hasBindE
	}
	p.add(&r, seen, name, tsBad, durBad, idText, badArgs)
	return i, done
}

func (p *parser) category(text []byte) uint16 {
	if p.lastCat != nil && string(p.lastCat) == string(text) {
		return p.lastCatID
	}
	id, _ := p.out.cats.id(text)
	if id > math.MaxUint16 {
		id = 0
	}
	for int(id) >= len(p.out.kinds) {
		p.out.kinds = append(p.out.kinds, kindOf(string(p.out.cats.text(uint32(len(p.out.kinds)))), p.rules))
	}
	p.lastCat, p.lastCatID = append(p.lastCat[:0], text...), uint16(id)
	return uint16(id)
}

func (p *parser) row(pid, tid []byte) uint32 {
	if p.lastRow != 0 && string(p.lastPID) == string(pid) && string(p.lastTID) == string(tid) {
		return p.lastRow
	}
	p.rowScratch = append(append(append(p.rowScratch[:0], pid...), 0), tid...)
	id, _ := p.out.rows.id(p.rowScratch)
	p.lastPID, p.lastTID = append(p.lastPID[:0], pid...), append(p.lastTID[:0], tid...)
	p.lastRow = id
	return id
}

// arguments reads the object at b[i] into p.args.
func (p *parser) arguments(i int) (int, status) {
	b, a := p.b, &p.args
	a.mask, a.bad, a.notNumber, a.count = 0, 0, false, 0 // of a duplicate
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, done
	}
	p.strange.reset()
	for {
		key, v, st := p.key(i)
		if st != done {
			return v, st
		}
		if v >= len(b) {
			return v, short
		}
		k := lookupArg(key)
		if k == aUnknown && p.strange.add(key) || k != aUnknown && a.mask&bit(k) != 0 {
			p.issue(rDuplicateKey, i, "the key %.60q stands twice in args", key)
		}
		a.mask |= bit(k)
		a.count++
		var end int
		if k == aUnknown {
			end, st = p.skip(v, 1)
		} else {
			end, st = p.argument(k, v)
		}
		if st != done {
			return end, st
		}
		if c := b[v]; c != '-' && c-'0' > 9 {
			a.notNumber = true
		}
		last, at, st := p.next(end)
		if st != done {
			return at, st
		}
		i = at
		if last {
			return i, done
		}
	}
}

// argument reads the value of an argument that rules look at.
func (p *parser) argument(k arg, v int) (int, status) {
	b, a := p.b, &p.args
	switch k {
	case aExternal, aCorrelation, aDevice, aContext, aStream, aQueued, aRegs, aSmem, aOcc, aBytes, aCbid, aCid, aSeq, aFwdThread, aEvIdx, aWaitCorr, aPriority:
		n, end, ok := integer(b, v)
		if !ok {
			var st status
			if end, st = p.skip(v, 1); st != done {
				return end, st
			}
			a.bad |= bit(k)
			// A quoted number still says which one.
			if n, ok = chrome.Value(b[v:end]).Int(); !ok {
				return end, done
			}
		}
		switch k {
		case aExternal:
			a.ext = n
		case aCorrelation:
			a.corr = n
		case aDevice:
			a.device.device = n
		case aStream:
			a.stream = n
		case aQueued:
			a.queued = n
		case aRegs:
			a.regs = clamp32(n)
		case aSmem:
			a.smem = clamp32(n)
		case aOcc:
			a.occ = clamp32(n)
		case aBytes:
			a.bytes = n
		case aSeq:
			a.seq = n
		case aEvIdx:
			a.evIdx = n
		case aWaitCorr:
			a.waits = n
		case aPriority:
			a.priority = n
		}
		return end, done
	case aBlocks, aWarps, aBandwidth:
		end, st := p.skip(v, 1)
		if st != done {
			return end, st
		}
		f, err := strconv.ParseFloat(string(b[v:end]), 64)
		if err != nil {
			switch string(b[v:end]) {
			case `"inf"`, `"-inf"`, `"nan"`, `"N/A"`, "inf", "nan":
				f = math.NaN() // what Kineto writes where there is no figure
			default:
				a.bad |= bit(k)
			}
		}
		switch k {
		case aBlocks:
			a.blocks = f
		case aWarps:
			a.warps = f
		case aBandwidth:
			a.bandwidth = f
		}
		return end, done
	case aGrid, aBlock:
		to := &a.grid
		if k == aBlock {
			to = &a.block
		}
		if end, ok := triple(b, v, to); ok {
			return end, done
		}
		a.bad |= bit(k)
		return p.skip(v, 1)
	}
	end, st := p.skip(v, 1)
	if st != done {
		return end, st
	}
	switch k {
	case aName, aLabels:
		a.name = b[v:end]
	case aSyncKind:
		a.syncKind = syncOther
		switch string(b[v:end]) {
		case `"Stream Wait Event"`:
			a.syncKind = syncStreamWait
		case `"Event Sync"`:
			a.syncKind = syncEvent
		case `"Stream Sync"`:
			a.syncKind = syncStream
		}
	}
	return end, done
}

func clamp32(n int64) int32 { return int32(max(math.MinInt32, min(math.MaxInt32, n))) }

// triple reads a list of three integers.
func triple(b []byte, i int, to *[3]int32) (end int, ok bool) {
	if b[i] != '[' {
		return 0, false
	}
	i++
	for k := range 3 {
		i = skipSpace(b, i)
		n, end, ok := integer(b, i)
		if !ok || n < math.MinInt32 || n > math.MaxUint32 {
			return 0, false
		}
		to[k] = int32(n) // 32 bits, as the fields they come from
		i = skipSpace(b, end)
		if i >= len(b) {
			return 0, false
		}
		if k < 2 {
			if b[i] != ',' {
				return 0, false
			}
			i++
		}
	}
	if b[i] != ']' {
		return 0, false
	}
	return i + 1, true
}
