package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// CriticalPath is a way back from the end of a trace to its beginning along what each
// thing waited for: a kernel for its launch, for the work before it on its stream, or for
// another stream; a host thread that synchronizes for the device. What stands on it made
// the trace as long as it is; what does not could take longer and nobody would notice.
//
// It says so by what can be seen. Locks and threads of the host that wait for each other
// are not recorded: where a thread does nothing, the way goes on where another of its
// process was at that moment.
type CriticalPath struct {
	NS      int64       `json:"ns"` // the window
	Entries []PathEntry `json:"entries"`
	// ByKind adds up entries; see PathEntry.Kind.
	ByKind map[string]int64 `json:"by_kind"`
}

// PathEntry is what stands on a critical path under one name.
type PathEntry struct {
	Kind  string `json:"kind"` // one of the Path constants
	Name  string `json:"name,omitempty"`
	NS    int64  `json:"ns"`
	Count int64  `json:"count"` // times that the path went through it
}

// Kinds of entries of a critical path.
const (
	PathDevice = "device"     // device work, by name
	PathHost   = "host"       // a host thread, by operator or else by the innermost span; no name: between spans
	PathLaunch = "launch"     // between the beginning of a call and that of its work
	PathQueue  = "queue"      // between one work of a stream and the next
	PathStream = "stream"     // between the work of one stream and that of another
	PathSync   = "sync"       // from the end of device work until the host, which waited for it, went on
	PathNone   = "unrecorded" // nothing is recorded there
)

// active reports whether a span of a class is a thread's own doing. Steps, annotations
// and Python functions may as well be waiting for another thread.
func active(c calltree.Class) bool { return c == calltree.Operator || c == calltree.Call }

// walker goes back in time.
type walker struct {
	*part
	before  []calltree.Work // by work, the one before it on its stream
	devices [][]ending      // ends of work by device, in order
	device  []int           // by work
	waits   []track         // by row: calls that waited for the device
	tops    []track         // by row: operators and calls that are in no other
	host    [][]interval    // by row: parts of the path, the last first
	entries map[pathKey]*PathEntry
	hosts   []*PathEntry // by name: those of host threads, which are most often asked for
	from    int64        // where it ends
}

type pathKey struct {
	kind string
	name uint32
}

// criticalPath walks back from the end of the trace.
func (p *part) criticalPath() {
	if p.x.NumWorks() == 0 || p.trace.WindowNS == 0 {
		return
	}
	v := walker{part: p, entries: map[pathKey]*PathEntry{}, from: p.trace.Start}
	v.prepare()
	v.walk()
	v.hostEntries()
	path := &CriticalPath{NS: p.trace.WindowNS, ByKind: map[string]int64{}, Entries: []PathEntry{}}
	for k, e := range v.entries {
		e.Kind, e.Name = k.kind, strings.Clone(p.t.Strings.At(k.name))
		path.Entries = append(path.Entries, *e)
		path.ByKind[e.Kind] += e.NS
	}
	slices.SortFunc(path.Entries, func(a, b PathEntry) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	p.path = path
}

func (v *walker) prepare() {
	x := v.x
	v.before, v.device = make([]calltree.Work, x.NumWorks()), make([]int, x.NumWorks())
	for i := range v.m.Devices {
		last := map[uint64]calltree.Work{}
		var ends []ending
		for _, w := range v.m.Devices[i].Works {
			s := v.stream(w)
			b, ok := last[s]
			if !ok {
				b = calltree.NoWork
			}
			v.before[w], v.device[w] = b, i
			if !ok || x.WorkAt(w).End >= x.WorkAt(b).End {
				last[s] = w
			}
			ends = append(ends, ending{x.WorkAt(w).End, w})
		}
		slices.SortFunc(ends, func(a, b ending) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.work, b.work)) })
		v.devices = append(v.devices, ends)
	}
	rows := len(v.t.Rows)
	v.waits, v.tops, v.host = make([]track, rows), make([]track, rows), make([][]interval, rows)
	v.hosts = make([]*PathEntry, v.t.Strings.Len())
	copies := map[calltree.Node]bool{} // calls whose copy was done when they returned
	for w := range x.Works() {
		if c := x.Call(w); c != calltree.None && v.works[w].kind == copying && x.WorkAt(w).End <= x.At(c).End {
			copies[c] = true
		}
	}
	names := map[uint32]bool{}
	for r, nodes := range x.Threads() {
		until := nodes[0]
		for n := nodes[0]; n < nodes[1]; n++ {
			if n >= until && active(x.Class(n)) {
				v.tops[r].nodes = append(v.tops[r].nodes, n)
				until = x.End(n)
			}
			if x.Class(n) != calltree.Call {
				continue
			}
			id := x.At(n).Name
			is, ok := names[id]
			if !ok {
				is = strings.Contains(x.Name(n), "ynchronize")
				names[id] = is
			}
			if is || copies[n] {
				v.waits[r].nodes = append(v.waits[r].nodes, n)
			}
		}
	}
}

