package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// interrupt sends SIGTERM to a recorder from the moment a file of that pattern
// exists until it has ended, and returns its status and what it said.
func interrupt(t *testing.T, cmd *exec.Cmd, pattern string) (int, string) {
	t.Helper()
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	due := false
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		select {
		case err := <-exited:
			return status(t, err), said.String()
		case <-time.After(2 * time.Millisecond):
		}
		if !due {
			found, _ := filepath.Glob(pattern)
			due = len(found) > 0
			if due && filepath.Ext(pattern) == ".tmp" {
				// An empty one is made before the program starts, as a trial.
				st, err := os.Stat(found[0])
				due = err == nil && st.Size() > 0
			}
		}
		if due {
			_ = cmd.Process.Signal(unix.SIGTERM) // it may have ended
		}
	}
	_ = cmd.Process.Kill()
	t.Fatal("the recorder does not end")
	return 0, ""
}

// TestInterruptedFile: a recorder that is interrupted while it writes a trace
// leaves nothing of it, nor harms the one that was there, and keeps the data.
func TestInterruptedFile(t *testing.T) {
	// Whether the signal comes in time depends on the machine: if the recorder
	// was done before, there has to be more to write.
	for _, records := range []string{"300000", "1200000", "4800000"} {
		dir, spools := t.TempDir(), t.TempDir()
		output := filepath.Join(dir, "trace.json.gz")
		if err := os.WriteFile(output, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := recorder(t, dir, map[string]any{"SpoolDir": spools}, os.Args[0], "77x"+records)
		cmd.Env = append(cmd.Env, "CHILD_ROLE=spools")
		got, said := interrupt(t, cmd, filepath.Join(dir, "*.tmp"))
		if got == 0 {
			continue
		}
		if data, _ := os.ReadFile(output); string(data) != "old" {
			// All was written when the signal came, or it is a defect.
			if z, err := gzip.NewReader(bytes.NewReader(data)); err != nil {
				t.Errorf("the earlier trace is now %d bytes: %v", len(data), err)
			} else if text, err := io.ReadAll(z); err != nil || !json.Valid(text) {
				t.Errorf("the earlier trace is now %d bytes, no whole trace: %v", len(data), err)
			}
			continue
		}
		if got != 128+int(unix.SIGTERM) {
			t.Errorf("status %d", got)
		}
		if left := names(t, dir); !slices.Equal(left, []string{"trace.json.gz"}) {
			t.Errorf("left over: %v", left)
		}
		kept, _ := filepath.Glob(filepath.Join(spools, "*", "77.1000.spool"))
		if len(kept) != 1 || !strings.Contains(said, filepath.Dir(kept[0])) || !strings.Contains(said, "SIGTERM") {
			t.Fatalf("kept %v; said:\n%s", kept, said)
		}
		// As the message advises.
		r, err := FromSpool(filepath.Dir(kept[0]), Options{Output: output})
		if err != nil || len(r.Summary.Traces) != 1 {
			t.Errorf("from the spool: %+v, %v", r, err)
		}
		return
	}
	t.Fatal("no recorder could be interrupted in time")
}

// TestInterruptedWriting: a signal ends the recorder while it writes, and the
// data stays.
func TestInterruptedWriting(t *testing.T) {
	dir := t.TempDir()
	fifo, spools := filepath.Join(dir, "pipe"), filepath.Join(dir, "spools")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(spools, 0o700); err != nil {
		t.Fatal(err)
	}
	// Nobody reads the pipe, so writing the trace takes for ever.
	cmd := recorder(t, dir, map[string]any{"Output": fifo, "SpoolDir": spools}, os.Args[0], "77")
	cmd.Env = append(cmd.Env, "CHILD_ROLE=spools")
	// The recorder takes signals once it has started the program.
	got, said := interrupt(t, cmd, filepath.Join(spools, "*", "*.spool"))
	if got != 128+int(unix.SIGTERM) {
		t.Errorf("status %d", got)
	}
	kept, _ := filepath.Glob(filepath.Join(spools, "*", "77.1000.spool"))
	if len(kept) != 1 || !strings.Contains(said, filepath.Dir(kept[0])) {
		t.Errorf("kept %v; said:\n%s", kept, said)
	}
}

// TestInterruptedEmpty: where nothing was recorded an interrupt leaves nothing.
func TestInterruptedEmpty(t *testing.T) {
	dir, spools := t.TempDir(), t.TempDir()
	fifo := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Nobody reads the pipe, so writing the trace takes for ever.
	cmd := recorder(t, dir, map[string]any{"Output": fifo, "SpoolDir": spools}, "touch", "ran")
	got, said := interrupt(t, cmd, filepath.Join(dir, "ran"))
	if got != 128+int(unix.SIGTERM) || !strings.Contains(said, "nothing was recorded") {
		t.Errorf("status %d; said:\n%s", got, said)
	}
	if left := names(t, spools); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
