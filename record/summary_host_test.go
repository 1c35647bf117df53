package record

import (
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Copies with the times of their calls do not make a device busy.
func TestSummarizeHostTimed(t *testing.T) {
	for has, want := range map[event.Fields]int64{event.HostSpan: 100, 0: 1100} {
		tr := &timeline.Trace{Window: timeline.Window{Start: 0, End: 10_000}}
		place := tr.Place(timeline.Place{Has: event.HasDevice})
		tr.Events.Add(timeline.Event{Kind: timeline.Kernel, Name: tr.Strings.ID("k"), Start: 100, End: 200, Place: place})
		tr.Events.Add(timeline.Event{Kind: timeline.Memcpy, Name: tr.Strings.ID("c"), Start: 1000, End: 2000, Place: place, Detail: tr.Copies.Add(timeline.CopyDetail{Has: has})})
		if s := Summarize(tr); s.Devices[0].BusyNS != want || s.Events["memcpy"] != 1 {
			t.Errorf("busy for %d ns, want %d: %+v", s.Devices[0].BusyNS, want, s)
		}
	}
}
