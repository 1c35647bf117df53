package record

import (
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// What lies between windows is counted as outside of them.
func TestCollectGaps(t *testing.T) {
	const ms = 1_000_000
	at := func(n int64) int64 { return spoolStart + n*ms }
	for _, c := range []struct {
		name    string
		paused  bool
		marks   []int64 // ms, opened and closed by turns
		kernels uint64  // of those at 100, 200, ... 900
		windows uint64
	}{
		{"two", true, []int64{150, 350, 550, 750}, 4, 2},
		{"two, the last open", true, []int64{150, 350, 550}, 6, 2},
		{"three", true, []int64{50, 150, 250, 350, 750, 950}, 4, 3},
		{"paused", true, nil, 0, 0},
		{"paused at times", false, []int64{0, 250, 650}, 5, 2},
	} {
		h := testHeader()
		h.Paused = c.paused
		path := makeSpool(t, h, func(w *spool.Writer) {
			_ = w.Names([]spool.Name{{Ptr: 0x1000, Name: "k"}})
			_ = w.Clock(sampled(0, uint64(spoolStart)))
			for i := range int64(9) {
				_ = w.Buffer(spool.Buffer{Data: kernelRecord(uint64(at(100+100*i)), uint64(at(100+100*i))+5000, uint32(i+1))})
			}
			for i, n := range c.marks {
				_ = w.Window(spool.Window{Open: i%2 == 0, NS: at(n)})
			}
			_ = w.End(spool.End{Reason: "exit", NS: at(1000), Flushed: true})
		})
		got := collect(t, path, CollectOptions{})
		rec := got.Completeness
		if rec.Written["kernel"] != c.kernels || rec.Dropped[timeline.DropOutOfWindow] != 9-c.kernels || rec.Dropped[timeline.DropOtherClock] != 0 || rec.Noted[notedWindows] != c.windows || rec.Verdict != timeline.Complete {
			t.Errorf("%s: %d kernels, %+v", c.name, rec.Written["kernel"], rec)
		}
	}
}

// Of a ring the window begins with the oldest segment that is left, and its
// state is that of the newest.
func TestCollectSegments(t *testing.T) {
	const ms = 1_000_000
	at := func(n int64) int64 { return spoolStart + n*ms }
	path := filepath.Join(t.TempDir(), "7.9.spool")
	w, err := spool.Create(path, testHeader())
	if err != nil {
		t.Fatal(err)
	}
	w.KeepSegments()
	_ = w.Names([]spool.Name{{Ptr: 0x1000, Name: "k"}})
	_ = w.Clock(sampled(0, uint64(spoolStart)))
	for n := range int64(4) {
		if n > 0 {
			h := testHeader()
			h.Segment, h.SegmentNS = int(n), at(100*n)
			if w, err = w.Next(h); err != nil {
				t.Fatal(err)
			}
		}
		// One that began before the segment did, and one within it.
		for _, start := range []int64{100*n - 1, 100*n + 50} {
			_ = w.Buffer(spool.Buffer{Data: kernelRecord(uint64(at(start)), uint64(at(start))+2*ms, uint32(start+10))})
		}
		_ = w.Counters(spool.Counters{RingDropped: uint64(n)})
	}
	_ = w.End(spool.End{Reason: "exit", NS: at(1000), Flushed: true})
	_ = w.Close()
	for _, c := range []struct {
		remove  int // segment, -1 for none
		start   int64
		kernels uint64
		out     uint64
	}{{-1, 0, 7, 1}, {0, 100, 5, 1}, {1, 200, 3, 1}} {
		if c.remove >= 0 {
			if _, err := spool.RemoveSegment(path, c.remove); err != nil {
				t.Fatal(err)
			}
		}
		got := collect(t, path, CollectOptions{})
		rec := got.Completeness
		if got.Window != (timeline.Window{Start: at(c.start), End: at(1000)}) || rec.Written["kernel"] != c.kernels ||
			rec.Dropped[timeline.DropOutOfWindow] != c.out || rec.Noted[notedRing] != 3 || rec.Verdict != timeline.Complete {
			t.Errorf("without %d: window %+v, %d kernels, %+v", c.remove, got.Window, rec.Written["kernel"], rec)
		}
	}
}
