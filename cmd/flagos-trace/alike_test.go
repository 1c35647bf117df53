package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// recordAlike records the workload on the look-alikes of a vendor's libraries.
func recordAlike(t *testing.T, v fakegpu.Alike, vendor string, env, flags []string, args ...string) (session, record.TraceSummary, counted) {
	t.Helper()
	gpu := fakegpu.Get(t)
	file := filepath.Join(t.TempDir(), "counts.json")
	command := append([]string{gpu.Alike(v), "--counts", file}, args...)
	s := recordQuirk(t, gpu, fakegpu.NoCUPTI, append(gpu.AlikeEnv(v), env...), append([]string{"--vendor", vendor}, flags...), command...)
	if s.stderr != "" {
		t.Errorf("stderr %q", s.stderr)
	}
	return s, s.only(t), readCounts(t, file)
}

// A program on each of the vendors whose libraries are modelled on others', from the
// command line to a trace that is valid: what the library tells and nothing else.
func TestAlikeVendors(t *testing.T) {
	cuptiArgs := []string{"device", "context", "stream", "correlation", "registers per thread", "shared memory", "grid", "block"}
	for _, c := range []struct {
		alike    fakegpu.Alike
		vendor   string
		tracer   string
		launch   string
		label    string
		args     []string // of a kernel that a call launched
		noFills  bool
		threads  string // "system" if the calls' threads are the system's
		unlinked uint64
	}{
		{fakegpu.MUSA, "mthreads", "musa", "musaLaunchKernel", "MUSA 0", cuptiArgs, false, "", 0},
		{fakegpu.MetaX, "maca", "metax", "mcLaunchKernel", "MetaX 0", cuptiArgs, false, "system", 0},
		{fakegpu.PPU, "ppu", "ppu", "cudaLaunchKernel", "PPU 0", cuptiArgs, true, "system", 0},
		{fakegpu.DCU, "hygon", "roctracer", "hipLaunchKernel", "DCU 0", []string{"device", "stream", "correlation", "grid", "block"}, false, "system", 0},
	} {
		t.Run(c.tracer, func(t *testing.T) {
			s, tr, n := recordAlike(t, c.alike, c.vendor, nil, nil, "--exit-code", "3", "--sleep", "1.2")
			r := tr.Completeness
			if s.status != 3 || r.Tracer != c.tracer || r.Verdict != timeline.Complete || r.Clock.Source != timeline.ClockTicks || r.Clock.DriftPPM == nil {
				t.Errorf("status %d, %+v", s.status, r)
			}
			fills := n.Memsets
			if c.noFills {
				fills = 0
			}
			if tr.Events["kernel"] != n.kernels() || tr.Events["memcpy"] != n.Memcpys || tr.Events["memset"] != fills || r.Unlinked["kernel"] != c.unlinked {
				t.Errorf("events %v, did %+v, unlinked %v", tr.Events, n, r.Unlinked)
			}
			if c.noFills != diagnosed(r, "fills are not recorded") {
				t.Errorf("diagnoses %q", r.Diagnoses)
			}
			byCat := s.events(t, tr.File)
			for cat, want := range map[string]bool{"kernel": true, "gpu_memcpy": true, "gpu_memset": !c.noFills, "privateuse1_runtime": true, "ac2g": true, "cuda_runtime": false} {
				if (len(byCat[cat]) > 0) != want {
					t.Errorf("%d events of category %s", len(byCat[cat]), cat)
				}
			}
			begin := map[string]int64{}
			for _, e := range byCat["privateuse1_runtime"] {
				begin[e.args.Get("correlation").Raw] = e.start
			}
			for _, k := range byCat["kernel"] {
				if !strings.Contains(k.name, "gemm") {
					continue
				}
				var keys []string
				for key := range k.args.Map() {
					keys = append(keys, key)
				}
				slices.Sort(keys)
				want := slices.Sorted(slices.Values(c.args))
				if !slices.Equal(keys, want) {
					t.Fatalf("%s: %q, want %q", k.name, keys, want)
				}
				if g := k.args.Get("block").Raw; g != "[64, 2, 1]" || !strings.HasSuffix(k.args.Get("grid").Raw, ", 2, 1]") {
					t.Fatalf("grid %s, block %s", k.args.Get("grid").Raw, g)
				}
				// The device begins 2 us after the call, and in turn.
				if d := k.start - begin[k.args.Get("correlation").Raw]; d < 0 || d > int64(time.Second) {
					t.Fatalf("%s begins %d ns after its call", k.name, d)
				}
			}
			if !slices.ContainsFunc(byCat["privateuse1_runtime"], func(e traced) bool { return e.name == c.launch }) {
				t.Errorf("no %s", c.launch)
			}
			labels := s.labels(t, tr.File)
			if !slices.Contains(labels, c.label) {
				t.Errorf("labels %q", labels)
			}
			validates(t, filepath.Join(s.dir, tr.File))
		})
	}
}

