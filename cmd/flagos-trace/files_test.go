package main

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// spans is a trace of n spans in a row.
func spans(n int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"baseTimeNanoseconds": 1790857026000000000, "traceEvents": [`)
	for i := range n {
		fmt.Fprintf(&b, `{"ph": "X", "cat": "cpu_op", "name": "op%d", "pid": 7, "tid": 7, "ts": %d.000, "dur": 1.500, "args": {"n": %d}},`+"\n", i%100, 2*i, i)
	}
	b.WriteString(`{"ph": "M", "name": "process_labels", "pid": 7, "tid": 0, "ts": 0, "args": {"labels": "CPU"}}]}`)
	return b.Bytes()
}

// TestInterruptedWriters: an interrupt leaves nothing half written of what is made of
// traces, and what was there before.
func TestInterruptedWriters(t *testing.T) {
	bin := filepath.Join(testrig.Programs(t), "flagos-trace")
	for _, args := range [][]string{{"cat"}, {"repair"}, {"cut", "--from", "1us"}, {"merge", "--align", "none"}} {
		done := false
		// Whether the signal comes in time depends on the machine.
		for n := 50_000; n <= 800_000 && !done; n *= 4 {
			dir := t.TempDir()
			in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out.json.gz")
			for name, text := range map[string][]byte{in: spans(n), out: []byte("old")} {
				if err := os.WriteFile(name, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			done = interrupted(t, exec.Command(bin, append(args, in, "-o", out)...), dir)
			if !done {
				continue
			}
			if text, err := os.ReadFile(out); err != nil || string(text) != "old" {
				t.Errorf("%s: %d bytes in place of the old file, %v", args[0], len(text), err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
				t.Errorf("%s: left over: %v, %v", args[0], left, err)
			}
		}
		if !done {
			t.Errorf("%s could not be interrupted in time", args[0])
		}
	}
}

// interrupted runs a command and interrupts it when it writes. It reports whether that
// was in time.
func interrupted(t *testing.T, cmd *exec.Cmd, dir string) bool {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() { _ = cmd.Wait(); close(exited) }()
	for alive := true; alive; {
		select {
		case <-exited:
			alive = false
		case <-time.After(time.Millisecond):
			if found, _ := filepath.Glob(filepath.Join(dir, "*.tmp")); len(found) > 0 {
				_ = cmd.Process.Signal(unix.SIGINT) // it may have ended
			}
		}
	}
	switch got := cmd.ProcessState.ExitCode(); {
	case got == 0:
		return false
	case got != 128+int(unix.SIGINT) || !strings.Contains(said.String(), "SIGINT"):
		t.Errorf("%v: status %d; said:\n%s", cmd.Args, got, said.String())
	}
	return true
}

// TestInterruptedReaders: the same of what is made of traces when all were read.
func TestInterruptedReaders(t *testing.T) {
	bin := filepath.Join(testrig.Programs(t), "flagos-trace")
	for _, name := range []string{"pprof", "report"} {
		dir := t.TempDir()
		in, out := filepath.Join(dir, "in.json"), filepath.Join(dir, "out")
		if err := unix.Mkfifo(in, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cmd := exec.Command(bin, name, in, "-o", out)
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pipe, err := os.OpenFile(in, os.O_WRONLY, 0) // waits for the command to read
		if err != nil {
			t.Fatal(err)
		}
		pipe.WriteString(`{"traceEvents":[`)
		if err := cmd.Process.Signal(unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		err = cmd.Wait()
		pipe.Close()
		if got := cmd.ProcessState.ExitCode(); got != 128+int(unix.SIGINT) || !strings.Contains(said.String(), "SIGINT") {
			t.Errorf("%s: status %d, %v: %s", name, got, err, said.String())
		}
		if text, err := os.ReadFile(out); err != nil || string(text) != "old" {
			t.Errorf("%s: %q in place of the old file, %v", name, text, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
			t.Errorf("%s: left over: %v, %v", name, left, err)
		}
	}
}

// TestOddFiles: what a shell, or a damaged file, may give.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for name, text := range map[string][]byte{"rank0.json": spans(2), "rank1.json": nil} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(text)
	}
	z.Close()
	whole := file("whole.json", spans(2))
	half := file("half.zip", archive.Bytes())
	forged := file("forged.json", bytes.Replace(spans(2), []byte("{"), []byte(`{"flagosMerge": [{"label": 1}], `), 1))
	out := filepath.Join(dir, "out.json")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no name to write to", []string{"cat", whole, "-o", ""}, exitUsage, "-o names no file"},
		{"no name to write to", []string{"repair", whole, "-o", ""}, exitUsage, "-o names no file"},
		{"no name to write to", []string{"cut", whole, "--from", "start", "-o", ""}, exitUsage, "-o names no file"},
		{"no name to write to", []string{"merge", whole, "-o", ""}, exitUsage, "-o names no file"},
		{"standard input twice", []string{"merge", "-", "-", "-o", out}, exitUsage, "can be read once"},
		{"standard input twice", []string{"ranks", "-", whole, "-"}, exitUsage, "can be read once"},
		{"standard input twice", []string{"validate", "-", "-"}, exitUsage, "can be read once"},
		{"a device that no trace has", []string{"cut", whole, "--device", "4294967296", "-o", out}, exitUsage, "--device is 4294967296"},
		{"a stream that no trace has", []string{"cut", whole, "--stream", "4294967303", "-o", out}, exitUsage, "--stream is 4294967303"},
		{"rules that are none", []string{"cat", whole, "--rules", half, "-o", out}, exitUsage, "bad rules"},
		{"rules that are none", []string{"cut", whole, "--from", "start", "--rules", half, "-o", out}, exitUsage, "bad rules"},
		{"text cannot be skipped", []string{"repair", whole, "--skip", "text", "-o", out}, exitUsage, "in any case"},
		{"the whole member of a damaged archive", []string{"cat", half, "--member", "rank0.json", "-o", out}, exitOK, "2 events read"},
		{"the damaged one", []string{"cat", half, "--member", "rank1.json", "-o", out}, exitUsage, "rank1.json"},
		{"a member that is not there", []string{"cat", half, "--member", "rank2.json", "-o", out}, exitUsage, `no trace "rank2.json"`},
		{"a record of a merge without parts", []string{"merge", forged, forged, "-o", out}, exitOK, "2 traces"},
		{"one trace three times", []string{"merge", whole, whole, whole, "-o", out}, exitOK, "3 traces"},
	} {
		os.Remove(out)
		var stdout, stderr bytes.Buffer
		status := run(c.args, &stdout, &stderr)
		if status != c.status || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: %v: status %d, %s", c.name, c.args, status, stderr.String())
		}
		if _, err := os.Stat(out); err == nil && status != exitOK {
			t.Errorf("%s: %v: a file was left", c.name, c.args)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 4 {
		t.Errorf("left over: %v, %v", left, err)
	}
	// Three of one name have three labels.
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{`whole.json CPU`, `whole.json (whole.json) CPU`, `whole.json (whole.json, 2) CPU`} {
		if n := bytes.Count(text, []byte(`"labels": "`+label+`"`)); n != 1 {
			t.Errorf("label %q %d times", label, n)
		}
	}
}
