package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// otherClock counts from the machine's start, as another profiler's clock does.
const otherClock = `#include <time.h>
unsigned long long other_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
`

// replaceClock does the same work twice, and in between gives the library
// another clock.
const replaceClock = `import argparse, ctypes, sys, time
sys.path.insert(0, sys.argv[1])
import workload
def work(kernels):
    return workload.train(argparse.Namespace(kernels=kernels, threads=1, streams=2, graphs=1, step_sleep_ms=0, counts=sys.argv[3]))
gpu = work(%d)
time.sleep(0.5)
other = ctypes.CDLL(sys.argv[2])
gpu.cupti.cuptiActivityRegisterTimestampCallback(ctypes.cast(other.other_clock, ctypes.c_void_p))
work(%d)
time.sleep(1.5)
`

// TestClockReplaced: another profiler in the process replaces the library's
// clock half way. Each half is placed by its own clock, and the trace says that
// something may have been lost.
func TestClockReplaced(t *testing.T) {
	gpu := fakegpu.Get(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	source, library, script := filepath.Join(dir, "other.c"), filepath.Join(dir, "other.so"), filepath.Join(dir, "script.py")
	const first, second = 36, 54
	for name, text := range map[string]string{source: otherClock, script: fmt.Sprintf(replaceClock, first, second)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	s := recordFake(t, gpu, nil, python, script, filepath.Dir(gpu.WorkloadPy), library, filepath.Join(dir, "counts.json"))
	if s.status != 0 {
		t.Fatalf("status %d: %s", s.status, s.stderr)
	}
	tr := s.only(t)
	rec := tr.Completeness
	const graphs = 2 * 4 // one launch of four kernels in each half
	if tr.Events["kernel"] != first+second+graphs || rec.Dropped[timeline.DropOtherClock] != 0 || rec.Dropped[timeline.DropOutOfWindow] != 0 {
		t.Errorf("%d kernels, want %d; dropped %v", tr.Events["kernel"], first+second+graphs, rec.Dropped)
	}
	if rec.Clock.Source != timeline.ClockMixed || tr.Verdict != timeline.Incomplete || len(rec.Missing) != 1 || rec.Missing[0] != "clock_replaced" {
		t.Errorf("clock %+v, verdict %s, missing %q", rec.Clock, tr.Verdict, rec.Missing)
	}
	if all := strings.Join(rec.Diagnoses, "\n"); !strings.Contains(all, "clock jumped") || !strings.Contains(all, "each is placed by its own") {
		t.Errorf("diagnoses %q", rec.Diagnoses)
	}
}
