package correlate

import (
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// SessionState says what became of a session of the host side.
type SessionState uint8

// States of a session.
const (
	SessionRead    SessionState = iota // its operators are in the trace
	SessionLost                        // it could not be read
	SessionRemoved                     // it was removed to keep a limit
	SessionOther                       // the program's own profiler, without operators
)

// Session is a span in which the host side was recorded. Those given to a
// Builder are in the order of time.
type Session struct {
	Window timeline.Window // ns since the Unix epoch
	State  SessionState
	// Events and Flows are how many of the trace's host events and of its arrows
	// are this session's: they stand behind those of the sessions before it.
	Events, Flows uint32
}

// unlinkedReason says why a call at time t has no operator. seen: there are
// operators of its thread.
func (b *Builder) unlinkedReason(t int64, seen bool) string {
	list := b.sessions
	if len(list) == 0 {
		return timeline.UnlinkedNoHost
	}
	// The last session that began before t.
	n, _ := slices.BinarySearchFunc(list, t, func(s Session, t int64) int {
		if s.Window.Start <= t {
			return -1
		}
		return 1
	})
	switch {
	case n == 0:
		return timeline.UnlinkedBeforeHost
	case list[n-1].Window.End < t && n == len(list):
		return timeline.UnlinkedAfterHost
	case list[n-1].Window.End < t:
		return timeline.UnlinkedBetweenSlices
	case list[n-1].State == SessionLost:
		return timeline.UnlinkedLostSlice
	case list[n-1].State == SessionRemoved:
		return timeline.UnlinkedRemovedSlice
	case list[n-1].State == SessionOther:
		return timeline.UnlinkedProgramSession
	case !seen:
		return timeline.UnlinkedOtherThread
	}
	return timeline.UnlinkedNoOperator
}

// openSessions takes the sessions of the options. Host events of which none
// tells are all of one that spans them.
func (b *Builder) openSessions() {
	b.sessions = slices.Clone(b.o.Sessions)
	if b.sessions != nil || b.first == 0 {
		return
	}
	s := Session{Events: b.first, Flows: uint32(len(b.t.Flows))}
	if b.o.Window != nil {
		s.Window = *b.o.Window
	} else {
		s.Window = timeline.Window{Start: b.t.Events.At(0).Start, End: b.t.Events.At(0).End}
		for i := range b.first {
			e := b.t.Events.At(i)
			s.Window.Start, s.Window.End = min(s.Window.Start, e.Start), max(s.Window.End, e.End)
		}
	}
	b.sessions = []Session{s}
}

// cutHost drops the host's events that touch none of the windows, and the arrows
// that have an end outside: a session of the host side may be opened earlier and
// closed later than the window that called for it.
func (b *Builder) cutHost() {
	windows := b.o.HostWindows
	if windows == nil || b.first == 0 {
		return
	}
	// They lie one behind the other: the first that does not end before is the one.
	inside := func(start, end int64) bool {
		i, _ := slices.BinarySearchFunc(windows, start, func(w timeline.Window, start int64) int {
			if w.End < start {
				return -1
			}
			return 1
		})
		return i < len(windows) && end >= windows[i].Start
	}
	keep, n := uint32(0), uint32(b.t.Events.Len())
	for i := range n {
		e := b.t.Events.At(i)
		if i < b.first && !inside(e.Start, e.End) {
			b.hostNoted[HostOutOfWindow]++
			continue
		}
		if keep != i {
			*b.t.Events.At(keep) = *e
		}
		keep++
	}
	gone := n - keep
	if gone == 0 {
		return
	}
	b.t.Events.Truncate(int(keep))
	b.first -= gone
	b.index = nil
	type arrow struct {
		name uint32
		id   uint64
	}
	cut := map[arrow]bool{}
	for _, f := range b.t.Flows {
		if !inside(f.TS, f.TS) {
			cut[arrow{f.Name, f.ID}] = true
		}
	}
	b.t.Flows = slices.DeleteFunc(b.t.Flows, func(f timeline.FlowPoint) bool { return cut[arrow{f.Name, f.ID}] })
}

// HostOutOfWindow counts, in Operators.Noted, the host's events that were left out
// since they lie outside the recorded windows.
const HostOutOfWindow = "host_events_out_of_window"
