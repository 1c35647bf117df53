package measure

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestDevice holds idle time, overlap and the order of ends against a count of every
// nanosecond: of work in any order, and of work that ends in the reverse order.
func TestDevice(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	const long = 1000
	for name, span := range map[string]func(i int) (start, end int64){
		"any": func(int) (int64, int64) {
			start := r.Int64N(long)
			return start, min(long, start+r.Int64N(20))
		},
		"queued":  func(i int) (int64, int64) { return int64(4 * i), int64(4*i) + r.Int64N(9) },
		"reverse": func(i int) (int64, int64) { return int64(i), long - int64(i) },
		"alike":   func(int) (int64, int64) { return 5, 50 },
	} {
		tr := &timeline.Trace{}
		row := tr.Row(timeline.Row{PID: 0, TID: 7, Kind: timeline.RowStream})
		place := tr.Place(timeline.Place{Stream: 7})
		var running [long + 10]int
		for i := range 200 {
			start, end := span(i)
			tr.Events.Add(timeline.Event{Start: start, End: end, Row: row, Place: place, Kind: timeline.Kernel})
			for ns := start; ns < end; ns++ {
				running[ns]++
			}
		}
		x := calltree.New(tr)
		m := Of(x)
		d := &m.Devices[0]
		if len(m.Devices) != 1 || len(d.Works) != 200 || len(d.Ends) != 200 {
			t.Fatalf("%s: %d devices, %d works, %d ends", name, len(m.Devices), len(d.Works), len(d.Ends))
		}
		until := x.WorkAt(d.Works[0]).Start
		for _, w := range d.Works {
			e := x.WorkAt(w)
			want := Measures{Works: 1, DeviceNS: e.Duration(), IdleNS: max(0, e.Start-until)}
			for ns := e.Start; ns < e.End; ns++ {
				if running[ns] > 1 {
					want.OverlapNS++
				}
			}
			if m.Works[w] != want {
				t.Errorf("%s: work %d from %d to %d has %+v, not %+v", name, w, e.Start, e.End, m.Works[w], want)
			}
			until = max(until, e.End)
		}
		busy := int64(0)
		for _, n := range running {
			busy += int64(min(n, 1))
		}
		if m.Whole.BusyNS != busy {
			t.Errorf("%s: busy for %d ns, not %d", name, m.Whole.BusyNS, busy)
		}
		var want []Ending
		for w := range x.Works() {
			want = append(want, Ending{x.WorkAt(w).End, w})
		}
		slices.SortFunc(want, Ending.compare)
		if !slices.Equal(d.Ends, want) {
			t.Error(fmt.Sprint(name, ": ends are not in order"))
		}
	}
}
