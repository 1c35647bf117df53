package summary

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/measure"
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
	before  []calltree.Work    // by work, the one before it on its stream
	devices [][]measure.Ending // ends of work by device, in order
	device  []uint32           // by work
	waits   []track            // by row: calls that waited for the device
	tops    []track            // by row: operators and calls that are in no other
	host    [][]interval       // by row: parts of the path, the last first
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
	v.before, v.device = make([]calltree.Work, x.NumWorks()), make([]uint32, x.NumWorks())
	last := make([]calltree.Work, v.numStreams()) // each + 1
	for i := range v.m.Devices {
		d := &v.m.Devices[i]
		for _, w := range d.Works {
			s := &last[v.stream(w)]
			b := *s - 1
			v.before[w], v.device[w] = b, uint32(i)
			if b == calltree.NoWork || x.WorkAt(w).End >= x.WorkAt(b).End {
				*s = w + 1
			}
		}
		for _, w := range d.Works {
			last[v.stream(w)] = 0
		}
		v.devices = append(v.devices, d.Ends)
	}
	rows := len(v.t.Rows)
	v.waits, v.tops, v.host = make([]track, rows), make([]track, rows), make([][]interval, rows)
	v.hosts = make([]*PathEntry, v.t.Strings.Len())
	var copies []calltree.Node // calls whose copy was done when they returned
	for w := range x.Works() {
		if c := x.Call(w); c != calltree.None && v.works[w].kind == copying && x.WorkAt(w).End <= x.At(c).End {
			copies = append(copies, c)
		}
	}
	slices.Sort(copies)
	copies = slices.Compact(copies)
	const waits, doesNot = 1, 2
	names := make([]uint8, v.t.Strings.Len())
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
			if names[id] == 0 {
				names[id] = doesNot
				if strings.Contains(v.t.Strings.At(id), "ynchronize") {
					names[id] = waits
				}
			}
			copied := len(copies) > 0 && copies[0] == n // nodes come in order
			if copied {
				copies = copies[1:]
			}
			if copied || names[id] == waits {
				v.waits[r].nodes = append(v.waits[r].nodes, n)
			}
		}
	}
}

func (v *walker) add(kind string, name uint32, ns int64) {
	e := row(v.entries, pathKey{kind, name})
	e.NS += ns
	e.Count++
}

func (v *walker) addHost(name uint32, ns int64) {
	e := v.hosts[name]
	if e == nil {
		e = row(v.entries, pathKey{PathHost, name})
		v.hosts[name] = e
	}
	e.NS += ns
	e.Count++
}

// walk goes back step by step. Each takes the time before now, and none gives any.
func (v *walker) walk() {
	x := v.x
	now := v.from + v.trace.WindowNS
	work, on, last := v.last()
	if last < now {
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

// last is what ended last: device work, or else a row; and when it did.
func (v *walker) last() (calltree.Work, uint32, int64) {
	work, on, end := calltree.NoWork, noRow, int64(-1<<63)
	for _, ends := range v.devices {
		if e := ends[len(ends)-1]; e.At > end {
			work, end = e.Work, e.At
		}
	}
	for r := range v.tops {
		for _, n := range v.tops[r].nodes {
			if e := v.x.At(n).End; e > end {
				work, on, end = calltree.NoWork, uint32(r), e
			}
		}
	}
	if work == calltree.NoWork {
		end = max(end, v.from)
	}
	return work, on, end
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
