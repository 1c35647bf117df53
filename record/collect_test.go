package record

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// launches are n launches of 1 us from start on, one every 10 us, each with its
// kernel of 5 us, times in units of 1/rate ns.
func launches(n int, start uint64, rate float64, first uint32) (buf []byte) {
	at := func(ns int) uint64 { return start + uint64(float64(ns)*rate) }
	for i := range n {
		id := first + uint32(i)
		buf = append(buf, kernelRecord(at(i*10_000+2000), at(i*10_000+7000), id)...)
		buf = append(buf, callRecord(at(i*10_000), at(i*10_000+1000), id, 4242)...)
	}
	return buf
}

const ms = 1_000_000

// sampled is a clock sample so many ns after the start of the spool.
func sampled(after int64, vendor uint64) spool.Clock {
	return spool.Clock{Realtime: spoolStart + after, Vendor: vendor}
}

// healthy is what a spool without a flaw holds beside its buffers.
func healthy(w *spool.Writer, buffers ...spool.Buffer) {
	_ = w.Names([]spool.Name{{Ptr: 0x1000, Name: "_Z4gemmPf"}})
	_ = w.Clock(sampled(0, uint64(spoolStart)))
	for _, b := range buffers {
		_ = w.Buffer(b)
	}
	dropped := uint64(0)
	_ = w.Counters(spool.Counters{BuffersRequested: 3, BuffersDelivered: 3, RecordsDropped: &dropped})
	_ = w.End(spool.End{Reason: "exit", NS: spoolStart + 10_000*ms, Flushed: true})
}

