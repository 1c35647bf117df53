package bind_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// What 3 rounds of 9 launches are.
const (
	rounds, launches = 3, 9
	kernels          = rounds * (launches + 2)
	copies           = 2 * rounds
	fills            = rounds
)

// whole checks that everything came through, and nothing was said.
func (o *outcome) whole(t *testing.T) {
	t.Helper()
	if o == nil {
		t.Fatal("the process hangs")
	}
	// What the library never records is said each time.
	o.Notes = slices.DeleteFunc(o.Notes, func(s string) bool { return strings.Contains(s, "fills are not recorded") })
	if len(o.Errors) > 0 || len(o.errs) > 0 || len(o.Notes) > 0 || len(o.report.Diagnoses) > 0 {
		t.Errorf("errors %q %v, notes %q, diagnoses %q", o.Errors, o.errs, o.Notes, o.report.Diagnoses)
	}
	for reason, n := range o.report.Dropped {
		if reason != tracer.DropFiltered {
			t.Errorf("dropped: %d %s", n, reason)
		}
	}
	if o.report.LostBytes != 0 {
		t.Errorf("%d bytes lost", o.report.LostBytes)
	}
}

func (o *outcome) counts(t *testing.T, wantKernels, wantCopies, wantFills int) {
	t.Helper()
	if k, c, f := o.count(event.Kernel), o.count(event.Memcpy), o.count(event.Memset); k != wantKernels || c != wantCopies || f != wantFills {
		t.Errorf("%d kernels, %d copies, %d fills; want %d, %d, %d (dropped %v)", k, c, f, wantKernels, wantCopies, wantFills, o.report.Dropped)
	}
}

// Each vendor's library as it is known to be: every record arrives, with the fields
// that are known and no others.
func TestDialects(t *testing.T) {
	for name, want := range map[string]struct {
		launch  string // the call
		fills   int
		handles bool
		version uint32
		layout  string
	}{
		"musa":  {"musaLaunchKernel", fills, true, 14, "learned"},
		"metax": {"mcLaunchKernel", fills, false, 18, "assumed"},
		"ppu":   {"cudaLaunchKernel", 0, false, 130000, "learned"},
	} {
		t.Run(name, func(t *testing.T) {
			o := trial(t, job{Vendor: name}, "")
			o.whole(t)
			o.counts(t, kernels, copies, want.fills)
			if o.report.Layout != want.layout || o.Info.APIVersion != want.version || o.Info.HandleThreads != want.handles || !o.Mapped {
				t.Errorf("layout %q, info %+v, mapped %v", o.report.Layout, o.Info, o.Mapped)
			}
			calls, operators := map[uint64]string{}, map[uint64]bool{}
			for i, e := range o.events {
				switch e.Kind {
				case event.Runtime:
					calls[e.Correlation] = o.names[i]
				case event.ExternalCorrelation:
					operators[e.Correlation] = true
				}
			}
			for i, e := range o.events {
				if e.Kind != event.Kernel || !strings.Contains(o.names[i], "gemm") {
					continue
				}
				// Fields behind the prefix hold something in the look-alike.
				l := e.Launch
				if e.Has != event.HasDevice|event.HasStream || l.Has != 0 || l.Registers != 32 || l.Dynamic != 1024 || l.Block != [3]int32{64, 2, 1} || l.Grid[1] != 2 {
					t.Errorf("%+v", e)
				}
				if calls[e.Correlation] != want.launch || !operators[e.Correlation] {
					t.Errorf("correlation %d: call %q, operator %v", e.Correlation, calls[e.Correlation], operators[e.Correlation])
				}
			}
			for _, e := range o.events {
				if e.Kind == event.Memcpy && (e.Has != event.HasDevice|event.HasStream || e.Bytes == 0 || e.Copy == 0) {
					t.Errorf("%+v", e)
				}
			}
			requested := slices.Contains(o.Requested, event.Memset.String())
			if requested != (want.fills > 0) {
				t.Errorf("requested %q", o.Requested)
			}
		})
	}
}

// The tracer does not depend on how long records are.
func TestMUSALengths(t *testing.T) {
	for _, sizes := range [][2]int{{168, 80}, {200, 88}, {208, 80}, {160, 72}, {112, 64}} {
		o := trial(t, job{Vendor: "musa"}, "", fmt.Sprint("FAKEMUPTI_KERNEL_SIZE=", sizes[0]), fmt.Sprint("FAKEMUPTI_COPY_SIZE=", sizes[1]))
		o.whole(t)
		o.counts(t, kernels, copies, fills)
	}
	// Too short for the prefix: nothing of it is believed.
	o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_KERNEL_SIZE=104")
	o.counts(t, 0, 0, 0)
	if o.report.Layout != "mismatch" || len(o.report.Diagnoses) != 1 || !strings.Contains(o.report.Diagnoses[0], "104 bytes long, and 112 are read") {
		t.Errorf("%q %q", o.report.Layout, o.report.Diagnoses)
	}
}

