package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestLateSpool: a process that begins to record while the trace is written has a
// trace, too.
func TestLateSpool(t *testing.T) {
	dir, spools := t.TempDir(), t.TempDir()
	fifo, summary := filepath.Join(dir, "pipe"), filepath.Join(dir, "summary.json")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Open for writing, too, so that it has no end between two traces.
	pipe, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Skip(err)
	}
	cmd := recorder(t, dir, map[string]any{"Output": fifo, "SpoolDir": spools, "SummaryFile": summary}, os.Args[0], "77x5000")
	cmd.Env = append(cmd.Env, "CHILD_ROLE=spools")
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// With the first byte the folder has been looked through; the rest does not
	// fit into the pipe.
	if _, err := pipe.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	folders, _ := filepath.Glob(filepath.Join(spools, "*"))
	if len(folders) != 1 {
		t.Fatalf("spool folders: %v", folders)
	}
	if err := leaveSpool(folders[0], 78, 1000, 3); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, pipe) }()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	var s Summary
	data, err := os.ReadFile(summary)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Traces) != 2 || s.Traces[1].PID != 78 || s.Traces[1].Events["overhead"] != 3 {
		t.Errorf("traces: %+v", s.Traces)
	}
	if left := names(t, spools); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestLateNames: what comes late takes no name that was given away.
func TestLateNames(t *testing.T) {
	used := map[string]bool{}
	first := outputs("t.json", []spoolFile{{pid: 1, start: 1}}, 7, used)
	second := outputs("t.json", []spoolFile{{pid: 2, start: 1}}, 7, used)
	third := outputs("t.json", []spoolFile{{pid: 2, start: 9}}, 7, used)
	if got := slices.Concat(first, second, third); !slices.Equal(got, []string{"t.json", "t.2.json", "t.2.9.json"}) {
		t.Errorf("%v", got)
	}
}

// TestRemove: no spool that is not in a trace is removed.
func TestRemove(t *testing.T) {
	for _, c := range []struct {
		name  string
		extra string // a file
		size  int64  // of 1.1.spool when it was read
		more  bool
	}{
		{"all known", "", 5, false},
		{"a log", "1.1.flagos-trace.log", 5, false},
		{"a new spool", "2.2.spool", 5, true},
		{"a spool that grew", "", 3, true},
	} {
		dir := filepath.Join(t.TempDir(), "spools")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		one := filepath.Join(dir, "1.1.spool")
		for _, name := range []string{"1.1.spool", c.extra} {
			if name == "" {
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte("spool"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f := &finisher{dir: dir, sizes: map[string]int64{one: c.size}}
		more, err := f.remove()
		if more != c.more || err != nil {
			t.Errorf("%s: %v, %v", c.name, more, err)
		}
		spools, _ := filepath.Glob(filepath.Join(dir, "*.spool"))
		if (len(spools) > 0) != c.more {
			t.Errorf("%s: left %v", c.name, spools)
		}
		if _, err := os.Stat(dir); (err == nil) != c.more {
			t.Errorf("%s: the folder: %v", c.name, err)
		}
	}
}

// TestLeftBehind: a process that may use the device later is told of.
func TestLeftBehind(t *testing.T) {
	dir := t.TempDir()
	cmd := recorder(t, dir, nil, "sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $!")
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	var pid int
	if _, scanErr := fmt.Sscan(string(out), &pid); err != nil || scanErr != nil {
		t.Fatal(err, scanErr, said.String())
	}
	defer func() { _ = unix.Kill(pid, unix.SIGKILL) }()
	if !strings.Contains(said.String(), fmt.Sprintf("process %d ", pid)) || !strings.Contains(said.String(), "left behind") {
		t.Errorf("said:\n%s", said.String())
	}
	// One that has a spool is no such process.
	known := map[string]int64{fmt.Sprintf("/x/%d.1.spool", pid): 1}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		t.Fatal(err)
	}
	folder := lookup(strings.Split(string(stat), "\x00"), envDir)
	if left := leftBehind(folder, nil); len(left) != 1 || left[0].PID != pid {
		t.Errorf("left behind: %v", left)
	}
	if left := leftBehind(folder, known); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestOtherUser: a process of another user leaves no spool, and the folder stays
// private.
func TestOtherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become another user")
	}
	dir := t.TempDir()
	cmd := recorder(t, dir, nil, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
		"sh", "-c", "(: > $FLAGOS_TRACE_DIR/1.1.spool) && echo written; true")
	text, err := cmd.CombinedOutput()
	if strings.Contains(string(text), "setpriv: ") || status(t, err) == ExitNotFound {
		t.Skip(string(text))
	}
	if err != nil || strings.Contains(string(text), "written\n") || !strings.Contains(string(text), "another user") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestFewFiles: a limit of open files that is too low is an error in words.
func TestFewFiles(t *testing.T) {
	for n := 5; n < 32; n++ {
		dir := t.TempDir()
		cmd := recorder(t, dir, nil, "echo", "ran")
		// What the test was started with may be open in it, too.
		shell := "for fd in /proc/$$/fd/*; do n=${fd##*/}; [ $n -gt 2 ] && [ $n -lt 10 ] && eval \"exec $n>&-\"; done; ulimit -n %d && exec \"$0\" \"$@\""
		text, err := under(cmd, fmt.Sprintf(shell, n)).CombinedOutput()
		got := status(t, err)
		switch {
		case strings.Contains(string(text), "goroutine"):
			t.Errorf("limit %d: status %d\n%s", n, got, text)
		case got == 0 && !strings.Contains(string(text), "ran"):
			t.Errorf("limit %d: nothing ran\n%s", n, text)
		case got != 0 && !strings.Contains(string(text), "ulimit -n"):
			t.Errorf("limit %d: status %d\n%s", n, got, text)
		case n == 31 && got != 0, n == 5 && got == 0:
			t.Errorf("limit %d: status %d\n%s", n, got, text)
		}
	}
}

// TestInvalidTextIsTold: texts that were mended are counted in the summary.
func TestInvalidTextIsTold(t *testing.T) {
	name := filepath.Join(t.TempDir(), "t.json.gz")
	tr := &timeline.Trace{Process: timeline.Process{PID: 42, Name: "py\xffthon"}}
	f := &finisher{options: &Options{Output: name}, result: &Result{}}
	if err := f.write(tr, name, spoolFile{pid: 42}); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	mended := uint64(bytes.Count(text, []byte("py\ufffdthon")))
	if mended == 0 || f.result.Summary.Traces[0].InvalidText != mended {
		t.Errorf("%d texts mended, the summary says %d", mended, f.result.Summary.Traces[0].InvalidText)
	}
	var said bytes.Buffer
	if err := f.result.Summary.Print(&said, 0); err != nil {
		t.Fatal(err)
	}
	if want := plural(mended, "texts with bytes that are not UTF-8"); !strings.Contains(said.String(), want) {
		t.Errorf("no %q in:\n%s", want, said.String())
	}
}
