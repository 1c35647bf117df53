package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestPendingCalls has Python told when to look, as the bootstrap is: when the device
// is used, when windows open and close, and when slices are to be cut; in its main
// thread, and in the process that is recorded alone.
func TestPendingCalls(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	gpu := fakegpu.Get(t)
	script, err := filepath.Abs("testdata/pending.py")
	if err != nil {
		t.Fatal(err)
	}
	lib := filepath.Join(testrig.Programs(t), "libflagos_trace.so")
	for _, mode := range []string{"plain", "window", "signal", "child", "grandchild"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "seen.json")
			s := recordQuirk(t, gpu, fakegpu.CUPTI13, nil, []string{"--host-slice", "200ms"},
				python, script, lib, filepath.Join(gpu.Dir, fakegpu.KinetoNow), mode, file)
			if s.status != 0 || s.stderr != "" {
				t.Fatalf("status %d, %s", s.status, s.stderr)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Seen                         []uint32
				Sessions, Cuts, Sets, Caught int
				Main                         bool
			}
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Seen) < 3 || got.Sessions != got.Cuts+1+b2i(mode == "window") || got.Cuts < 2 || got.Cuts > 10 || !got.Main || got.Caught != b2i(mode == "signal") {
				t.Errorf("%+v", got)
			}
			tr := s.only(t)
			// The exception may come between a set and its counting.
			more := tr.Events["memset"] - uint64(got.Sets)
			if tr.Completeness.Verdict != timeline.Complete || more > uint64(got.Caught) {
				t.Errorf("%d sets, want %d; %+v", tr.Events["memset"], got.Sets, tr.Completeness)
			}
		})
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