// Records of MUSA's own kinds, whose size nobody knows and which differ in it, are
// stepped over with the iterator.
func TestMUSAOwnKinds(t *testing.T) {
	o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_OWN_EVERY=5")
	o.counts(t, kernels, copies, fills)
	if o.report.Skipped[61] == 0 || len(o.errs) > 0 || len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "differ in size") {
		t.Errorf("skipped %v, %v, notes %q", o.report.Skipped, o.errs, o.Notes)
	}
	// One a buffer, so that the first shows one size only; what is behind that in the next
	// looks like a record.
	o = trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_OWN_EVERY=14")
	o.counts(t, kernels, copies, fills)
	for _, e := range o.events {
		if e.Kind == event.ExternalCorrelation && e.ExternalID == 0xdead {
			t.Error("a record was made of the inside of another")
		}
	}
}

// Names: the library's, else by CUDA's number, else the call is left out and counted.
func TestMUSANames(t *testing.T) {
	has := func(o *outcome, name string) bool { return slices.Contains(o.names, name) }
	o := trial(t, job{Vendor: "musa"}, "")
	if !has(o, "musaLookalikeOwnCall") || !has(o, "musaLaunchKernel") || !has(o, "musaMemcpyAsync") {
		t.Errorf("names %q", o.names)
	}
	o = trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_NO_NAMES=1")
	if has(o, "musaLookalikeOwnCall") || !has(o, "musaLaunchKernel") || o.report.Dropped[tracer.DropNoCallbackName] != rounds {
		t.Errorf("names %q, dropped %v", o.names, o.report.Dropped)
	}
}

// A library without the query of names, the count of lost records and external ids.
func TestMUSAMinimal(t *testing.T) {
	o := trial(t, job{Vendor: "musa"}, fakegpu.Get(t).AlikeMinimal(fakegpu.MUSA))
	o.counts(t, kernels, copies, fills)
	if len(o.Errors) > 0 || o.count(event.ExternalCorrelation) != 0 || slices.Contains(o.Requested, event.ExternalCorrelation.String()) {
		t.Errorf("errors %q, %d external ids, requested %q", o.Errors, o.count(event.ExternalCorrelation), o.Requested)
	}
	if !slices.ContainsFunc(o.Notes, func(n string) bool { return strings.Contains(n, "it has no external ids") }) {
		t.Errorf("%q", o.Notes)
	}
}

// Records without times are no events, and it is said what that means.
func TestUntimed(t *testing.T) {
	for name, c := range map[string]struct{ env, text string }{
		"musa": {"FAKEMUPTI_UNTIMED_EVERY=1", "MT-Perf"}, "metax": {"FAKEMCPTI_UNTIMED_EVERY=1", "has not measured"},
	} {
		o := trial(t, job{Vendor: name}, "", c.env)
		o.counts(t, 0, 0, 0)
		if n := uint64(kernels + copies + fills); o.report.Dropped[tracer.DropUntimed] != n || len(o.report.Diagnoses) != 1 || !strings.Contains(o.report.Diagnoses[0], c.text) {
			t.Errorf("%s: dropped %v, %q", name, o.report.Dropped, o.report.Diagnoses)
		}
		if o.report.Layout == "mismatch" {
			t.Errorf("%s: taken for another layout", name)
		}
	}
}

// Fields that have moved are noticed before anything is made of them.
func TestShifted(t *testing.T) {
	for name, env := range map[string]string{"musa": "FAKEMUPTI", "metax": "FAKEMCPTI", "ppu": "FAKEPPU"} {
		o := trial(t, job{Vendor: name, Rounds: 6}, "", env+"_SHIFTED=1")
		o.counts(t, 0, 0, 0)
		if o.report.Layout != "mismatch" || len(o.report.Diagnoses) != 1 || !strings.Contains(o.report.Diagnoses[0], "no work of the device is taken") {
			t.Errorf("%s: %q %q", name, o.report.Layout, o.report.Diagnoses)
		}
		if o.count(event.Runtime) == 0 || o.report.Dropped[tracer.DropLayout] == 0 {
			t.Errorf("%s: %d calls, dropped %v", name, o.count(event.Runtime), o.report.Dropped)
		}
	}
}

// MetaX's iterator is not used: it can return a pointer it has returned before.
func TestMetaXStaleIterator(t *testing.T) {
	o := trial(t, job{Vendor: "metax"}, "", "FAKEMCPTI_STALE=1")
	o.whole(t)
	o.counts(t, kernels, copies, fills)
	// What it would have cost, on a vendor whose iterator is.
	if o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_STALE=1"); o != nil && o.count(event.Kernel) == kernels {
		t.Error("the switch does nothing")
	}
}

