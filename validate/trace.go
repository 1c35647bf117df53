package validate

import (
	"fmt"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

// sprintf is fmt.Sprintf that keeps a plain text as it is.
func sprintf(format string, args ...any) string {
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// trace is all that was read of a document.
type trace struct {
	table   paged[record]
	devices paged[device]
	syncs   paged[syncArgs]
	names   *interner
	flags   []nameFlag // by name
	cats    *interner
	kinds   []kind // by category
	rows    *interner
	rowPID  []uint32 // number of the pid of each row
	pids    *interner

	processNames map[uint32][]string // by pid
	threadNames  map[uint32][]string // by row
	labels       map[uint32][]string // by pid

	events, lost int
	bytes        int64 // of text
	textTimes    int
	fraction     bool
	fine         bool
	evIdx        evIdxRange
	array        bool

	members map[string]chrome.Value // small ones only
	merged  map[int64]int64         // pids, by checkDevices; see mergedPIDs
	gpus    map[int64]*gpu
	// described are the ids in deviceProperties.
	described map[int64]bool
	producer  Producer

	windowEnd    int64 // of the instant that Kineto ends with
	hasWindowEnd bool

	// By classify:
	counts     counts
	first      int64 // of all spans but windows, and but those at 0
	windowFrom int64
	windowTo   int64
	deviceRow  []bool   // by row
	spansOf    []uint32 // by row
	pointsOf   []uint32 // arrows' ends, by row
	begins     bool     // there are B or E

	joins      *joins        // by checkJoins
	overlaps   []overlapping // on device rows; by checkRows
	syncsApart bool          // by checkSyncs: no synchronization of a stream is on a row with kernels

	nameMap, catMap, rowMap []uint32 // scratch of commit
}

// gpu is a device's properties, checked once.
type gpu struct {
	dev             occupancy.Device
	kineto, correct bool // the calculator knows it in this mode
}

func newTrace() *trace {
	t := &trace{names: newInterner(), cats: newInterner(), rows: newInterner(), pids: newInterner(),
		processNames: map[uint32][]string{}, threadNames: map[uint32][]string{}, labels: map[uint32][]string{},
		members: map[string]chrome.Value{}, gpus: map[int64]*gpu{}, described: map[int64]bool{}}
	t.flags = []nameFlag{flagsOf("")}
	t.kinds = []kind{kOther}
	t.rowPID = []uint32{0}
	return t
}

// maxNames bounds the names kept of one process or row.
const maxNames = 8

// commit takes over a batch, and c its findings.
func (t *trace) commit(b *batch, c *collector) {
	t.nameMap = t.nameMap[:0]
	for i := range b.names.len() {
		text := b.names.text(uint32(i))
		id, isNew := t.names.id(text)
		if isNew {
			t.flags = append(t.flags, flagsOf(string(chrome.Value(append(append([]byte{'"'}, text...), '"')).Text(nil))))
		}
		t.nameMap = append(t.nameMap, id)
	}
	t.catMap = t.catMap[:0]
	for i := range b.cats.len() {
		id, isNew := t.cats.id(b.cats.text(uint32(i)))
		if isNew {
			t.kinds = append(t.kinds, b.kinds[min(i, len(b.kinds)-1)])
		}
		t.catMap = append(t.catMap, min(id, 1<<16-1))
	}
	t.rowMap = t.rowMap[:0]
	for i := range b.rows.len() {
		text := b.rows.text(uint32(i))
		id, isNew := t.rows.id(text)
		if isNew {
			pid, _ := t.pids.id(pidOf(text))
			t.rowPID = append(t.rowPID, pid)
		}
		t.rowMap = append(t.rowMap, id)
	}
	for _, m := range b.metas {
		row := t.rowMap[m.row]
		switch m.what {
		case metaThread:
			addName(t.threadNames, row, m.name)
		case metaProcess:
			addName(t.processNames, t.rowPID[row], m.name)
		case metaLabels:
			addName(t.labels, t.rowPID[row], m.name)
		}
	}
	first := int64(t.table.n)
	devices, syncs := uint32(t.devices.n), uint32(t.syncs.n)
	for i := range b.recs {
		r := &b.recs[i]
		r.index += uint32(t.events)
		r.name, r.cat, r.row = t.nameMap[r.name], uint16(t.catMap[r.cat]), t.rowMap[r.row]
		if r.side > 0 {
			if r.kind == kSync {
				r.side += syncs
			} else {
				r.side += devices
			}
		}
		t.table.add(r)
		if r.ph == 'i' && string(t.names.text(r.name)) == "Record Window End" && r.flags&hasTS != 0 {
			if !t.hasWindowEnd || r.ts > t.windowEnd {
				t.hasWindowEnd, t.windowEnd = true, r.ts
			}
		}
	}
	for i := range b.devices {
		t.devices.add(&b.devices[i])
	}
	for i := range b.syncs {
		t.syncs.add(&b.syncs[i])
	}
	for _, f := range b.found {
		rec := int64(-1)
		if f.rec >= 0 && int(f.rec) < len(b.recs) {
			rec = first + int64(f.rec)
		}
		c.early(f, rec)
		b.counts[f.rule]--
	}
	for rule, n := range b.counts {
		c.counts[rule] += n // those that b had no room for
	}
	t.events += b.events
	t.lost += b.lost
	t.textTimes += b.textTimes
	t.fraction = t.fraction || b.fraction
	t.fine = t.fine || b.fine
	if b.evIdx.n > 0 {
		if t.evIdx.n == 0 {
			t.evIdx = b.evIdx
		} else {
			t.evIdx = evIdxRange{t.evIdx.n + b.evIdx.n, min(t.evIdx.min, b.evIdx.min), max(t.evIdx.max, b.evIdx.max)}
		}
	}
}

func addName(m map[uint32][]string, key uint32, name string) {
	names := m[key]
	for _, n := range names {
		if n == name {
			return
		}
	}
	if len(names) < maxNames {
		m[key] = append(names, name)
	}
}

// pidOf is the first part of a row's text.
func pidOf(row []byte) []byte {
	for i, c := range row {
		if c == 0 {
			return row[:i]
		}
	}
	return nil
}

func tidOf(row []byte) []byte {
	if n := len(pidOf(row)); n+1 <= len(row) {
		return row[n+1:]
	}
	return nil
}

// nameText is an event's name as readers see it.
func (t *trace) nameText(id uint32) string {
	text := t.names.text(id)
	quoted := append(append(make([]byte, 0, len(text)+2), '"'), text...)
	return string(chrome.Value(append(quoted, '"')).Text(nil))
}
