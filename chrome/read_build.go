package chrome

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// builder makes a timeline of blocks of events, in one goroutine. Times are those
// of the document until finish.
type builder struct {
	t       *timeline.Trace
	src     *timeline.Source
	rules   *Rules
	find    findings
	counts  map[classKey]uint64
	last    *uint64 // of lastKey
	lastKey classKey
	lastCat string // its category as it stands in quotes; "" if it has escapes

	names   textCache
	rowIDs  [256]rowEntry
	lastRow *rowEntry // in rowIDs
	scratch []byte
	rowInfo []rowInfo // parallel to t.Rows

	groups      map[groupKey]int
	members     map[string]int // by key: index in t.Metadata
	marks       uint64         // of arguments
	ends        []edge
	events      int64 // index of the last event, -1
	unmatched   bool  // device arrows that belong to no event yet
	copies      map[uint32]copyName
	launches    map[uint32]bool // API names: whether they start work
	none        details         // of an event without any
	visit       func(t *timeline.Trace, event uint32, args []byte)
	dropArgs    bool
	dropOffsets bool
	keepKeys    []string       // of those that are not dropped
	late        []uint32       // events whose arguments count when all are read
	lateArgs    *timeline.Args // theirs, and those of ends: t.Args if none are dropped
	open        uint32         // in lateArgs: "finished": false
}

type classKey struct {
	category uint32
	phase    byte
}

type rowEntry struct {
	key string // pid, 0, tid as they stood
	pid int    // length
	id  uint32
	set bool
}

// rowInfo is what events say of their row.
type rowInfo struct {
	kind   timeline.RowKind
	weight uint8
	stream uint32
}

type groupKey struct {
	pid  int64
	text string
}

func newBuilder(o ReadOptions) *builder {
	b := &builder{
		t: &timeline.Trace{Source: &timeline.Source{}, Groups: []timeline.Group{}}, rules: o.Rules,
		counts: map[classKey]uint64{}, groups: map[groupKey]int{}, members: map[string]int{}, events: -1,
		copies: map[uint32]copyName{}, launches: map[uint32]bool{},
	}
	b.src = b.t.Source
	b.src.Whole = true
	b.find.limit, b.visit, b.dropArgs, b.dropOffsets, b.keepKeys = o.MaxFindings, o.Visit, o.DropArgs, o.DropOffsets, o.KeepKeys
	b.lateArgs = &b.t.Args
	if b.dropArgs {
		b.lateArgs = new(timeline.Args)
	}
	return b
}

// block adds the events of a block.
func (b *builder) block(k *block) error {
	b.marks |= k.marks
	b.src.Whole = b.src.Whole && !k.decimal
	n := 0
	for i := range k.items {
		before := b.events
		b.item(k, &k.items[i])
		for ; n < len(k.notes) && int(k.notes[n].item) <= i; n++ {
			at := int64(-1)
			if b.events != before {
				at = b.events
			}
			b.noted(k, &k.notes[n], at)
		}
	}
	for ; n < len(k.notes); n++ {
		b.noted(k, &k.notes[n], -1)
	}
	return nil
}

func (b *builder) noted(k *block, n *note, event int64) {
	b.find.add(n.rule, k.base+int64(n.at), event, n.text)
	b.find.counts[n.rule] += uint64(n.n - 1)
}

func (b *builder) item(k *block, it *item) {
	category := b.category(it.cat.in(k.text))
	b.count(classKey{category, it.phase})
	offset := k.base + int64(it.at)
	switch it.phase {
	case 'M':
		if b.metadata(k, it, offset) {
			return
		}
	case 's', 't', 'f':
		b.flow(k, it, category, offset)
		return
	case 'E':
		e := b.edge(k, it, offset, false)
		e.args = b.lateArgs.Add(members(it.args.in(k.text)))
		b.ends = append(b.ends, e)
		return
	}
	b.event(k, it, category, offset)
}

// category is text for a category, which is mostly that of the event before.
func (b *builder) category(v Value) uint32 {
	if b.lastCat != "" && v.Is(b.lastCat) {
		return b.lastKey.category
	}
	id := b.text(v)
	if b.lastCat = b.t.Strings.At(id); !v.Is(b.lastCat) {
		b.lastCat = ""
	}
	return id
}

