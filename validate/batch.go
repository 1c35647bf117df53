package validate

import "bytes"

// batch is what one stretch of events brought. Its numbers of names, categories
// and rows are its own until commit translates them.
type batch struct {
	recs    []record
	devices []device
	syncs   []syncArgs
	metas   []meta
	names   *interner
	cats    *interner
	rows    *interner
	kinds   []kind // by category

	found   []early
	counts  [numRules]int // of found, and of what found has no room for
	events  int           // of every kind
	lost    int           // events that could not be read
	follows bool          // events came before those of the batch

	textTimes int // ts or dur written as strings
	fraction  bool
	fine      bool
	evIdx     evIdxRange
	bytes     int
}

// evIdxRange notes the indices that torch gives its events.
type evIdxRange struct {
	n        int
	min, max int64
}

// early is a finding made while reading.
type early struct {
	rule   ruleID
	rec    int32 // index in recs, -1 for none
	offset int64
	detail string
}

// meta is the name of a process or a row.
type meta struct {
	row  uint32
	what metaKind
	name string
}

type metaKind uint8

const (
	metaProcess metaKind = iota
	metaThread
	metaLabels
)

// maxEarly bounds the findings of a rule kept of one batch.
const maxEarly = 64

func newBatch() *batch {
	b := &batch{names: newInterner(), cats: newInterner(), rows: newInterner()}
	b.reset()
	return b
}

func (b *batch) reset() {
	names, cats, rows := b.names, b.cats, b.rows
	names.reset()
	cats.reset()
	rows.reset()
	*b = batch{recs: b.recs[:0], devices: b.devices[:0], syncs: b.syncs[:0], metas: b.metas[:0], found: b.found[:0],
		names: names, cats: cats, rows: rows, kinds: append(b.kinds[:0], kOther)}
}

func (b *batch) find(rule ruleID, offset int64, format string, args ...any) {
	b.findIn(rule, -1, offset, format, args...)
}

func (b *batch) findIn(rule ruleID, rec int32, offset int64, format string, args ...any) {
	b.counts[rule]++
	if b.counts[rule] <= maxEarly {
		b.found = append(b.found, early{rule, rec, offset, sprintf(format, args...)})
	}
}

// add makes a record of the event that was read.
func (p *parser) add(r *record, seen int, name, tsBad, durBad, idText []byte, badArgs bool) {
	o, a := p.out, &p.args
	r.index = uint32(o.events)
	o.events++
	rec := int32(len(o.recs))
	found := len(o.found)
	nameID, _ := o.names.id(name)
	r.name = nameID
	r.kind = o.kinds[r.cat]
	for _, is := range p.issues {
		o.findIn(is.rule, rec, is.at, "%s", is.detail)
	}
	if p.more > 0 {
		o.counts[p.issues[len(p.issues)-1].rule] += p.more
	}
	field := func(format string, args ...any) { o.findIn(rEventField, rec, r.offset, format, args...) }

	switch r.ph {
	case 0:
		o.findIn(rPhase, rec, r.offset, "it has no ph of one character")
	case 'X', 'B', 'E', 'i', 'I', 'C', 'M', 's', 't', 'f', 'b', 'n', 'e', 'N', 'O', 'D', 'S', 'T', 'p', 'F', 'P', 'v', 'V', 'R', 'c', '(', ')':
	default:
		o.findIn(rPhase, rec, r.offset, "ph %q is none of the format's", string(rune(r.ph)))
	}
	if tsBad != nil {
		field("ts is %.40s, which is no time", tsBad)
	}
	if durBad != nil {
		field("dur is %.40s, which is no time", durBad)
	}
	if badArgs {
		field("args are no object")
	}
	if r.ph != 'M' && r.ph != 0 && r.flags&hasTS == 0 && tsBad == nil {
		field("it has no ts")
	}
	switch r.ph {
	case 'X':
		if seen&eName == 0 {
			field("a span without name")
		}
		if r.flags&hasDur == 0 && durBad == nil {
			o.findIn(rNoDuration, rec, r.offset, "a complete event (ph X) has no dur")
		}
		if seen&(ePID|eTID) != ePID|eTID {
			field("a span without pid or tid")
		}
	case 's', 't', 'f':
		if idText == nil {
			field("an arrow without id")
		} else {
			r.id, r.flags = flowID(idText), r.flags|hasID
		}
	case 'C':
		if a.count == 0 || a.notNumber {
			o.findIn(rCounter, rec, r.offset, "a counter whose values are not all numbers")
		}
	case 'M':
		p.metadata(r, rec, seen, name)
	}
	if r.ph == 'X' || r.ph == 'i' || r.ph == 'I' {
		p.spanArgs(r)
	}
	if r.ph == 0 && len(o.found) == found {
		return // no rule asks for it, and no finding is about it
	}
	o.recs = append(o.recs, *r)
}