// Behind bytes that are no record, decoding goes on at the next that is one.
func TestMetaXResync(t *testing.T) {
	o := trial(t, job{Vendor: "metax"}, "", "FAKEMCPTI_OWN_EVERY=5")
	o.counts(t, kernels, copies, fills)
	if o.report.LostBytes == 0 || len(o.report.Diagnoses) != 1 || !strings.Contains(o.report.Diagnoses[0], "no record of a kind known") {
		t.Errorf("%d bytes, %q", o.report.LostBytes, o.report.Diagnoses)
	}
	for _, e := range o.events {
		if e.Kind == event.ExternalCorrelation && e.ExternalID == 0xdead {
			t.Error("a record was made of the inside of another")
		}
	}
}

// Names of MetaX's calls are asked for when nobody hands a buffer over.
func TestMetaXNames(t *testing.T) {
	o := trial(t, job{Vendor: "metax"}, "")
	if o == nil {
		t.Fatal("the process hangs")
	}
	if !slices.Contains(o.names, "mcGraphLaunch") || slices.Contains(o.names, "cudaLaunchKernel") {
		t.Errorf("names %q", o.names) // 301 is in no table
	}
	if o = trial(t, job{Vendor: "metax"}, "", "FAKEMCPTI_NO_NAMES=1"); !slices.Contains(o.names, "mcLaunchKernel") || slices.Contains(o.names, "mcGraphLaunch") {
		t.Errorf("names %q", o.names)
	}
	if testing.Verbose() { // takes its time
		if trial(t, job{Vendor: "metax", NameInside: true}, "") != nil {
			t.Error("asked while a buffer is handed over, it does not hang: the switch does nothing")
		}
	}
}

// A kernel without a name, as out of a graph, is kept and says so.
func TestMetaXNullNames(t *testing.T) {
	o := trial(t, job{Vendor: "metax"}, "", "FAKEMCPTI_NULL_NAME_EVERY=5")
	o.counts(t, kernels, copies, fills)
	if o.report.Repaired[tracer.RepairUnnamed] != kernels/5 || !slices.Contains(o.names, "(no name)") {
		t.Errorf("repaired %v", o.report.Repaired)
	}
	// Another vendor's would be a fault.
	if o = trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_NULL_NAME_EVERY=5"); o.report.Dropped[tracer.DropNoName] != kernels/5 {
		t.Errorf("dropped %v", o.report.Dropped)
	}
}

// Where the program's own profiler has the one kind of kernel records on, kernels are
// recorded by that.
func TestPPUOneKernelKind(t *testing.T) {
	o := trial(t, job{Vendor: "ppu"}, "", "FAKEPPU_KERNEL_ON=1")
	o.whole(t)
	o.counts(t, kernels, copies, 0)
}

// Buffers that nobody gave are no harm.
func TestPPUForeignBuffers(t *testing.T) {
	o := trial(t, job{Vendor: "ppu"}, "", "FAKEPPU_FOREIGN_EVERY=2")
	o.whole(t)
	o.counts(t, kernels, copies, 0)
	if o.Foreign == 0 {
		t.Error("the switch does nothing")
	}
}

// Another profiler takes the buffer functions between two windows; each window begins
// with taking them back.
func TestPPUWindows(t *testing.T) {
	o := trial(t, job{Vendor: "ppu", Windows: 3, Stolen: true}, "")
	if len(o.Errors) > 0 {
		t.Errorf("%q", o.Errors)
	}
	// What was not fetched when they changed hands is the other's.
	if n := o.count(event.Kernel); n < 3*(kernels-4) {
		t.Errorf("%d kernels in 3 windows of %d", n, kernels)
	}
}

// Buffers may be handed over on any thread.
func TestForeignThread(t *testing.T) {
	for name, env := range map[string]string{"musa": "FAKEMUPTI", "metax": "FAKEMCPTI", "ppu": "FAKEPPU"} {
		o := trial(t, job{Vendor: name}, "", env+"_THREADED=1")
		o.whole(t)
		if o.count(event.Kernel) != kernels {
			t.Errorf("%s: %d kernels", name, o.count(event.Kernel))
		}
	}
}

// The library's clock is read as it is; times are its own.
func TestVendorClock(t *testing.T) {
	o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_CLOCK_OFFSET_NS=77000000000")
	if d := o.Offset - 77_000_000_000; d < -50_000_000 || d > 50_000_000 {
		t.Errorf("offset %d", o.Offset)
	}
}

// Nothing is unloaded: the library's end is the process's.
func TestNeverUnloaded(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_LOG="+log)
	text, err := os.ReadFile(log)
	if err != nil || !o.Mapped {
		t.Fatalf("%v, mapped %v", err, o.Mapped)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "unloaded") && i < len(lines)-1 {
			t.Errorf("line %d of %d: %s", i, len(lines), l)
		}
	}
	if !strings.Contains(string(text), "disable 10") {
		t.Errorf("calls %q", lines)
	}
}
