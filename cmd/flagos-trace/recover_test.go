package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// twoRanks runs a workload twice, as two ranks.
const twoRanks = `RANK=0 WORLD_SIZE=2 "$0" --kernels 300 & RANK=1 WORLD_SIZE=2 "$0" --kernels 500 & wait`

func TestRecordRanks(t *testing.T) {
	gpu := fakegpu.Get(t)
	s := recordFake(t, gpu, nil, "sh", "-c", twoRanks, gpu.Workload)
	if s.status != 0 || len(s.summary.Traces) != 2 {
		t.Fatalf("status %d, %+v", s.status, s.summary)
	}
	for _, tr := range s.summary.Traces {
		if tr.Rank == nil || tr.File != "trace_rank"+strconv.Itoa(*tr.Rank)+".json.gz" || tr.Verdict != timeline.Complete {
			t.Errorf("%+v", tr)
		}
		if c := tr.Cost; c == nil || c.Records == 0 || c.SpoolBytes == 0 || c.AgentCPUNS == nil || *c.AgentCPUNS <= 0 {
			t.Errorf("cost: %+v", c)
		}
	}
}

// TestRecordMerged: the rows of both ranks are in one file that keeps the rules
// of viewers.
func TestRecordMerged(t *testing.T) {
	gpu := fakegpu.Get(t)
	bin := testrig.Programs(t)
	dir := t.TempDir()
	cmd := exec.Command(filepath.Join(bin, "flagos-trace"), "record", "--json", "--merge", "-o", "all.json.gz", "--", "sh", "-c", twoRanks, gpu.Workload)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(err, errs.String())
	}
	var sum record.Summary
	if err := json.Unmarshal(errs.Bytes(), &sum); err != nil || sum.Merged == nil || len(sum.Traces) != 2 {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	s := session{dir: dir}
	r := s.read(t, "all.json.gz")
	for _, f := range r.Findings {
		t.Errorf("all.json.gz: %s", f)
	}
	if n, want := uint64(r.Categories["kernel"]), sum.Traces[0].Events["kernel"]+sum.Traces[1].Events["kernel"]; n != want || n == 0 {
		t.Errorf("%d kernels, want %d", n, want)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("files: %v", left)
	}
}

// TestRecoverKilled: all is killed, and what was recorded becomes the traces.
func TestRecoverKilled(t *testing.T) {
	gpu := fakegpu.Get(t)
	r := recordCommand(t, nil, []string{"sh", "-c", `echo $$ > pid; ` + twoRanks + `; echo > done; exec sleep 30`, gpu.Workload})
	for begin := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(r.dir, "done")); err == nil {
			break
		} else if time.Since(begin) > 20*time.Second {
			t.Fatal("the workload does not end")
		}
	}
	flagos := func(args ...string) (int, string) {
		cmd := exec.Command(filepath.Join(r.bin, "flagos-trace"), args...)
		cmd.Dir = r.dir
		out, err := cmd.CombinedOutput()
		if _, exited := err.(*exec.ExitError); err != nil && !exited {
			t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode(), string(out)
	}
	folders, _ := filepath.Glob(filepath.Join(r.dir, ".flagos-trace-*"))
	if len(folders) != 1 {
		t.Fatalf("folders: %v", folders)
	}
	if status, said := flagos("recover", folders[0]); status != exitFailure || !strings.Contains(said, "still runs") {
		t.Errorf("while it records: %d, %s", status, said)
	}
	if err := r.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = r.cmd.Wait() // killed
	text, err := os.ReadFile(filepath.Join(r.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	status, said := flagos("recover", "--remove", "--json", folders[0])
	var sum record.Summary
	if err := json.Unmarshal([]byte(said), &sum); status != exitOK || err != nil || len(sum.Traces) != 2 {
		t.Fatalf("status %d, %v, %s", status, err, said)
	}
	s := session{dir: r.dir}
	for _, tr := range sum.Traces {
		if tr.Verdict != timeline.Complete || filepath.Base(tr.File) != "trace_rank"+strconv.Itoa(*tr.Rank)+".json.gz" {
			t.Errorf("%s: %+v", tr.File, tr.Completeness)
		}
		if n := s.read(t, filepath.Base(tr.File)).Categories["kernel"]; n == 0 {
			t.Errorf("%s has no kernels", tr.File)
		}
	}
	if _, err := os.Stat(folders[0]); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
}

func TestNewUsageErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"recover", "at least 1 arg"},
		{"recover --api some x", "--api some"},
		{"record --json -q -- true", "--json"},
		{"record --kill-after -1s -- true", "--kill-after"},
		{"record --kill-after soon -- true", "--kill-after"},
	} {
		var out, errs bytes.Buffer
		if got := run(strings.Fields(c.line), &out, &errs); got != exitUsage || !strings.Contains(errs.String(), c.want) || out.Len() > 0 {
			t.Errorf("%s: status %d, %q", c.line, got, errs.String())
		}
	}
}