func collect(t *testing.T, path string, o CollectOptions) *timeline.Trace {
	t.Helper()
	tr, err := CollectSpool(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestCollect writes spools that lack something, or have too much, and compares
// what the completeness record says of them.
func TestCollect(t *testing.T) {
	good := spool.Buffer{Sequence: 1, Data: launches(10, uint64(spoolStart)+ms, 1, 1)}
	for _, c := range []struct {
		name    string
		header  func(*spool.Header)
		write   func(*spool.Writer)
		verdict timeline.Verdict
		kernels uint64
		check   func(*timeline.Completeness) bool // beyond that
		says    string                            // in a diagnosis
	}{
		{name: "healthy", write: func(w *spool.Writer) { healthy(w, good) }, verdict: timeline.Complete, kernels: 10,
			check: func(c *timeline.Completeness) bool {
				return *c.Flushed && c.Ended == timeline.EndExit && c.Layout == "table" && c.Written["runtime"] == 10 &&
					c.Spool.Frames == 6 && len(c.Diagnoses) == 0 && c.Clock.Source == timeline.ClockRealtime
			}},
		{name: "no end", write: func(w *spool.Writer) { _ = w.Names([]spool.Name{{Ptr: 0x1000, Name: "k"}}); _ = w.Buffer(good) },
			verdict: timeline.Unknown, kernels: 10, says: "never read",
			check: func(c *timeline.Completeness) bool { return c.Ended == timeline.EndCut && c.Flushed == nil }},
		{name: "not flushed", write: func(w *spool.Writer) {
			_ = w.End(spool.End{Reason: "exit", NS: spoolStart + 1, Flushed: false})
		}, verdict: timeline.Incomplete},
		{name: "unavailable", header: func(h *spool.Header) { h.Binding, h.Requested = tracer.BindingInfo{}, nil }, write: func(w *spool.Writer) {
			_ = w.Diagnosis("libcupti not found")
			_ = w.End(spool.End{Reason: "unavailable", NS: spoolStart + 1})
		}, verdict: timeline.Incomplete, says: "libcupti not found"},
		{name: "library too old", header: func(h *spool.Header) { h.Binding.APIVersion = 13 }, write: func(w *spool.Writer) { healthy(w, good) },
			verdict: timeline.Incomplete, says: "API version 13",
			check: func(c *timeline.Completeness) bool { return c.Spool.LostBytes == uint64(len(good.Data)) }},
		{name: "tracer of another build", header: func(h *spool.Header) { h.Binding.Tracer = "abacus" }, write: func(w *spool.Writer) { healthy(w, good) },
			verdict: timeline.Incomplete, says: "abacus",
			check: func(c *timeline.Completeness) bool { return c.Spool.LostBytes == uint64(len(good.Data)) }},
		{name: "refused kinds", header: func(h *spool.Header) {
			h.Requested, h.Options.Sync = []string{"kernel", "memset", "runtime", "driver"}, true
		}, write: func(w *spool.Writer) { healthy(w, good) }, verdict: timeline.Incomplete, kernels: 10,
			check: func(c *timeline.Completeness) bool {
				return slices.Equal(c.Missing, []string{"memcpy_refused", "sync_refused"})
			}},
		{name: "loss", write: func(w *spool.Writer) {
			_ = w.Diagnosis("the clock jumped")
			_ = w.Loss(spool.Loss{Code: spool.LossClock, Text: "the clock jumped"})
			_ = w.Loss(spool.Loss{Code: spool.LossClock, Text: "the clock jumped"})
			healthy(w, good)
		}, verdict: timeline.Incomplete, kernels: 10, says: "the clock jumped",
			check: func(c *timeline.Completeness) bool { return len(c.Diagnoses) == 1 && len(c.Missing) == 1 }},
		{name: "stride as in the table", write: func(w *spool.Writer) { _ = w.Stride(10, 216); healthy(w, good) },
			verdict: timeline.Complete, kernels: 10, check: func(c *timeline.Completeness) bool { return c.Layout == "verified" }},
		{name: "stride of another library", write: func(w *spool.Writer) {
			_ = w.Stride(10, 240)
			k := append(kernelRecord(uint64(spoolStart)+ms, uint64(spoolStart)+2*ms, 5), make([]byte, 24)...)
			healthy(w, spool.Buffer{Data: slices.Concat(k, callRecord(uint64(spoolStart)+ms/2, uint64(spoolStart)+ms, 5, 4242), k)})
		}, verdict: timeline.Incomplete, check: func(c *timeline.Completeness) bool {
			return c.Layout == "mismatch" && c.Dropped[tracer.DropLayout] == 2 && c.Written["runtime"] == 1 && c.Spool.LostBytes == 0
		}},
		{name: "unknown kind with a stride", write: func(w *spool.Writer) {
			_ = w.Stride(777, 24)
			_ = w.Stride(77, 16)
			far, near := make([]byte, 24), make([]byte, 16)
			binary.LittleEndian.PutUint32(far, 777)
			binary.LittleEndian.PutUint32(near, 77)
			healthy(w, spool.Buffer{Data: slices.Concat(far, near, near, good.Data)})
		}, verdict: timeline.Complete, kernels: 10, check: func(c *timeline.Completeness) bool {
			return c.Skipped["777"] == 1 && c.Skipped["77"] == 2
		}},
		{name: "unknown kind without one", write: func(w *spool.Writer) {
			healthy(w, spool.Buffer{Data: slices.Concat([]byte{9, 3, 0, 0}, good.Data)})
		}, verdict: timeline.Incomplete, says: "unknown size", check: func(c *timeline.Completeness) bool {
			return c.Spool.LostBytes == uint64(4+len(good.Data))
		}},
		{name: "offsets, for one buffer", write: func(w *spool.Writer) {
			// Every other kernel is 16 bytes longer, so that no stride leads through.
			var data []byte
			var offs []uint32
			for i := range 7 {
				at := uint64(spoolStart) + ms + uint64(i)*10_000
				offs = append(offs, uint32(len(data)))
				data = append(data, kernelRecord(at, at+5000, uint32(i+1))...)
				data = append(data, make([]byte, i%2*16)...)
			}
			_ = w.Offsets(offs)
			healthy(w, spool.Buffer{Sequence: 1, Data: data}, spool.Buffer{Sequence: 2, Data: launches(5, uint64(spoolStart)+2*ms, 1, 11)})
		}, verdict: timeline.Complete, kernels: 12},
		{name: "offsets beyond the buffer", write: func(w *spool.Writer) { _ = w.Offsets([]uint32{0, 216, 99_999}); healthy(w, good) },
			verdict: timeline.Incomplete, kernels: 1, says: "truncated", check: func(c *timeline.Completeness) bool { return c.Spool.LostBytes > 0 }},
		{name: "names come later", write: func(w *spool.Writer) { _ = w.Buffer(good); healthy(w) },
			verdict: timeline.Incomplete, check: func(c *timeline.Completeness) bool { return c.Dropped[tracer.DropNoName] == 10 }},
		{name: "callback name", write: func(w *spool.Writer) {
			_ = w.CallbackName(2, 60_000, "cudaFuture_v20000")
			a := callRecord(uint64(spoolStart)+5*ms, uint64(spoolStart)+6*ms, 99, 4242)
			binary.LittleEndian.PutUint32(a[4:], 60_000)
			healthy(w, spool.Buffer{Data: a})
		}, verdict: timeline.Complete, check: func(c *timeline.Completeness) bool { return c.Written["runtime"] == 1 }},
		{name: "without a callback name", write: func(w *spool.Writer) {
			a := callRecord(uint64(spoolStart)+5*ms, uint64(spoolStart)+6*ms, 99, 4242)
			binary.LittleEndian.PutUint32(a[4:], 60_000)
			healthy(w, spool.Buffer{Data: a})
		}, verdict: timeline.Incomplete, check: func(c *timeline.Completeness) bool { return c.Dropped[tracer.DropNoCallbackName] == 1 }},
		{name: "counters", write: func(w *spool.Writer) {
			healthy(w, good)
			n := uint64(7)
			_ = w.Counters(spool.Counters{BuffersDiscarded: 1, BytesDiscarded: 64, RecordsDropped: &n, WriteErrors: 2, BytesUnwritten: 5})
		}, verdict: timeline.Incomplete, kernels: 10, check: func(c *timeline.Completeness) bool {
			b := c.Buffers
			return b.Discarded == 1 && b.BytesDiscarded == 64 && *b.RecordsDropped == 7 && b.WriteErrors == 2 && b.BytesUnwritten == 5
		}},
		{name: "binding as it became", write: func(w *spool.Writer) {
			_ = w.Binding(tracer.BindingInfo{Tracer: "cupti", Path: "/opt/libcupti.so", APIVersion: recordsAPI, Driver: 13000})
			healthy(w, good)
		}, verdict: timeline.Complete, kernels: 10, check: func(c *timeline.Completeness) bool { return c.Library == "/opt/libcupti.so" }},
		{name: "after the end", write: func(w *spool.Writer) {
			healthy(w, good, spool.Buffer{Data: launches(3, uint64(spoolStart)+10_001*ms, 1, 50)})
		}, verdict: timeline.Complete, kernels: 10, check: func(c *timeline.Completeness) bool { return c.Dropped[timeline.DropOutOfWindow] == 6 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := testHeader()
			if c.header != nil {
				c.header(&h)
			}
			got := collect(t, makeSpool(t, h, c.write), CollectOptions{})
			rec := got.Completeness
			if rec.Verdict != c.verdict || rec.Written["kernel"] != c.kernels || c.check != nil && !c.check(rec) {
				t.Errorf("verdict %s, %d kernels; record %+v\nbuffers %+v spool %+v", rec.Verdict, rec.Written["kernel"], rec, rec.Buffers, rec.Spool)
			}
			if all := strings.Join(rec.Diagnoses, "\n"); !strings.Contains(all, c.says) {
				t.Errorf("diagnoses lack %q: %s", c.says, all)
			}
			if a := explain(rec); (len(a.Lost) > 0) != (rec.Verdict == timeline.Incomplete) {
				t.Errorf("verdict %s, and in words: %q", rec.Verdict, a.Lost)
			}
		})
	}
}

// Devices, threads, exit status and own calls find their place.
func TestCollectDetails(t *testing.T) {
	path := makeSpool(t, testHeader(), func(w *spool.Writer) {
		_ = w.Devices([]tracer.Device{
			{ID: 1, Name: "B", Attributes: map[string]int64{"zeta": 1, "alpha": 2, "numSms": 3, "totalGlobalMem": 4}},
			{ID: 0, Name: "A"},
		})
		_ = w.Binding(tracer.BindingInfo{Tracer: "cupti", APIVersion: recordsAPI, Driver: 13000, Runtime: 13010})
		_ = w.Thread(spool.Thread{TID: 4242, Name: "first"})
		_ = w.Thread(spool.Thread{TID: 4242, Name: "python"})
		_ = w.Thread(spool.Thread{TID: 4300, Name: spool.OwnThreadPrefix + "flush"})
		_ = w.Thread(spool.Thread{TID: 4301, Name: spool.OwnThreadPrefix + "train"}) // the program's
		healthy(w, spool.Buffer{Data: slices.Concat(
			launches(2, uint64(spoolStart)+ms, 1, 1),
			callRecord(uint64(spoolStart)+3*ms, uint64(spoolStart)+4*ms, 9, 4300),
			callRecord(uint64(spoolStart)+3*ms, uint64(spoolStart)+4*ms, 10, 4301))})
	})
	code := 3
	got := collect(t, path, CollectOptions{ExitCode: &code})
	rec := got.Completeness
	if rec.Dropped[timeline.DropOwnCalls] != 1 || rec.Written["runtime"] != 3 || *rec.ExitCode != 3 || rec.Verdict != timeline.Complete {
		t.Errorf("%+v", rec)
	}
	if got.Process != (timeline.Process{PID: 4242, Name: "python", Host: "testhost"}) {
		t.Errorf("process %+v", got.Process)
	}
	if len(got.Devices) != 2 || got.Devices[0].Name != "A" || got.Devices[1].ID != 1 {
		t.Fatalf("devices %+v", got.Devices)
	}
	var keys []string
	for _, p := range got.Devices[1].Properties {
		keys = append(keys, fmt.Sprint(p.Key, "=", p.Value))
	}
	if want := []string{"totalGlobalMem=4", "numSms=3", "alpha=2", "zeta=1"}; !slices.Equal(keys, want) {
		t.Errorf("properties %v, want %v", keys, want)
	}
	var names []string
	for _, r := range got.Rows {
		if r.Kind == timeline.RowThread && r.TID == 4242 {
			names = append(names, fmt.Sprint(r.TID, " ", r.Name))
		}
	}
	if !slices.Equal(names, []string{"4242 python"}) {
		t.Errorf("threads %q", names)
	}
	for key, want := range map[string]string{"cupti_version": "130001", "cuda_driver_version": "13000", "cuda_runtime_version": "13010"} {
		if !slices.ContainsFunc(got.Metadata, func(p timeline.Property) bool { return p.Key == key && string(p.Raw) == want }) {
			t.Errorf("metadata lacks %s %s", key, want)
		}
	}
	if got := collect(t, path, CollectOptions{API: tracer.APIMinimal, Signal: "SIGKILL"}); got.Completeness.Signal != "SIGKILL" || got.Completeness.ExitCode != nil {
		t.Errorf("%+v", got.Completeness)
	}
}

// The window is what the program opened and closed, else all there is.
func TestCollectWindows(t *testing.T) {
	at := func(n int64) int64 { return spoolStart + n*ms }
	open := func(n int64) spool.Window { return spool.Window{Open: true, NS: at(n)} }
	shut := func(n int64) spool.Window { return spool.Window{NS: at(n)} }
	for _, c := range []struct {
		name       string
		marks      []spool.Window
		end        bool
		start, to  int64 // ms
		kernels    uint64
		atLastWork bool
	}{
		{"none", nil, true, 0, 1000, 3, false},
		{"none, cut", nil, false, 0, 0, 3, true},
		{"opened", []spool.Window{open(150)}, true, 150, 1000, 2, false},
		{"opened, cut", []spool.Window{open(150)}, false, 150, 0, 2, true},
		{"opened and closed", []spool.Window{open(150), shut(250)}, true, 150, 250, 1, false},
		{"twice", []spool.Window{open(50), shut(120), open(250), shut(350)}, true, 50, 350, 2, false},
		{"closed only", []spool.Window{shut(250)}, true, 0, 250, 2, false},
	} {
		path := makeSpool(t, testHeader(), func(w *spool.Writer) {
			_ = w.Names([]spool.Name{{Ptr: 0x1000, Name: "k"}})
			_ = w.Clock(sampled(0, uint64(spoolStart)))
			for i := range int64(3) {
				_ = w.Buffer(spool.Buffer{Data: kernelRecord(uint64(at(100+100*i)), uint64(at(100+100*i))+5000, uint32(i+1))})
			}
			for _, m := range c.marks {
				_ = w.Window(m)
			}
			if c.end {
				_ = w.End(spool.End{Reason: "exit", NS: at(1000), Flushed: true})
			}
		})
		got := collect(t, path, CollectOptions{})
		want := timeline.Window{Start: at(c.start), End: at(c.to)}
		if c.atLastWork {
			want.End = at(300) + 5000
		}
		if got.Window != want || got.Completeness.Written["kernel"] != c.kernels {
			t.Errorf("%s: window %+v, want %+v, %d kernels", c.name, got.Window, want, got.Completeness.Written["kernel"])
		}
	}
}
