package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestNoRoom: a program in which the agent cannot be started runs as without, and
// the trace and the terminal say why there is nothing in it.
func TestNoRoom(t *testing.T) {
	gpu := fakegpu.Get(t)
	limited := []string{"sh", "-c", `ulimit -v 2000000 && exec "$@"`, "-", gpu.Workload, "--print", "--exit-code", "3"}
	s := recordFake(t, gpu, nil, limited...)
	plain := exec.Command(gpu.Workload, "--print")
	plain.Env = append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...)
	want, err := plain.Output()
	if err != nil {
		t.Fatal(err)
	}
	if s.status != 3 || s.stdout != string(want) {
		t.Errorf("status %d, %q, want %q", s.status, s.stdout, want)
	}
	c := s.only(t).Completeness
	if c.Ended != timeline.EndUnavailable || c.Verdict != timeline.Incomplete || !slices.Equal(c.Missing, []string{spool.LossStart}) ||
		len(c.Diagnoses) != 1 || !strings.Contains(c.Diagnoses[0], "ulimit -v") {
		t.Errorf("%+v", c)
	}

	cmd := exec.Command(filepath.Join(testrig.Programs(t), "flagos-trace"), append([]string{"record", "--"}, limited...)...)
	cmd.Dir, cmd.Env = t.TempDir(), append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 3 {
		t.Error(err)
	}
	for _, text := range []string{"everything: the agent could not be started in the process", "the agent was not started: ", "ulimit -v"} {
		if !strings.Contains(said.String(), text) {
			t.Errorf("no %q in:\n%s", text, said.String())
		}
	}
	if strings.Contains(said.String(), "vendor's library could not be used") {
		t.Errorf("the vendor's library is blamed:\n%s", said.String())
	}
}

// TestOtherPart: without the part that the agent loads nothing is started.
func TestOtherPart(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"flagos-trace", "libflagos_trace.so"} {
		data, err := os.ReadFile(filepath.Join(testrig.Programs(t), name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(dir, "flagos-trace"), "record", "--", "echo", "ran")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 125 || !strings.Contains(string(out), "libflagos_trace_go.so, is not there: install both") || strings.Contains(string(out), "ran\n") {
		t.Errorf("%v\n%s", err, out)
	}
}