func (v *walker) add(kind string, name uint32, ns int64) {
	var e *PathEntry
	if kind == PathHost {
		e = v.hosts[name]
	}
	if e == nil {
		e = row(v.entries, pathKey{kind, name})
	}
	if kind == PathHost {
		v.hosts[name] = e
	}
	e.NS += ns
	e.Count++
}

// walk goes back step by step. Each takes the time before now, and none gives any.
func (v *walker) walk() {
	x := v.x
	now := v.from + v.trace.WindowNS
	work, on := v.last()
	if last := v.lastTime(work, on); last < now {
		v.add(PathNone, 0, now-last)
		now = last
	}
	still := 0 // steps that took no time
	for now > v.from {
		was := now
		if work != calltree.NoWork {
			e := x.WorkAt(work)
			start := max(e.Start, v.from)
			if start < now {
				v.add(PathDevice, e.Name, now-start)
			}
			work, on, now = v.leave(work, min(now, start))
		} else {
			work, on, now = v.back(on, now)
		}
		if now == was {
			still++
		} else {
			still = 0
		}
		if work == calltree.NoWork && on == noRow || still > 64 {
			break
		}
	}
	if now > v.from {
		v.add(PathNone, 0, now-v.from)
	}
}

const noRow = ^uint32(0)

// last is what ended last: device work, or else a row.
func (v *walker) last() (calltree.Work, uint32) {
	work, on, end := calltree.NoWork, noRow, int64(-1<<63)
	for _, ends := range v.devices {
		if e := ends[len(ends)-1]; e.at > end {
			work, end = e.work, e.at
		}
	}
	for r := range v.tops {
		for _, n := range v.tops[r].nodes {
			if e := v.x.At(n).End; e > end {
				work, on, end = calltree.NoWork, uint32(r), e
			}
		}
	}
	return work, on
}

func (v *walker) lastTime(work calltree.Work, on uint32) int64 {
	if work != calltree.NoWork {
		return v.x.WorkAt(work).End
	}
	end := v.from
	if on != noRow {
		for _, n := range v.tops[on].nodes {
			end = max(end, v.x.At(n).End)
		}
	}
	return end
}

// take puts the time of a host row onto the path.
func (v *walker) take(on uint32, from, to int64) {
	if from = max(from, v.from); from < to {
		if v.host[on] == nil {
			// Mostly one for each of these: growing it would cost more than walking.
			v.host[on] = make([]interval, 0, len(v.tops[on].nodes)+len(v.waits[on].nodes)+1)
		}
		v.host[on] = append(v.host[on], interval{from, to})
	}
}

// hostEntries tells what the rows did in the time that is on the path.
func (v *walker) hostEntries() {
	x := v.x
	for r, nodes := range x.Threads() {
		list := v.host[r]
		if len(list) == 0 {
			continue
		}
		slices.Reverse(list)
		at, until, next := nodes[0], nodes[1], 0
		// self takes what of the path a span alone has from one moment to another.
		self := func(n calltree.Node, from, to int64) {
			for next < len(list) && list[next].end <= from {
				next++
			}
			for i := next; i < len(list) && list[i].start < to; i++ {
				if ns := min(list[i].end, to) - max(list[i].start, from); ns > 0 {
					name := uint32(0)
					if n != calltree.None {
						if op := x.Enclosing(n, calltree.Operator); op != calltree.None {
							n = op
						}
						name = x.At(n).Name
					}
					v.add(PathHost, name, ns)
				}
			}
		}
		now := list[0].start
		var stack []calltree.Node
		top := func() calltree.Node {
			if len(stack) == 0 {
				return calltree.None
			}
			return stack[len(stack)-1]
		}
		to := func(t int64) {
			if t > now {
				self(top(), now, t)
				now = t
			}
		}
		for ; at < until; at++ {
			e := x.At(at)
			for len(stack) > 0 && x.End(top()) <= at {
				to(min(x.At(top()).End, max(now, e.Start)))
				stack = stack[:len(stack)-1]
			}
			to(e.Start)
			stack = append(stack, at)
		}
		for len(stack) > 0 {
			to(x.At(top()).End)
			stack = stack[:len(stack)-1]
		}
		to(list[len(list)-1].end)
	}
}
