package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// orphan records, kills the recorder, and returns the spool folder; the program
// goes on until the file end is there.
func orphan(t *testing.T, dir, end string, args ...string) string {
	t.Helper()
	cmd := recorder(t, dir, map[string]any{"Quiet": true}, append(append([]string{os.Args[0]}, args...), "hold:"+end)...)
	cmd.Env = append(cmd.Env, "CHILD_ROLE=spools")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile(end, nil, 0o600) })
	var spools []string
	for begin := time.Now(); len(spools) < len(args) && time.Since(begin) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
		spools, _ = filepath.Glob(filepath.Join(dir, ".flagos-trace-*", "*.spool"))
	}
	time.Sleep(50 * time.Millisecond) // for the last one to be complete
	if _, err := Recover([]string{filepath.Dir(spools[0])}, RecoverOptions{}); !errors.Is(err, ErrStillRecording) || !strings.Contains(err.Error(), "process ") {
		t.Errorf("while it records: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	return filepath.Dir(spools[0])
}

// TestRecover: what a recorder that was killed leaves becomes the traces that it
// would have written.
func TestRecover(t *testing.T) {
	dir := t.TempDir()
	folder := orphan(t, dir, filepath.Join(t.TempDir(), "end"), "own", "3", "31r0x20")
	var said bytes.Buffer
	r, err := Recover([]string{folder}, RecoverOptions{Options: Options{Log: &said}})
	if err != nil || r.ExitCode != 0 || r.SpoolDir != folder {
		t.Fatalf("%+v, %v", r, err)
	}
	want := []string{filepath.Base(folder), "trace.3.json.gz", "trace.json.gz", "trace_rank0.json.gz"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("files: %v, want %v", got, want)
	}
	for _, tr := range r.Summary.Traces {
		if c := tr.Completeness; c.ExitCode != nil || c.Signal != "" {
			t.Errorf("%s tells an end that nobody saw", tr.File)
		}
	}
	for _, w := range []string{folder, "3 spools", "hold:", "process 31 traced, rank 0", "wrote "} {
		if !strings.Contains(said.String(), w) {
			t.Errorf("%q was not said:\n%s", w, said.String())
		}
	}
	// Traces that are there stay, unless a name is given.
	if _, err := Recover([]string{folder}, RecoverOptions{}); !errors.Is(err, ErrExists) {
		t.Errorf("again: %v", err)
	}
	o := RecoverOptions{Options: Options{Output: filepath.Join(dir, "one.json.gz"), Merge: true}, Remove: true}
	if r, err = Recover([]string{folder}, o); err != nil || r.SpoolDir != "" || r.Summary.Merged == nil {
		t.Errorf("merged: %+v, %v", r, err)
	}
	if got := names(t, dir); !slices.Equal(got, append([]string{"one.json.gz"}, want[1:]...)) {
		t.Errorf("files: %v", got)
	}
}

// TestRecoverRunning: a process that still writes keeps a recording from being
// recovered, unless that is forced; its spool is not removed even then.
func TestRecoverRunning(t *testing.T) {
	dir := t.TempDir()
	if err := leaveSpool(dir, os.Getpid(), startTime(os.Getpid()), 5); err != nil {
		t.Fatal(err)
	}
	o := RecoverOptions{Options: Options{Output: filepath.Join(dir, "t.json")}, Remove: true}
	if _, err := Recover([]string{dir}, o); !errors.Is(err, ErrStillRecording) {
		t.Errorf("%v", err)
	}
	o.Force = true
	r, err := Recover([]string{dir}, o)
	if err != nil || len(r.Summary.Traces) != 1 || r.SpoolDir == "" {
		t.Errorf("%+v, %v", r, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*.spool")); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
}

// TestRecoverSome: single spools can be named; others stay; foreign files are
// refused.
func TestRecoverSome(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	for pid := 5; pid < 8; pid++ {
		if err := leaveSpool(dir, pid, 1, 5); err != nil {
			t.Fatal(err)
		}
	}
	if err := leaveSpool(other, 5, 1, 5); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "9.1.spool"), []byte("a text that is no spool"), 0o600); err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(dir, name) }
	o := RecoverOptions{Options: Options{Output: in("t.json")}, Remove: true}
	r, err := Recover([]string{in("5.1.spool"), in("6.1.spool"), in("5.1.spool")}, o)
	if err != nil || len(r.Summary.Traces) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if got := names(t, dir); !slices.Equal(got, []string{"7.1.spool", "9.1.spool", "t.5.json", "t.6.json"}) {
		t.Errorf("files: %v", got)
	}
	for _, c := range []struct {
		paths []string
		want  error
	}{
		{[]string{in("7.1.spool"), other}, ErrSeveral},
		{[]string{t.TempDir()}, ErrNoSpool},
		{[]string{in("none")}, os.ErrNotExist},
		{[]string{in("9.1.spool")}, nil},
	} {
		r, err := Recover(c.paths, o)
		if err == nil || c.want != nil && !errors.Is(err, c.want) || r.ExitCode == 0 {
			t.Errorf("%v: %v, want %v", c.paths, err, c.want)
		}
	}
}

// TestJSON: the summary is all that is said, and tells what recording took.
func TestJSON(t *testing.T) {
	dir := t.TempDir()
	cmd := recorder(t, dir, map[string]any{"JSON": true, "KeepSpool": true}, os.Args[0], "own", "31r1x1000")
	cmd.Env = append(cmd.Env, "CHILD_ROLE=spools")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || out.Len() > 0 {
		t.Fatalf("%v, %q\n%s", err, out.String(), errs.String())
	}
	var s Summary
	if err := json.Unmarshal(errs.Bytes(), &s); err != nil || strings.Count(errs.String(), "\n") != 1 {
		t.Fatalf("%v:\n%s", err, errs.String())
	}
	if len(s.Traces) != 2 || s.ExitCode == nil || s.SpoolDir == "" {
		t.Errorf("%+v", s)
	}
	var bytes int64
	files, _ := filepath.Glob(filepath.Join(s.SpoolDir, "*.spool"))
	for _, name := range files {
		if st, err := os.Stat(name); err == nil {
			bytes += st.Size()
		}
	}
	if s.Cost == nil || s.Cost.Records != 1001 || s.Cost.SpoolBytes != bytes || s.Cost.AgentCPUNS != nil {
		t.Errorf("cost: %+v, want 1001 records, %d bytes", s.Cost, bytes)
	}
	// In its window of one second.
	if c := s.Traces[0].Cost; s.Traces[0].PID != 31 || c == nil || c.RecordsPerSecond == nil || *c.RecordsPerSecond != 1000 {
		t.Errorf("cost of process 31: %+v", c)
	}
}
