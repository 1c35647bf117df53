package ranks

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// merged merges traces on one clock.
func merged(t *testing.T, traces []*timeline.Trace) (*timeline.Trace, []timeline.Alignment) {
	t.Helper()
	var all []*Rank
	for i, tr := range traces {
		all = append(all, Collect(tr, fmt.Sprint(i))...)
	}
	res, err := Align(all, MatchAll(all), AlignOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var parts []merge.Part
	for i, tr := range traces {
		parts = append(parts, merge.Part{Trace: tr, Label: all[i].Name(), Clock: &res.Clocks[i]})
	}
	m, err := merge.Traces(parts)
	if err != nil {
		t.Fatal(err)
	}
	return m, res.Clocks
}

// TestArrows: both ends of every arrow are there and stand on kernels of different
// ranks, in the document too, and the parts can be taken out without them.
func TestArrows(t *testing.T) {
	pairs := func(t *testing.T) (out []*timeline.Trace) {
		for i := range 2 {
			docs, err := chrome.ReadFile(testrig.Shared(t, fmt.Sprintf("traces/pairs/ddp.rank%d.kineto.json.gz", i)), chrome.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, docs[0].Trace)
		}
		return out
	}
	simulated := func(j job) func(*testing.T) []*timeline.Trace {
		return func(t *testing.T) []*timeline.Trace { return j.traces(t, 5) }
	}
	for _, c := range []struct {
		name   string
		traces func(*testing.T) []*timeline.Trace
		arrows int
	}{
		{"all-reduces of three", simulated(job{ranks: 3, steps: 10, jitter: 900, offset: []int64{0, 5_000_000, -80_000}}), 20},
		{"a pipeline of two", simulated(job{ranks: 2, pipe: true, steps: 10, jitter: 900, offset: []int64{0, 5_000_000}}), 20},
		{"two ranks of NCCL", pairs, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			traces := c.traces(t)
			m, _ := merged(t, traces)
			all := Collect(m, "")
			if len(all) != len(traces) {
				t.Fatalf("%d ranks in the merged trace", len(all))
			}
			for i, r := range all {
				if r.Number != i {
					t.Errorf("rank %d is number %d", i, r.Number)
				}
			}
			flows := len(m.Flows)
			n := Arrows(m, all, MatchAll(all))
			// A send may end before its receive, by some of the offset's error.
			if n > c.arrows || n < c.arrows-1 || len(m.Flows) != flows+2*n {
				t.Errorf("%d arrows, %d ends, want %d arrows", n, len(m.Flows)-flows, c.arrows)
			}
			ids := map[uint64]int{}
			for _, f := range m.Flows[flows:] {
				ids[f.ID]++
				if !onKernel(m, &f) {
					t.Errorf("the end at %d on row %d stands on no kernel", f.TS, f.Row)
				}
			}
			for _, f := range m.Flows[:flows] {
				if ids[f.ID] > 0 {
					t.Errorf("id %d was taken", f.ID)
				}
			}
			for id, k := range ids {
				if k != 2 {
					t.Errorf("arrow %d has %d ends", id, k)
				}
			}
			var b bytes.Buffer
			if err := chrome.Write(&b, m, chrome.Options{}); err != nil {
				t.Fatal(err)
			}
			again, err := chrome.Read(&b, chrome.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if len(again.Trace.Flows) != len(m.Flows) {
				t.Errorf("%d ends of arrows, %d when read", len(m.Flows), len(again.Trace.Flows))
			}
			for i := range traces {
				x, err := merge.Extract(again.Trace, i)
				if err != nil {
					t.Fatal(err)
				}
				if len(x.Flows) != len(traces[i].Flows) || x.Events.Len() != traces[i].Events.Len() {
					t.Errorf("part %d: %d events and %d ends of arrows, was %d and %d", i, x.Events.Len(), len(x.Flows), traces[i].Events.Len(), len(traces[i].Flows))
				}
			}
		})
	}
}

func onKernel(t *timeline.Trace, f *timeline.FlowPoint) bool {
	for i := range uint32(t.Events.Len()) {
		if e := t.Events.At(i); e.Kind == timeline.Kernel && e.Row == f.Row && e.Start <= f.TS && f.TS < e.End {
			return true
		}
	}
	return false
}

// TestMarkedEnd: the instant of a rank that died stands on a row of its process, and
// goes when the part is taken out.
func TestMarkedEnd(t *testing.T) {
	traces := job{ranks: 2, steps: 10, jitter: 500, killed: 2}.traces(t, 1)
	traces[1].Completeness = &timeline.Completeness{Ended: timeline.EndCut, Signal: "SIGKILL", Verdict: timeline.Unknown}
	m, _ := merged(t, traces)
	all := Collect(m, "")
	a := Analyze(all, MatchAll(all), nil)
	if n := MarkEnds(m, a); n != 1 {
		t.Fatalf("%d marks", n)
	}
	e := m.Events.At(uint32(m.Events.Len() - 1))
	if m.Strings.At(e.Name) != "rank 1 died: SIGKILL" || e.Flags&timeline.Instant == 0 || e.Start != all[1].Last || m.Rows[e.Row].PID == all[0].Ops[0].End {
		t.Errorf("%q %+v", m.Strings.At(e.Name), e)
	}
	if d := m.Completeness.Diagnoses; len(d) != 1 || d[0] != a.Ends()[0] {
		t.Errorf("diagnoses %q", d)
	}
	x, err := merge.Extract(m, 1)
	if err != nil || x.Events.Len() != traces[1].Events.Len() {
		t.Errorf("%v, %d events, was %d", err, x.Events.Len(), traces[1].Events.Len())
	}
}
