package ranks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Rank is what is kept of one rank's trace: its communication, its steps, and sums.
// Times are ns since the Unix epoch by the rank's own clock, or by the reference's
// after Result.Apply.
type Rank struct {
	// Number is the rank, -1 where the trace does not say.
	Number int
	Label  string
	File   string
	PID    int
	Host   string
	// WorldSize is how many ranks there are, 0 where the trace does not say.
	WorldSize int
	Window    timeline.Window
	// Last is the end of the last event.
	Last int64
	// Ops are the operations on the device, by their start.
	Ops []Op
	// What the operations are; Op.What is an index.
	Whats []What
	Steps []Step
	// Compute is how long a kernel ran that does not communicate, Communicate how
	// long one that does, Exposed how long of that no other ran; ns, each moment
	// counted once.
	Compute, Communicate, Exposed int64
	// Unnamed counts the kernels of communication of which the trace does not say
	// what they do.
	Unnamed int
	// Ended and Signal are what the completeness record says of the end; "" where
	// there is none.
	Ended  timeline.Ending
	Signal string
}

// Op is one operation of a group of ranks, as one of them saw it.
type Op struct {
	Start, End int64
	Seq        uint64 // with HasSeq, which one of its group it is
	Event      uint32 // in the trace it was collected from
	What       uint32
	Step       int32 // in Rank.Steps by the time of its launch; -1: in none
	HasSeq     bool
}

// What says what an operation is.
type What struct {
	Name  string // "allreduce"
	Dtype string
	// In and Out are numbers of elements, -1 where the trace does not say.
	In, Out int64
	// Group names the group of ranks: its name and its ranks, as the trace has them.
	Group string
	// Size is the number of ranks in the group, 0 where it is not known.
	Size int
	// Peer is the rank at the other end of a send or a receive, by its number in the
	// world where the ranks of the group are known; -1 for others.
	Peer int
	Kind Kind
}

// Step is a training step, as the host marked it.
type Step struct {
	Number     int64
	Start, End int64
	// Compute is how long a kernel ran in it that does not communicate, ns.
	Compute int64
}

// Collect reduces a trace to its ranks: one, or those of a merged trace. It keeps
// nothing of the trace.
func Collect(t *timeline.Trace, file string) []*Rank {
	infos := merge.Infos(t)
	if !merge.IsMerged(t) {
		c := collector{t: t, r: newRank(t.Metadata, t.Process, merge.DefaultLabel(t), file)}
		c.r.ended(t.Completeness)
		c.collect(nil)
		c.r.Window = t.Window
		return []*Rank{c.r}
	}
	var out []*Rank
	for k := range infos {
		info := &infos[k]
		if info.Skip() {
			continue
		}
		members := append(slices.Clone(info.Members), t.Metadata...)
		r := newRank(members, info.Process, info.Label, file)
		if info.File != "" {
			r.File = info.File
		}
		if t.Completeness != nil {
			for _, p := range t.Completeness.Processes {
				if p.Label == info.Label && p.PID == info.Process.PID && p.Host == info.Process.Host {
					r.ended(p.Completeness)
				}
			}
		}
		rows := map[merge.ID]bool{}
		for _, p := range info.IDs {
			rows[p.Is] = true
		}
		c := collector{t: t, r: r}
		c.collect(func(row *timeline.Row) bool {
			return rows[merge.ID{Number: row.PID, Text: row.PIDText, Empty: row.EmptyPID}]
		})
		out = append(out, r)
	}
	return out
}

func newRank(members []timeline.Property, p timeline.Process, label, file string) *Rank {
	r := &Rank{Number: -1, Label: label, File: file, PID: p.PID, Host: p.Host}
	for _, m := range members {
		if m.Key != "distributedInfo" {
			continue
		}
		if n, ok := chrome.Value(chrome.Lookup(m.Raw, "rank")).Int(); ok && n >= 0 {
			r.Number = int(n)
		}
		if n, ok := chrome.Value(chrome.Lookup(m.Raw, "world_size")).Int(); ok && n > 0 {
			r.WorldSize = int(n)
		}
		break
	}
	if n, err := strconv.Atoi(strings.TrimPrefix(label, "rank ")); r.Number < 0 && err == nil && n >= 0 && strings.HasPrefix(label, "rank ") {
		r.Number = n
	}
	if r.Label == "" && file != "" {
		r.Label = filepath.Base(file)
	}
	return r
}

func (r *Rank) ended(c *timeline.Completeness) {
	if c != nil {
		r.Ended, r.Signal = c.Ended, c.Signal
	}
}

// Name is what people call the rank.
func (r *Rank) Name() string {
	switch {
	case r.Number >= 0:
		return fmt.Sprintf("rank %d", r.Number)
	case r.Label != "":
		return r.Label
	}
	return fmt.Sprintf("pid %d", r.PID)
}

