package bind_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	musa "github.com/flagos-ai/flagos-trace/tracer/musa/bind"
)

// Libraries that fail, hang, or are others than they are known to be.

// A flush that never comes back holds up nothing, and the library is not called again.
func TestMUSAFlushHangs(t *testing.T) {
	o := trial(t, job{Vendor: "musa", FlushLimit: 300 * time.Millisecond}, "", "FAKEMUPTI_HANG_AFTER=1")
	if o == nil {
		t.Fatal("the process hangs")
	}
	o.counts(t, kernels, copies, fills)
	if len(o.Errors) != 1 || !strings.Contains(o.Errors[0], "second forced flush: a flush of the vendor's library did not come back") || o.Took > 5*time.Second {
		t.Errorf("errors %q, took %v", o.Errors, o.Took)
	}
	// Nor is it for what it had handed over before: that is read by the sizes shown.
	o = trial(t, job{Vendor: "musa", FlushLimit: 300 * time.Millisecond, Unread: true}, "", "FAKEMUPTI_HANG_AFTER=1", "FAKEMUPTI_HANG_LOCKED=1")
	if o == nil {
		t.Fatal("the process hangs")
	}
	o.counts(t, kernels, copies, fills)
	if len(o.errs) > 0 || len(o.Notes) > 0 {
		t.Errorf("%v, %q", o.errs, o.Notes)
	}
	if l := musa.Dialect.FlushLimit; l < 2*time.Second || l > 10*time.Second {
		t.Errorf("limit %v: a flush takes a second, and exit waits for it", l)
	}
	// One that is only slow is waited for.
	o = trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_FLUSH_MS=900")
	o.whole(t)
	o.counts(t, kernels, copies, fills)
}

// So few that nothing is said of the layout make no events either.
func TestShiftedFew(t *testing.T) {
	o := trial(t, job{Vendor: "musa", Rounds: 1, Launches: 1}, "", "FAKEMUPTI_SHIFTED=1")
	o.counts(t, 0, 0, 0)
	if o.report.Dropped[tracer.DropLayout] == 0 {
		t.Errorf("dropped %v", o.report.Dropped)
	}
}

// Where copies are shorter than they are known to be, what stands behind each is lost, and
// no event is made of the middle of a record.
func TestMetaXOtherSize(t *testing.T) {
	o := trial(t, job{Vendor: "metax"}, "", "FAKEMCPTI_COPY_SIZE=80")
	if o.report.LostBytes == 0 || o.count(event.Kernel) < kernels/2 || o.count(event.Memcpy) > copies || o.count(event.Memset) > fills {
		t.Errorf("%d bytes, %d kernels, %d copies, %d fills", o.report.LostBytes, o.count(event.Kernel), o.count(event.Memcpy), o.count(event.Memset))
	}
	for _, e := range o.events {
		if e.Kind == event.ExternalCorrelation {
			continue
		}
		if e.Incomplete || e.End < e.Start || e.End-e.Start > 1e10 || e.Kind == event.Driver {
			t.Errorf("%+v", e)
		}
	}
}

// Each function of a library fails in turn: what is missing is said, what is not arrives.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		vendor, fail string
		arms         bool   // kernels arrive
		says         string // among errors and notes
	}{
		{"musa", "FAKEMUPTI_FAIL=ActivityRegisterCallbacks=1", false, "muptiActivityRegisterCallbacks returned 1"},
		{"musa", "FAKEMUPTI_FAIL=ActivityEnable(10)=14", false, "muptiActivityEnable(10) returned 14"},
		{"musa", "FAKEMUPTI_FAIL=ActivityEnable(39)=7", true, "operators cannot be tied"},
		{"musa", "FAKEMUPTI_FAIL=ActivityEnable(1)=7", true, "copies are not recorded"},
		{"musa", "FAKEMUPTI_FAIL=ActivityEnable(5)=7", true, "calls of the runtime API are not recorded"},
		{"musa", "FAKEMUPTI_FAIL=ActivityDisable=7", true, "muptiActivityDisable(39) returned 7"},
		{"musa", "FAKEMUPTI_FAIL=GetVersion=7", true, ""},
		{"musa", "FAKEMUPTI_FAIL=ActivityGetNumDroppedRecords=7", true, ""},
		{"musa", "FAKEMUPTI_FAIL=ActivityFlushAll(0)=7", true, "muptiActivityFlushAll returned 7"},
		{"ppu", "FAKEPPU_FAIL=ActivityEnable(10)=14,ActivityEnable(3)=14", false, "cuptiActivityEnable(10) returned 14"},
		{"metax", "FAKEMCPTI_FAIL=SetThreadIdType=1", true, "thread ids of API calls may not be the system's"},
	} {
		o := trial(t, job{Vendor: c.vendor, Rounds: 1}, "", c.fail)
		if o == nil {
			t.Errorf("%s: hangs", c.fail)
			continue
		}
		if said := strings.Join(append(slices.Clone(o.Errors), o.Notes...), "; "); !strings.Contains(said, c.says) || (o.count(event.Kernel) > 0) != c.arms {
			t.Errorf("%s: %d kernels, %q", c.fail, o.count(event.Kernel), said)
		}
	}
}

// The end of a buffer is where the last record ends, whatever the iterator calls it; one
// that gives up before is told of, by the version that the library says.
func TestMUSAEnd(t *testing.T) {
	o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_END=5")
	o.whole(t)
	o.counts(t, kernels, copies, fills)
	o = trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_OWN_EVERY=5")
	if len(o.Notes) != 1 || !strings.Contains(o.Notes[0], "libmupti.so, API version 14: records of activity kind 61") {
		t.Errorf("%q", o.Notes)
	}
}

// Without an iterator records whose length is not known cannot be read.
func TestMUSANoIterator(t *testing.T) {
	o := trial(t, job{Vendor: "musa"}, "", "FAKEMUPTI_FAIL=ActivityGetNextRecord=1")
	o.counts(t, 0, 0, 0)
	if len(o.Notes) == 0 || !strings.Contains(o.Notes[0], "API version 14: its iterator ended with result 1 before") {
		t.Errorf("%q", o.Notes)
	}
}

// Where the program has loaded another copy of the library than the one that is named, work
// may be recorded by neither: it is said.
func TestTwoCopies(t *testing.T) {
	lib := fakegpu.Get(t).AlikeLibrary(fakegpu.MUSA)
	data, err := os.ReadFile(lib)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "libmupti.so")
	if err := os.WriteFile(other, data, 0o755); err != nil {
		t.Fatal(err)
	}
	o := trial(t, job{Vendor: "musa", Rounds: 1}, other, "LD_PRELOAD="+lib)
	if len(o.Notes) != 1 || !strings.HasPrefix(o.Notes[0], "two copies of MUPTI in the process: "+other) || !strings.Contains(o.Notes[0], lib+", loaded by the program") {
		t.Errorf("%q", o.Notes)
	}
	if o = trial(t, job{Vendor: "musa", Rounds: 1}, lib, "LD_PRELOAD="+lib); len(o.Notes) != 0 {
		t.Errorf("%q", o.Notes)
	}
}

// A library that is none says so by its name.
func TestNotTheLibrary(t *testing.T) {
	_, err := bind.OpenDialect(&musa.Dialect, func(v string) string {
		if v == tracer.EnvLibrary {
			return "libc.so.6"
		}
		return ""
	})
	if !errors.Is(err, bind.ErrNoFunction) || !strings.Contains(err.Error(), "(MUPTI)") || strings.Contains(err.Error(), "libcupti") {
		t.Errorf("%v", err)
	}
}
