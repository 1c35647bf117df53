package correlate

import (
	"encoding/json"
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// categoryInstant is Kineto's category of moments on a host thread.
const categoryInstant = "cpu_instant_event"

// unnamedMarker stands for a name that was not given or could not be read.
const unnamedMarker = "(no name)"

// crossing is the Place of a range that ended on another thread, before it has a
// lane.
const crossing = 1

// Counts of markers, in Completeness.Noted.
const (
	// NotedEndsAlone: the range began before the recording did.
	NotedEndsAlone = "range_ends_without_beginning"
	// NotedOpenRanges: the range ended after the recording did, or never.
	NotedOpenRanges = "ranges_without_end"

	notedBeginTwice = "range_ids_used_twice"
	notedNoThread   = "markers_without_thread"
	notedBackwards  = "ranges_that_end_before_they_begin" // now of no length
	notedUnnamed    = "markers_without_name"
)

// marker is a record of the program's marks, times in the tracer's clock. They are
// kept until Finish: the end of a range may come before its beginning.
type marker struct {
	at           uint64
	name, domain uint32
	id           uint32
	thread       uint32 // in threadList
	phase        event.MarkerPhase
}

func (b *Builder) addMarker(e *event.Event) {
	if e.Has&event.HasThread == 0 {
		b.noted[notedNoThread]++
		return
	}
	b.markers = append(b.markers, marker{
		at: e.Start, name: e.Name, domain: e.Domain, id: e.MarkerID, thread: b.thread(thread{e.PID, e.TID}), phase: e.Phase,
	})
}

// pairMarkers turns the markers into events: ranges, as annotations of the
// thread they began on, and instants. It comes before the clock is mapped, so
// that they are mapped and cut to the window as all events are. A range whose end
// is not there is unfinished. Until assignRows their Row is a thread, as that of
// API calls is, and their Place, of which the host has none, says crossing or
// the lane.
func (b *Builder) pairMarkers() {
	if len(b.markers) == 0 {
		return
	}
	begun := map[uint32]uint32{} // id -> index of its beginning + 1
	for i := range b.markers {
		if m := &b.markers[i]; m.phase == event.MarkerBegin {
			if begun[m.id] != 0 {
				b.noted[notedBeginTwice]++
			}
			begun[m.id] = uint32(i) + 1
		}
	}
	ends := make([]uint32, len(b.markers)) // by beginning: index of its end + 1
	for i := range b.markers {
		m := &b.markers[i]
		if m.phase != event.MarkerEnd {
			continue
		}
		at := begun[m.id]
		if at == 0 || ends[at-1] != 0 {
			b.noted[NotedEndsAlone]++
			continue
		}
		ends[at-1] = uint32(i) + 1
	}
	annotation, instant := b.t.Strings.ID(categoryAnnotation), b.t.Strings.ID(categoryInstant)
	args := map[markerArgs]uint32{}
	for i := range b.markers {
		m := &b.markers[i]
		if m.phase == event.MarkerEnd {
			continue
		}
		e := timeline.Event{Kind: timeline.Host, Start: int64(m.at), End: int64(m.at), Name: m.name, Category: instant, Row: m.thread}
		if e.Name == 0 {
			b.noted[notedUnnamed]++
			e.Name = b.t.Strings.ID(unnamedMarker)
		}
		a := markerArgs{domain: m.domain}
		if m.phase == event.MarkerBegin {
			e.Category = annotation
			if end := ends[i]; end == 0 {
				b.noted[NotedOpenRanges]++
				e.Flags |= timeline.Unfinished
			} else {
				last := &b.markers[end-1]
				e.End = int64(last.at)
				if last.thread != m.thread {
					a.ended = b.threadList[last.thread]
					e.Place = crossing
				}
			}
		}
		detail, ok := args[a]
		if !ok {
			detail = b.t.Args.Add(a.members(b.t))
			args[a] = detail
		}
		e.Detail = detail
		b.t.Events.Add(e)
	}
	b.markers = nil
}

// rangeRowName names the n-th further row of a thread's ranges.
func rangeRowName(tid int64, n uint32) string {
	name := "thread " + strconv.FormatInt(tid, 10) + " (overlapping ranges"
	if n > 1 {
		name += " " + strconv.FormatUint(uint64(n), 10)
	}
	return name + ")"
}

// markerArgs are the arguments of a mark. Few differ.
type markerArgs struct {
	domain uint32
	ended  thread // zero: the thread it began on
}

// members returns the arguments as the members of a JSON object: where the mark
// comes from, its domain unless it is the default one, and the thread that a
// range ended on, if it is another than its own.
func (a markerArgs) members(t *timeline.Trace) []byte {
	text := []byte(`"source": "NVTX"`)
	if a.domain != 0 {
		name, err := json.Marshal(t.Strings.At(a.domain))
		if err == nil {
			text = append(append(text, `, "domain": `...), name...)
		}
	}
	if a.ended != (thread{}) {
		text = append(text, `, "ended on thread": `...)
		text = strconv.AppendUint(text, uint64(a.ended.tid), 10)
	}
	return text
}
