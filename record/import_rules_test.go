package record

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// interval is an event's place on a row, ns.
type interval struct {
	start, end int64
	name       string
}

// TestImportsKeepTheRulesOfViewers checks, over all recordings and in the
// default mode, what viewers and HolisticTraceAnalysis need of a trace.
func TestImportsKeepTheRulesOfViewers(t *testing.T) {
	for _, name := range pairs {
		t.Run(name, func(t *testing.T) {
			ref := parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz")))
			got := importPair(t, name, ImportOptions{clock: referenceClock(t, name, ref)}, chrome.CompatNone)
			checkNesting(t, got)
			checkEnclosing(t, got)
			checkArgs(t, got)
			compareFlows(t, ref, got)
		})
	}
}

// checkNesting fails if two events of a row overlap without one lying inside the
// other, and on a device's row if work lies inside work.
func checkNesting(t *testing.T, tr *jsonTrace) {
	t.Helper()
	rows := map[string][]interval{}
	devices := map[string]bool{}
	for _, e := range tr.TraceEvents {
		if e.Ph != "X" || e.Cat == "Trace" {
			continue
		}
		row := fmt.Sprint(e.PID, "/", e.TID)
		start := nsOf(t, e.TS)
		rows[row] = append(rows[row], interval{start, start + nsOf(t, e.Dur), e.Cat + " " + e.Name})
		if slices.Contains([]string{"kernel", "gpu_memcpy", "gpu_memset", "overhead"}, e.Cat) {
			devices[row] = true
		}
	}
	for row, list := range rows {
		slices.SortStableFunc(list, func(a, b interval) int {
			if a.start != b.start {
				return int(min(max(a.start-b.start, -1), 1))
			}
			return int(min(max(b.end-a.end, -1), 1))
		})
		var open []interval
		for _, e := range list {
			for len(open) > 0 && open[len(open)-1].end <= e.start {
				open = open[:len(open)-1]
			}
			if len(open) > 0 {
				if top := open[len(open)-1]; top.end < e.end {
					t.Errorf("row %s: %.60s [%d, %d) overlaps %.60s [%d, %d)", row, e.name, e.start, e.end, top.name, top.start, top.end)
				} else if devices[row] && !regexp.MustCompile(`^gpu_user_annotation `).MatchString(top.name) {
					t.Errorf("row %s: %.60s lies inside %.60s", row, e.name, top.name)
				}
			}
			open = append(open, e)
		}
	}
}

// checkEnclosing fails if anything lies outside the spans that stand for the
// window.
func checkEnclosing(t *testing.T, tr *jsonTrace) {
	t.Helper()
	var start, end, mark int64
	for _, e := range tr.TraceEvents {
		switch {
		case e.Cat == "Trace":
			start, end = nsOf(t, e.TS), nsOf(t, e.TS)+nsOf(t, e.Dur)
		case e.Name == "Record Window End":
			mark = nsOf(t, e.TS)
		}
	}
	if mark < end {
		t.Errorf("Record Window End at %d, before the Trace span's end at %d", mark, end)
	}
	for _, e := range tr.TraceEvents {
		if e.TS == "" || e.Ph == "M" || e.Name == "Record Window End" {
			continue
		}
		ts := nsOf(t, e.TS)
		last := ts
		if e.Ph == "X" {
			last += nsOf(t, e.Dur)
		}
		if ts < start || last > end {
			t.Errorf("%s %q [%d, %d) is outside the window [%d, %d)", e.Cat, e.Name, ts, last, start, end)
		}
	}
}

// checkArgs fails if an event lacks what HolisticTraceAnalysis reads: dur and cat
// everywhere, stream, correlation, bytes and bandwidth on device work, and an
// integer rank that its expression finds in the text.
func checkArgs(t *testing.T, tr *jsonTrace) {
	t.Helper()
	need := map[string][]string{
		"kernel":       {"stream", "correlation", "device", "context", "blocks per SM", "warps per SM", "est. achieved occupancy %", "grid", "block"},
		"gpu_memcpy":   {"stream", "correlation", "bytes", "memory bandwidth (GB/s)"},
		"gpu_memset":   {"stream", "correlation", "bytes", "memory bandwidth (GB/s)"},
		"cuda_runtime": {"correlation", "cbid"},
		"cuda_driver":  {"correlation", "cbid"},
	}
	launches := 0
	for _, e := range tr.TraceEvents {
		if e.Ph != "X" {
			continue
		}
		if e.Dur == "" || e.Cat == "" || e.Name == "" {
			t.Errorf("an event without dur, cat or name: %+v", e)
		}
		for _, key := range need[e.Cat] {
			if _, ok := e.Args[key]; !ok {
				t.Errorf("%s %q has no %q", e.Cat, e.Name, key)
			}
		}
		if e.Cat == "gpu_memcpy" && !regexp.MustCompile(`^Memcpy (HtoD|DtoH|DtoD)`).MatchString(e.Name) {
			t.Errorf("copy named %q", e.Name)
		}
		if e.Name == "cudaLaunchKernel" || e.Name == "cudaGraphLaunch" {
			launches++
		}
	}
	if launches == 0 {
		t.Error("no launch by which the vendor could be told")
	}
	if raw, ok := tr.Raw["distributedInfo"]; ok && !regexp.MustCompile(`"rank":\s+(\d+)`).Match(raw) {
		t.Errorf("no rank is found in %s", raw)
	}
}