// collector goes over the events of one rank.
type collector struct {
	t     *timeline.Trace
	r     *Rank
	whats map[whatKey]uint32
	names []nameIs // by string
	texts map[string]string
}

// nameIs says what a name is, as far as it was asked.
type nameIs uint8

const (
	communicationAsked nameIs = 1 << iota
	communication             // of kernels that communicate
	stepAsked
	step // of a step
)

// isStep reads the number of a step.
func (c *collector) isStep(name uint32) (int64, bool) {
	number, ok := stepNumber(c.t.Strings.At(name))
	c.names[name] |= stepAsked
	if ok {
		c.names[name] |= step
	}
	return number, ok
}

// whatKey is What before its texts are told apart.
type whatKey struct {
	name, dtype, group string
	in, out            int64
	size, peer         int
}

func (c *collector) collect(of func(*timeline.Row) bool) {
	t, r := c.t, c.r
	c.whats, c.names, c.texts = map[whatKey]uint32{}, make([]nameIs, t.Strings.Len()), map[string]string{}
	mine := make([]bool, len(t.Rows))
	for i := range t.Rows {
		mine[i] = of == nil || of(&t.Rows[i])
	}
	launches := map[uint64]int{} // correlation id -> op, until its launch is seen
	var compute, communicate []span
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if !mine[e.Row] || e.Kind == timeline.Other && t.Source != nil && t.Source.Events.At(i).Phase == 'M' {
			continue
		}
		if r.Window == (timeline.Window{}) {
			r.Window = timeline.Window{Start: e.Start, End: e.End}
		}
		r.Window.Start, r.Window.End = min(r.Window.Start, e.Start), max(r.Window.End, e.End)
		switch e.Kind {
		case timeline.Kernel:
			r.Last = max(r.Last, e.End)
			if !c.communicates(i, e) {
				compute = append(compute, span{e.Start, e.End})
				continue
			}
			communicate = append(communicate, span{e.Start, e.End})
			what, ok := c.what(i, e)
			if !ok {
				r.Unnamed++
				continue
			}
			if e.Correlation != 0 {
				launches[e.Correlation] = len(r.Ops)
			}
			op := Op{Start: e.Start, End: e.End, Event: i, What: what, Step: -1}
			op.Seq, op.HasSeq = c.sequence(i, e)
			r.Ops = append(r.Ops, op)
		case timeline.Host:
			r.Last = max(r.Last, e.End)
			if c.names[e.Name]&(stepAsked|step) == stepAsked {
				continue
			}
			if n, ok := c.isStep(e.Name); ok && e.Flags&timeline.Instant == 0 {
				r.Steps = append(r.Steps, Step{Number: n, Start: e.Start, End: e.End})
			}
		case timeline.Other:
		default:
			r.Last = max(r.Last, e.End)
		}
	}
	slices.SortFunc(r.Steps, func(a, b Step) int { return compare(a.Start, b.Start) })
	r.Steps = slices.CompactFunc(r.Steps, func(a, b Step) bool { return a.Number == b.Number })
	c.steps(mine, launches)
	slices.SortStableFunc(r.Ops, func(a, b Op) int { return compare(a.Start, b.Start) })
	compute, communicate = union(compute), union(communicate)
	r.Compute, r.Communicate = total(compute), total(communicate)
	r.Exposed = r.Communicate - overlap(communicate, compute)
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Compute = overlap(compute, []span{{s.Start, s.End}})
	}
}

// steps tells in which step each operation was launched.
func (c *collector) steps(mine []bool, launches map[uint64]int) {
	r := c.r
	if len(r.Steps) == 0 {
		return
	}
	at := make([]int64, len(r.Ops))
	for i := range r.Ops {
		at[i] = r.Ops[i].Start
	}
	for i := range uint32(c.t.Events.Len()) {
		e := c.t.Events.At(i)
		if e.Kind.IsAPI() && e.Correlation != 0 && mine[e.Row] {
			if op, ok := launches[e.Correlation]; ok {
				at[op] = e.Start
			}
		}
	}
	for i := range r.Ops {
		r.Ops[i].Step = r.stepAt(at[i])
	}
}

func (r *Rank) stepAt(ts int64) int32 {
	k, found := slices.BinarySearchFunc(r.Steps, ts, func(s Step, ts int64) int { return compare(s.Start, ts) })
	if !found {
		k--
	}
	if k < 0 || ts > r.Steps[k].End {
		return -1
	}
	return int32(k)
}

// stepNumber reads "ProfilerStep#12".
func stepNumber(name string) (int64, bool) {
	text, ok := strings.CutPrefix(name, "ProfilerStep#")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Sort puts ranks into the order of their numbers, those without one last, as they
// were among each other.
func Sort(ranks []*Rank) {
	slices.SortStableFunc(ranks, func(a, b *Rank) int {
		if (a.Number < 0) != (b.Number < 0) {
			return compare(int64(b.Number), int64(a.Number))
		}
		return compare(int64(a.Number), int64(b.Number))
	})
}