// flowID makes a number of an arrow's id: the integer, quoted or not, or else a
// hash of its text.
func flowID(text []byte) int64 {
	t := text
	if t[0] == '"' {
		t = t[1 : len(t)-1]
	}
	var buf [24]byte
	if len(t) < 22 && len(t) > 0 {
		if v, end, ok := integer(append(append(buf[:0], t...), ' '), 0); ok && end == len(t) {
			return v
		}
	}
	h := uint64(14695981039346656037)
	for _, c := range t {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return int64(h)
}

func (p *parser) metadata(r *record, rec int32, seen int, name []byte) {
	o, a := p.out, &p.args
	if seen&(eName|eArgs) != eName|eArgs {
		o.findIn(rEventField, rec, r.offset, "metadata without name or args")
	}
	var what metaKind
	key := aName
	switch string(name) {
	case "process_name":
	case "thread_name":
		what = metaThread
	case "process_labels":
		what, key = metaLabels, aLabels
	default:
		return
	}
	if a.mask&bit(key) != 0 && len(a.name) > 1 && a.name[0] == '"' {
		o.metas = append(o.metas, meta{r.row, what, string(bytes.Trim(a.name[1:len(a.name)-1], " "))})
	}
}

// spanArgs notes the arguments that rules between events need.
func (p *parser) spanArgs(r *record) {
	o, a := p.out, &p.args
	if a.mask == 0 {
		if r.kind.onDevice() || r.kind == kSync {
			p.side(r)
		}
		return
	}
	number := a.mask &^ a.bad
	if a.mask&bit(aExternal) != 0 {
		r.ext, r.flags = a.ext, r.flags|hasExt
	}
	switch {
	case r.kind == kOperator || r.kind == kAnnotation:
		if number&bit(aSeq) != 0 {
			r.id, r.flags = a.seq, r.flags|hasSeq
		}
	case number&bit(aCorrelation) != 0:
		r.id, r.flags = a.corr, r.flags|hasID
	}
	for _, f := range [...]struct {
		a    arg
		flag uint32
	}{{aCbid, hasCbid}, {aCid, hasCid}, {aCollective, hasCollective}, {aGrid, hasGrid}, {aFwdThread, hasFwdThread}} {
		if a.mask&bit(f.a) != 0 {
			r.flags |= f.flag
		}
	}
	if a.mask&collectiveArgs == collectiveArgs {
		r.flags |= hasComms
	}
	if number&bit(aEvIdx) != 0 {
		e := &o.evIdx
		if e.n == 0 {
			e.min, e.max = a.evIdx, a.evIdx
		}
		e.n, e.min, e.max = e.n+1, min(e.min, a.evIdx), max(e.max, a.evIdx)
	}
	if r.kind.onDevice() || r.kind == kSync {
		p.side(r)
	} else if r.kind.isAPI() && a.bad&(bit(aCorrelation)|bit(aExternal)) != 0 {
		o.findIn(rArgType, int32(len(o.recs)), r.offset, "correlation and External id are integers in an API call")
	}
}

func (p *parser) side(r *record) {
	o, a := p.out, &p.args
	if r.kind == kSync {
		o.syncs = append(o.syncs, syncArgs{a.mask &^ a.bad, a.syncKind, a.waits})
		if a.mask&bit(aSyncKind) == 0 {
			o.syncs[len(o.syncs)-1].kind = syncOther
		}
		r.side = uint32(len(o.syncs))
		return
	}
	d := a.device
	o.devices = append(o.devices, d)
	r.side = uint32(len(o.devices))
}