func (b *builder) count(c classKey) {
	if b.last == nil || c != b.lastKey {
		// The counts are kept apart from the map, which cannot be pointed into.
		if b.last != nil {
			b.counts[b.lastKey] += *b.last
		}
		b.lastKey, b.last = c, new(uint64)
	}
	*b.last++
}

// members is an object without its braces and the white space beside them.
func members(v Value) []byte {
	if len(v) < 2 || v[0] != '{' {
		return nil
	}
	v = v[1 : len(v)-1]
	for len(v) > 0 && v[0] <= ' ' {
		v = v[1:]
	}
	for len(v) > 0 && v[len(v)-1] <= ' ' {
		v = v[:len(v)-1]
	}
	return v
}

// event adds a span, an instant, or an event of another phase.
func (b *builder) event(k *block, it *item, category uint32, offset int64) {
	t := b.t
	row := b.row(k, it, offset)
	e := timeline.Event{
		Start: it.ts, End: it.ts, Correlation: it.correlation,
		Name: b.text(it.name.in(k.text)), Category: category, Row: row, Kind: it.kind,
	}
	late := (b.visit != nil || b.dropArgs) && (it.phase == 'B' || it.phase == 'X' && category == 0)
	s := timeline.SourceEvent{}
	var args []byte // not looked at where nobody needs them
	if kept := !b.dropArgs || it.has&itemKeep != 0; late || kept || b.visit != nil {
		args = members(it.args.in(k.text))
		switch {
		case late:
			s.Args = b.lateArgs.Add(args)
		case kept:
			s.Args = t.Args.Add(args)
		}
	}
	if !b.dropOffsets {
		s.SetOffset(offset)
	}
	if it.fields.off != 0 {
		s.Fields = b.names.id(&t.Strings, it.fields.in(k.text))
	}
	index := int64(t.Events.Len())
	switch it.phase {
	case 'X':
		switch {
		case it.has&itemDur == 0:
			b.find.add(RuleDuration, offset, index, "a span without dur; taken as 0")
		case it.dur < 0:
			b.find.add(RuleDuration, offset, index, "a span with a negative dur; taken as 0")
		case it.ts > math.MaxInt64-it.dur:
			b.find.add(RuleTime, offset, index, "a span ends later than int64 nanoseconds can say; cut there")
			e.End = math.MaxInt64
		default:
			e.End = it.ts + it.dur
		}
	case 'i':
		e.Flags |= timeline.Instant
	case 'B':
	default:
		s.Phase = it.phase
		if !knownPhases[it.phase] {
			b.find.add(RulePhase, offset, index, "an event of an unknown phase "+strconv.Quote(string(rune(it.phase))))
		}
	}
	if it.has&itemExternal != 0 {
		e.External, e.Flags = it.external, e.Flags|timeline.HasExternal
	}
	if it.has&itemUnfinished != 0 {
		e.Flags |= timeline.Unfinished
	}
	if s.Phase != 0 || it.phase == 'i' && e.Kind != timeline.Host {
		e.Kind = timeline.Other
	}
	d := &b.none
	if it.detail >= 0 {
		d = &k.details[it.detail]
	}
	b.detail(&e, &s, d)
	b.rowInfo[row].see(&e, t)
	t.Events.Add(e)
	b.src.Events.Add(s)
	b.events = index
	switch {
	case late:
		b.late = append(b.late, uint32(index))
	case b.visit != nil:
		b.visit(t, uint32(index), args)
	}
	if it.phase == 'B' {
		g := b.edge(k, it, offset, true)
		g.event = uint32(index)
		b.ends = append(b.ends, g)
	}
}

// knownPhases are those of the format, with the ones it has given up.
var knownPhases = func() (p [256]bool) {
	for _, c := range "BEXiICbneSTpFNODMVvRcsf(),=tPar" {
		p[byte(c)] = true
	}
	return p
}()

// KnownPhase reports whether the format has a phase.
func KnownPhase(ph byte) bool { return knownPhases[ph] }

