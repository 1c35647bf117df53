package host

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Op is one span of a host thread: an operator, an annotation, a Python call, or
// an instant such as a memory event (Start equals End).
type Op struct {
	Name, Category uint32 // in Host.Strings
	PID, TID       int64
	Start, End     int64 // ns since the Unix epoch; End >= Start
	External       int64 // the framework's id; meaningful with HasExternal
	HasExternal    bool
	// Unfinished is set for an operator that had not ended.
	Unfinished bool
	// Args are the raw members of the event's arguments, without braces and
	// without "External id"; nil if there are none. They must not be changed.
	Args []byte
}

// Flow is one end of an arrow between operators (forward to backward).
type Flow struct {
	ID       uint64
	TS       int64 // ns since the Unix epoch
	PID, TID int64
	Name     uint32 // in Host.Strings
	Start    bool   // the arrow leaves here
}

// Thread is a host thread on which something happened or that has a name.
type Thread struct {
	PID, TID int64
	Name     string // as the system has it, "" if it is not known
	// Ops are indices into Host.Ops by start; of equal starts the longer comes
	// first, so that what encloses stands before what it encloses.
	Ops []uint32
}

// Host is what the host side of one process left.
type Host struct {
	Strings event.Strings
	Ops     []Op     // in the document's order
	Flows   []Flow   // in the document's order
	Threads []Thread // by PID and TID
	Process timeline.Process
	// Base is baseTimeNanoseconds, already added to every time. A document
	// without one has HasBase false: its times were absolute (before 2024) or,
	// if it was truncated, are not meaningful.
	Base    int64
	HasBase bool
	// Window is the recorded span as the document gives it; HasWindow is false
	// where it gives none, and Window is then the extent of Ops.
	Window    timeline.Window
	HasWindow bool
	Devices   []timeline.Device
	// Metadata are the other top-level members in order, raw: distributedInfo,
	// trace_id, versions.
	Metadata []timeline.Property
	// Skipped counts the events that were not taken, by category, or by phase
	// for those without one; under "bad time" those whose time cannot be read.
	Skipped map[string]uint64

	args timeline.Args
}

// Thread returns the thread, nil if nothing is known of it.
func (h *Host) Thread(pid, tid int64) *Thread {
	i, ok := slices.BinarySearchFunc(h.Threads, [2]int64{pid, tid}, func(t Thread, k [2]int64) int {
		return cmp.Or(cmp.Compare(t.PID, k[0]), cmp.Compare(t.TID, k[1]))
	})
	if !ok {
		return nil
	}
	return &h.Threads[i]
}

// Property returns the raw value of a metadata key, nil if it is not there.
func (h *Host) Property(key string) []byte {
	for i := range h.Metadata {
		if h.Metadata[i].Key == key {
			return h.Metadata[i].Raw
		}
	}
	return nil
}

// arrange fills Threads from the operators and the names found.
func (h *Host) arrange(names map[[2]int64][]string) {
	index := map[[2]int64]int{}
	at := func(pid, tid int64) *Thread {
		k := [2]int64{pid, tid}
		i, ok := index[k]
		if !ok {
			i = len(h.Threads)
			index[k] = i
			h.Threads = append(h.Threads, Thread{PID: pid, TID: tid})
		}
		return &h.Threads[i]
	}
	for i := range h.Ops {
		t := at(h.Ops[i].PID, h.Ops[i].TID)
		t.Ops = append(t.Ops, uint32(i))
	}
	if h.Process.PID == 0 { // no process is labelled: the one with most operators
		ops := map[int64]int{}
		for _, t := range h.Threads {
			ops[t.PID] += len(t.Ops)
		}
		best := 0
		for pid, n := range ops {
			if n > best || n == best && int(pid) < h.Process.PID {
				best, h.Process.PID = n, int(pid)
			}
		}
	}
	for k := range names {
		if k[0] == int64(h.Process.PID) {
			at(k[0], k[1])
		}
	}
	for i := range h.Threads {
		t := &h.Threads[i]
		t.Name = pickName(names[[2]int64{t.PID, t.TID}], names[[2]int64{t.PID, t.PID}])
		slices.SortStableFunc(t.Ops, func(a, b uint32) int {
			x, y := &h.Ops[a], &h.Ops[b]
			return cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(y.End, x.End))
		})
	}
	slices.SortFunc(h.Threads, func(a, b Thread) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.TID, b.TID))
	})
}

// pickName chooses among the names a thread was given. Kineto may name one
// twice: once before it had named itself, with the name it inherited from the
// main thread, which tells nothing.
func pickName(names, mains []string) string {
	for _, n := range names {
		if !slices.Contains(mains, n) {
			return n
		}
	}
	if len(names) > 0 {
		return names[len(names)-1]
	}
	return ""
}