// labels lists the labels of a trace's processes.
func (s *session) labels(t *testing.T, name string) (list []string) {
	t.Helper()
	for _, e := range s.events(t, name)[""] {
		if e.name == "process_labels" {
			list = append(list, e.args.Get("labels").String())
		}
	}
	return list
}

// The library's clock runs fast, and at first agrees with CLOCK_REALTIME: it is mapped by
// its readings all the same, and what it was off by is told.
func TestAlikeDrift(t *testing.T) {
	var real, mono unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_REALTIME, &real)
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &mono)
	const ppm = 400
	offset := real.Nano() - mono.Nano() - mono.Nano()*ppm/1_000_000
	s, tr, _ := recordAlike(t, fakegpu.PPU, "ppu", []string{fmt.Sprint("FAKEPPU_CLOCK_OFFSET_NS=", offset), fmt.Sprint("FAKEPPU_CLOCK_PPM=", ppm)}, nil,
		"--rounds", "8", "--step-sleep-ms", "400", "--threads", "1")
	c := tr.Completeness.Clock
	if c.Source != timeline.ClockTicks || c.DriftPPM == nil || *c.DriftPPM < ppm-40 || *c.DriftPPM > ppm+40 || !diagnosed(tr.Completeness, "parts in a million fast") {
		t.Errorf("%+v, drift %v, %q", c, c.DriftPPM, tr.Completeness.Diagnoses)
	}
	// Over 3 s the drift is more than a millisecond; calls and work stay within the window,
	// and the last work begins near where the wall clock says it did.
	byCat := s.events(t, tr.File)
	span := byCat["Trace"][0]
	for _, k := range byCat["kernel"] {
		if k.start < span.start || k.end > span.end {
			t.Errorf("%s at %d to %d, outside %d to %d", k.name, k.start, k.end, span.start, span.end)
		}
	}
}

// How DTK and ROCm number what a record is, with the kind and the op in each other's place,
// and launches of modules.
func TestRoctracerQuirks(t *testing.T) {
	for _, env := range []string{"FAKEROC_SWAP=1", "FAKEROC_DTK=0", "FAKEROC_MODULE=1"} {
		s, tr, n := recordAlike(t, fakegpu.DCU, "dcu", []string{env}, nil)
		if tr.Events["kernel"] != n.kernels() || tr.Events["memcpy"] != n.Memcpys || tr.Events["memset"] != n.Memsets {
			t.Errorf("%s: events %v, did %+v", env, tr.Events, n)
		}
		for _, k := range s.events(t, tr.File)["gpu_memcpy"] {
			if !strings.HasPrefix(k.name, "Memcpy HtoD") && !strings.HasPrefix(k.name, "Memcpy DtoH") {
				t.Errorf("%s: %s", env, k.name)
			}
		}
	}
	_, tr, n := recordAlike(t, fakegpu.DCU, "dcu", []string{"FAKEROC_SHIFTED=1"}, nil)
	if c := tr.Completeness; tr.Events["kernel"] != 0 || c.Layout != "mismatch" || !diagnosed(c, "layout mismatch") || c.Verdict != timeline.Incomplete || tr.Events["runtime"] == 0 {
		t.Errorf("events %v, did %+v, %+v", tr.Events, n, tr.Completeness)
	}
	_, tr, n = recordAlike(t, fakegpu.DCU, "dcu", []string{"FAKEROC_NULL_NAME_EVERY=2"}, nil)
	if tr.Events["kernel"] != n.kernels() || tr.Completeness.Repaired["unnamed"] != n.kernels()/2 {
		t.Errorf("events %v, repaired %v", tr.Events, tr.Completeness.Repaired)
	}
}

// The category of calls can be asked for.
func TestRuntimeCategory(t *testing.T) {
	s, tr, _ := recordAlike(t, fakegpu.MUSA, "musa", nil, []string{"--runtime-category", "musa_runtime"})
	if byCat := s.events(t, tr.File); len(byCat["musa_runtime"]) == 0 || len(byCat["privateuse1_runtime"]) != 0 {
		t.Errorf("%d and %d calls", len(byCat["musa_runtime"]), len(byCat["privateuse1_runtime"]))
	}
}

// Fields that have moved: one diagnosis, calls, and nothing of the device.
func TestAlikeShifted(t *testing.T) {
	_, tr, _ := recordAlike(t, fakegpu.MetaX, "metax", []string{"FAKEMCPTI_SHIFTED=1"}, nil)
	n := 0
	for _, d := range tr.Completeness.Diagnoses {
		if strings.Contains(d, "layout mismatch") {
			n++
		}
	}
	if c := tr.Completeness; n != 1 || c.Layout != "mismatch" || c.Verdict != timeline.Incomplete || tr.Events["kernel"]+tr.Events["memcpy"]+tr.Events["memset"] != 0 || tr.Events["runtime"] == 0 {
		t.Errorf("%d, events %v, %+v", n, tr.Events, c)
	}
}