// text interns the decoded text of a string.
func (b *builder) text(v Value) uint32 {
	if len(v) == 0 {
		return 0
	}
	if v.IsString() && bytes.IndexByte(v, '\\') < 0 {
		return b.names.id(&b.t.Strings, v[1:len(v)-1])
	}
	s := v.Text(b.scratch[:0])
	if v.IsString() && cap(s) > cap(b.scratch) {
		b.scratch = s
	}
	return b.t.Strings.IDBytes(s)
}

// textCache finds the ids of strings that came before without hashing all of
// them, which is the larger part of the work with names of some hundred bytes.
type textCache [1 << 12]uint32

func (c *textCache) id(t *event.Strings, s []byte) uint32 {
	at := &c[textHash(s)&(1<<12-1)]
	if *at != 0 && t.At(*at) == string(s) {
		return *at
	}
	*at = t.IDBytes(s)
	return *at
}

func textHash(s []byte) uint64 {
	const m = 0x9e3779b97f4a7c15
	h := uint64(len(s)) * m
	if len(s) < 8 {
		for _, c := range s {
			h = (h ^ uint64(c)) * m
		}
		return h >> 40
	}
	h = (h ^ binary.LittleEndian.Uint64(s)) * m
	h = (h ^ h>>29 ^ binary.LittleEndian.Uint64(s[len(s)/2-4:])) * m
	h = (h ^ h>>29 ^ binary.LittleEndian.Uint64(s[len(s)-8:])) * m
	return h >> 40
}

// row finds the row of an event.
func (b *builder) row(k *block, it *item, offset int64) uint32 {
	pid, tid := it.pid.in(k.text), it.tid.in(k.text)
	if l := b.lastRow; l != nil && l.pid == len(pid) && len(l.key) == len(pid)+1+len(tid) && l.key[:l.pid] == string(pid) && l.key[l.pid+1:] == string(tid) {
		return l.id
	}
	key := append(append(append(b.scratch[:0], pid...), 0), tid...)
	b.scratch = key
	at := &b.rowIDs[textHash(key)&255]
	b.lastRow = at
	if at.set && at.key == string(key) {
		return at.id
	}
	var r timeline.Row
	r.PID, r.PIDText, r.EmptyPID = b.rowID(pid, offset)
	r.TID, r.TIDText, r.EmptyTID = b.rowID(tid, offset)
	r.Kind = timeline.RowOther
	*at = rowEntry{string(key), len(pid), b.t.Row(r), true}
	for len(b.rowInfo) < len(b.t.Rows) {
		b.rowInfo = append(b.rowInfo, rowInfo{kind: timeline.RowOther})
	}
	return at.id
}

// rowID reads a pid or tid: a number, quoted or not, or a text.
func (b *builder) rowID(v Value, offset int64) (n int64, text string, empty bool) {
	if v == nil || string(v) == "null" {
		return 0, "", false
	}
	if n, ok := v.Int(); ok {
		if v.IsString() {
			if strconv.FormatInt(n, 10) != string(v.bare()) {
				return 0, string(v.bare()), false
			}
			b.find.add(RuleIDText, offset, -1, "a pid or tid is a quoted number; read as the number")
		}
		return n, "", false
	}
	text = string(v.Text(nil))
	return 0, text, text == ""
}

// see learns what a row is from an event on it.
func (r *rowInfo) see(e *timeline.Event, t *timeline.Trace) {
	kind, weight := timeline.RowOther, uint8(0)
	switch e.Kind {
	case timeline.Kernel, timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		kind, weight = timeline.RowStream, 5
	case timeline.DeviceAnnotation:
		kind, weight = timeline.RowStream, 4
	case timeline.Overhead:
		kind, weight = timeline.RowOverhead, 3
	case timeline.Runtime, timeline.Driver, timeline.Host:
		kind, weight = timeline.RowThread, 2
	case timeline.Sync:
		kind, weight = timeline.RowSync, 1
	}
	if weight <= r.weight {
		return
	}
	r.kind, r.weight = kind, weight
	if e.Kind.OnDevice() || e.Kind == timeline.Sync {
		r.stream = t.Places[e.Place].Stream
	} else if n, ok := streamOf(&t.Rows[e.Row]); ok && kind == timeline.RowStream {
		r.stream = n
	}
}
