package record

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// pairThreads maps the pthread handles in a pair's API records to the system's
// thread ids, as external ids tell them.
func pairThreads(t testing.TB, name string, clock correlate.Clock) map[uint64]uint32 {
	t.Helper()
	ids := map[uint64]uint32{} // by correlation, since one has not two threads
	tr := joinPair(t, name, nil, correlate.Options{Clock: clock}, nil)
	for i := range uint32(tr.Events.Len()) {
		if e := tr.Events.At(i); e.Kind.IsAPI() {
			ids[e.Correlation] = uint32(tr.Rows[e.Row].TID)
		}
	}
	return ids
}

// joinPair joins the dump of a pair with host slices (nil: its own document).
// edit changes each decoded event; false leaves it out.
func joinPair(t testing.TB, name string, slices []hostSlice, o correlate.Options, edit func(*event.Event) bool) *timeline.Trace {
	t.Helper()
	c := newCollector(name)
	if slices == nil {
		h, err := host.ReadKinetoFile(pairFile(name, ".kineto.json.gz"))
		if err != nil {
			t.Fatal(err)
		}
		slices = []hostSlice{{host: h, window: h.Window}}
	}
	for i := range slices {
		c.addSlice(&slices[i])
	}
	o.Sessions = c.side.sessions
	if err := c.open(tracer.BindingInfo{Tracer: "cupti", APIVersion: pairsAPI}, tracer.Config{API: tracer.APIKineto}); err != nil {
		t.Fatal(err)
	}
	if err := readNames(pairFile(name, ".names.tsv.gz"), c.decoder.Name); err != nil {
		t.Fatal(err)
	}
	err := readDump(pairFile(name, ".cupti.gz"), func(off int64, data []byte) error {
		return c.decoder.Decode(tracer.Buffer{Data: data, Forced: true}, func(e *event.Event) {
			if edit == nil || edit(e) {
				c.add(e)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.finish(o); err != nil {
		t.Fatal(err)
	}
	return c.trace
}

// links lists the External id of each API call and each piece of device work, and
// the spans of annotations on streams.
func links(tr *timeline.Trace) (calls, work map[string]int64, spans map[string]int) {
	calls, work, spans = map[string]int64{}, map[string]int64{}, map[string]int{}
	for i := range uint32(tr.Events.Len()) {
		e := tr.Events.At(i)
		key := fmt.Sprint(e.Kind, " ", e.Correlation, " ", e.Start)
		switch {
		case e.Kind == timeline.DeviceAnnotation:
			p := tr.Places[e.Place]
			spans[fmt.Sprint(tr.Strings.At(e.Name), " ", p.Device, "/", p.Stream, " ", e.External, " ", e.Start, " ", e.End)]++
		case e.Flags&timeline.HasExternal == 0:
		case e.Kind.IsAPI():
			calls[key] = e.External
		case e.Kind.OnDevice():
			work[key] = e.External
		}
	}
	return calls, work, spans
}

// pairLinks are, of the API calls of a pair, those with an operator and those
// without, and the device work with one.
var pairLinks = map[string][3]uint64{
	"basic": {100, 9, 60}, "train": {2156, 6, 1936}, "comp": {130, 2, 120}, "streams": {432, 2, 216},
	"ddp.rank0": {285, 96, 118}, "ddp.rank1": {285, 96, 118},
}

// TestBridges: what time alone tells of the recordings is what external ids tell,
// for every API call, all device work and the spans of annotations; also where the
// host's clock is off, as long as there are some ids to see it by.
func TestBridges(t *testing.T) {
	for _, name := range pairs {
		if name == "graph" {
			continue // recorded without operators
		}
		t.Run(name, func(t *testing.T) {
			clock := referenceClock(t, name, parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz"))))
			tids := pairThreads(t, name, clock)
			system := func(e *event.Event) {
				if e.Kind.IsAPI() {
					if tid, ok := tids[e.Correlation]; ok {
						e.TID = tid
					}
				}
			}
			o := correlate.Options{Clock: clock, ThreadIDs: true, KinetoRows: true}
			both := joinPair(t, name, nil, o, func(e *event.Event) bool { system(e); return true })
			c := both.Completeness.Operators
			calls, work, spans := links(both)
			if got := [3]uint64{c.LinkedByID, total(c.CallsUnlinked), c.DeviceLinked}; got != pairLinks[name] || c.Disagreed != 0 || c.LinkedByTime != 0 ||
				c.Agreed != c.LinkedByID || c.CallsUnlinked[timeline.UnlinkedNoOperator] != got[1] || len(c.DeviceUnlinked) > 0 {
				t.Errorf("%v, want %v: %+v", got, pairLinks[name], c)
			}
			if cl := both.Completeness.Clock; cl.HostOffsetNS == nil || *cl.HostOffsetNS != 0 { // both are of one counter
				t.Errorf("clock %+v", cl)
			}
			byTime := joinPair(t, name, nil, o, func(e *event.Event) bool { system(e); return e.Kind != event.ExternalCorrelation })
			c = byTime.Completeness.Operators
			calls2, work2, spans2 := links(byTime)
			if c.LinkedByID != 0 || c.LinkedByTime != pairLinks[name][0] || !maps.Equal(calls, calls2) || !maps.Equal(work, work2) || !maps.Equal(spans, spans2) {
				t.Errorf("by time: %d of %d calls, %d of %d works, %d of %d spans: %+v", len(calls2), len(calls), len(work2), len(work), len(spans2), len(spans), c)
			}
			for _, off := range []int64{-50_000, -10_000, -1_000, 1_000, 10_000, 50_000} {
				h, err := host.ReadKinetoFile(pairFile(name, ".kineto.json.gz"))
				if err != nil {
					t.Fatal(err)
				}
				shift(h, off)
				tr := joinPair(t, name, []hostSlice{{host: h, window: h.Window}}, o, func(e *event.Event) bool { system(e); return true })
				op, cl := tr.Completeness.Operators, tr.Completeness.Clock
				if op.Disagreed != 0 || op.Agreed != op.LinkedByID {
					t.Errorf("off by %d ns: %+v", off, op)
				}
				if cl.HostOffsetNS == nil || abs(*cl.HostOffsetNS+off) > 2**cl.HostUncertaintyNS+2 {
					t.Errorf("off by %d ns: clock %+v %d %d", off, cl, *cl.HostOffsetNS, *cl.HostUncertaintyNS)
				}
				calls3, work3, spans3 := links(tr)
				if !maps.Equal(calls, calls3) || !maps.Equal(work, work3) || !maps.Equal(spans, spans3) {
					t.Errorf("off by %d ns: other links", off)
				}
			}
		})
	}
}

func abs(n int64) int64 { return max(n, -n) }

// shift moves all times of a host side.
func shift(h *host.Host, by int64) {
	for i := range h.Ops {
		h.Ops[i].Start += by
		h.Ops[i].End += by
	}
	for i := range h.Flows {
		h.Flows[i].TS += by
	}
	h.Window.Start += by
	h.Window.End += by
}

// TestAnnotationsOfPairs: the spans of annotations on the streams are Kineto's.
func TestAnnotationsOfPairs(t *testing.T) {
	for _, name := range pairs {
		ref := parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz")))
		got := importPair(t, name, ImportOptions{clock: referenceClock(t, name, ref), KinetoRows: true}, 0)
		list := func(tr *jsonTrace) (out []string) {
			for _, e := range tr.TraceEvents {
				if e.Cat == "gpu_user_annotation" {
					// The clocks differ by a nanosecond of rounding.
					out = append(out, fmt.Sprint(e.Name, " ", e.PID, "/", e.TID, " ", e.Args["External id"], " ", (nsOf(t, e.TS)+500)/1000))
				}
			}
			slices.Sort(out)
			return out
		}
		if want, have := list(ref), list(got); !slices.Equal(want, have) {
			t.Errorf("%s: %d spans, want %d\n%q\n%q", name, len(have), len(want), have, want)
		}
	}
}

// TestOperatorsOfInjectedDump: what an agent and torch's profiler saw of one run,
// in two files: after the profiler had started, every call that an operator of
// its own made is linked by id and by time alike.
func TestOperatorsOfInjectedDump(t *testing.T) {
	base := "../testdata/injected/rearm"
	tr, err := ImportCUPTI(ImportOptions{APIVersion: pairsAPI, Buffers: base + ".cupti.gz", Names: base + ".names.tsv.gz", Host: base + ".host.json.gz", Clock: "fit"})
	if err != nil {
		t.Fatal(err)
	}
	o := tr.Completeness.Operators
	if o.Seen != 167 || o.LinkedByID != 100 || o.Agreed != 100 || o.Disagreed != 0 || o.DeviceLinked != 60 || len(o.DeviceUnlinked) > 0 {
		t.Errorf("%+v", o)
	}
}
