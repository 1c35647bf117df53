package export

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Table is a trace as rows. Make it with NewTable. It is for one goroutine.
type Table struct {
	t   *timeline.Trace
	x   *calltree.Tree
	run *measure.Run
	// That Each read it from, and what was found in it.
	file     string
	findings map[string]uint64
	name     string
	ranks    []int
	args     bool
	raw      func(event uint32) []byte // the arguments of an event

	paths  *calltree.Paths
	of     []calltree.Path // by node
	texts  []string        // by path, "" until it is asked for
	groups map[processKey]string
}

type processKey struct {
	pid  int64
	text string
}

// NewTable makes the rows of a trace; name is that of its file. Without args the
// column of that name is empty.
func NewTable(t *timeline.Trace, name string, args bool) *Table {
	x := calltree.New(t)
	b := &Table{
		t: t, x: x, run: measure.Of(x), name: filepath.Base(name), ranks: ranks.OfRows(t), args: args, raw: t.RawArgs,
		paths: calltree.NewPaths(calltree.Label), groups: map[processKey]string{},
	}
	b.of = b.paths.Add(x)
	b.texts = make([]string, b.paths.Len())
	for _, g := range t.Groups {
		b.groups[processKey{g.PID, g.PIDText}] = g.Name
	}
	return b
}

// File returns the file, and the member of an archive, that Each has read the trace from.
func (b *Table) File() string { return b.file }

// Findings counts what reading the file found broken or odd, by rule.
func (b *Table) Findings() map[string]uint64 { return b.findings }

// Rename says what the column trace holds, where the base name of the file would not
// tell two traces apart.
func (b *Table) Rename(name string) { b.name = name }

// Len returns the number of rows: that of events.
func (b *Table) Len() int { return b.t.Events.Len() }

// Rank returns the rank of a row; ok is false where the trace does not say.
func (b *Table) Rank(i uint32) (rank int, ok bool) {
	n := b.ranks[b.t.Events.At(i).Row]
	return n, n >= 0
}

// Step returns the number of the step of a row; ok is false where it is in none.
func (b *Table) Step(i uint32) (step int64, ok bool) {
	n := calltree.None
	if w := b.x.WorkOf(i); w != calltree.NoWork {
		n = b.x.Step(w)
	} else {
		n = b.x.StepOf(b.x.Of(i))
	}
	if n == calltree.None {
		return 0, false
	}
	name := b.x.Name(n)
	step, err := strconv.ParseInt(name[strings.LastIndexByte(name, '#')+1:], 10, 64)
	return step, err == nil && step >= 0
}

// Row fills in a row.
func (b *Table) Row(i uint32, r *Row) {
	*r = Row{}
	t, e := b.t, b.t.Events.At(i)
	r.text(colTrace, b.name)
	r.int(colEvent, int64(i))
	if n, ok := b.Rank(i); ok {
		r.int(colRank, int64(n))
	}
	if n, ok := b.Step(i); ok {
		r.int(colStep, n)
	}
	r.text(colKind, e.Kind.String())
	r.some(colCategory, t.Strings.At(e.Category))
	r.text(colName, t.Strings.At(e.Name))
	r.int(colStart, e.Start)
	r.text(colPhase, b.phase(i, e))
	if r[colPhase].Text == "X" {
		r.int(colDuration, e.Duration())
	}
	b.place(e, r)
	if e.Correlation != 0 {
		r.int(colCorrelation, int64(e.Correlation))
	}
	if e.Flags&timeline.HasExternal != 0 {
		r.int(colExternal, e.External)
	}
	if w := b.x.WorkOf(i); w != calltree.NoWork {
		b.work(w, r)
	} else if n := b.x.Of(i); n != calltree.None {
		b.node(n, r)
	}
	switch {
	case e.Kind == timeline.Kernel:
		b.kernel(t.Kernels.At(e.Detail), r)
	case e.Kind.OnDevice():
		b.copy(t.Copies.At(e.Detail), r)
	}
	b.arguments(i, r)
}

// phase is the phase of an event.
func (b *Table) phase(i uint32, e *timeline.Event) string {
	switch {
	case b.t.Source != nil && b.t.Source.Events.At(i).Phase != 0:
		return string(rune(b.t.Source.Events.At(i).Phase))
	case e.Flags&timeline.Instant != 0:
		return "i"
	}
	return "X"
}

// place fills in where an event stands.
func (b *Table) place(e *timeline.Event, r *Row) {
	row := &b.t.Rows[e.Row]
	process := b.groups[processKey{row.PID, row.PIDText}]
	if row.PIDText == "" && !row.EmptyPID {
		r.int(colPID, row.PID)
		if process == "" && row.PID == int64(b.t.Process.PID) {
			process = b.t.Process.Name
		}
	} else if process == "" {
		process = row.PIDText
	}
	r.some(colProcess, process)
	thread := row.Name
	if row.TIDText == "" && !row.EmptyTID {
		r.int(colTID, row.TID)
	} else if thread == "" {
		thread = row.TIDText
	}
	r.some(colThread, thread)
	if !e.Kind.OnDevice() && e.Kind != timeline.Sync {
		return
	}
	p := b.t.Places[e.Place]
	if p.Has&event.HasDevice != 0 {
		r.int(colDevice, int64(p.Device))
	}
	if p.Has&event.HasStream != 0 {
		r.int(colStream, int64(p.Stream))
	}
}

// node fills in what is known of a span of a host thread.
func (b *Table) node(n calltree.Node, r *Row) {
	x := b.x
	r.text(colClass, x.Class(n).String())
	if p := x.Parent(n); p != calltree.None {
		r.int(colParent, int64(x.Event(p)))
	}
	if f := x.Forward(n); f != calltree.None && x.Class(n) == calltree.Operator {
		r.int(colForward, int64(x.Event(f)))
	}
	r.text(colPath, b.path(n))
	r.int(colSelf, x.SelfTime(n))
	r.int(colSelfDevice, x.SelfDevice(n))
	r.int(colDeviceTime, x.Device(n))
}

// work fills in what is known of device work.
func (b *Table) work(w calltree.Work, r *Row) {
	x := b.x
	if n := x.Call(w); n != calltree.None {
		r.int(colCall, int64(x.Event(n)))
	}
	if n := x.Operator(w); n != calltree.None {
		r.int(colOperatorEvent, int64(x.Event(n)))
		r.text(colOperator, x.Name(n))
	}
	r.some(colUnlinked, x.Why(w))
	if n := x.Module(w); n != calltree.None {
		r.text(colModule, x.Name(n))
	}
	if n := x.Context(w); n != calltree.None {
		r.text(colPath, b.path(n))
	}
	m := &b.run.Works[w]
	if m.Launches > 0 {
		r.int(colDelay, m.DelayNS)
	}
	r.int(colIdle, m.IdleNS)
	r.int(colOverlap, m.OverlapNS)
}

// path returns the path of a node as a text, which is made once.
func (b *Table) path(n calltree.Node) string {
	id := b.of[n]
	if b.texts[id] == "" {
		b.texts[id] = b.paths.String(id)
	}
	return b.texts[id]
}
