package record

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
)

// TestProgress: a terminal shows a line while the program runs, nothing of it is
// left, and what the program prints is whole.
func TestProgress(t *testing.T) {
	for _, show := range []bool{true, false} {
		master, tty := pty(t)
		cmd := recorder(t, t.TempDir(), map[string]any{"Terminal": show}, "sh", "-c", "sleep 1.3; echo done >&2")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		begin := time.Now()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		tty.Close()
		var text []byte
		for b := make([]byte, 4096); ; {
			n, err := master.Read(b)
			text = append(text, b[:n]...)
			if err != nil { // EIO: nobody has the other end any more
				break
			}
		}
		if got := status(t, cmd.Wait()); got != 0 {
			t.Errorf("status %d", got)
		}
		took := time.Since(begin)
		drawn := regexp.MustCompile(`\rflagos-trace: [0-9]+s, 0 processes, 0\.0 MB recorded\x1b\[K\r`).FindAllIndex(text, -1)
		if !show {
			if len(drawn) > 0 || bytes.Contains(text, []byte("\x1b")) {
				t.Errorf("there is a line:\n%q", text)
			}
			continue
		}
		if len(drawn) == 0 || len(drawn) > int(took/redraw) {
			t.Fatalf("%d lines in %v:\n%q", len(drawn), took, text)
		}
		rest := text[drawn[len(drawn)-1][1]:]
		wiped := bytes.Index(rest, []byte("\r\x1b[K"))
		if wiped < 0 || bytes.Contains(rest[wiped+4:], []byte("\x1b")) || !bytes.Contains(text, []byte("done\r\n")) || !bytes.Contains(rest[wiped:], []byte("sh exited with 0")) {
			t.Errorf("the line is not gone at the end:\n%q", text)
		}
	}
}

// TestProgressLine: the line counts what is there, and what is lost.
func TestProgressLine(t *testing.T) {
	dir := t.TempDir()
	p := progress{dir: dir, start: time.Now(), open: map[string]*progressSpool{}}
	defer p.close()
	say := func() string { return p.line(p.start.Add(3700 * time.Millisecond)) }
	if got := say(); got != "flagos-trace: 3s, 0 processes, 0.0 MB recorded" {
		t.Error(got)
	}
	path := filepath.Join(dir, "5.1.spool")
	w, err := spool.Create(path, spool.Header{PID: 5})
	if err == nil {
		err = w.Buffer(spool.Buffer{Data: make([]byte, 300_000)})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := say(); got != "flagos-trace: 3s, 1 process, 0.3 MB recorded" {
		t.Error(got)
	}
	for _, n := range []uint64{1, 12} {
		if err := w.Counters(spool.Counters{BuffersDiscarded: n, RecordsDropped: &n}); err != nil {
			t.Fatal(err)
		}
		say()
	}
	if err := leaveSpool(dir, 6, 1, 1); err != nil {
		t.Fatal(err)
	}
	if got := say(); got != "flagos-trace: 3s, 2 processes, 0.3 MB recorded, 12 buffers dropped, 12 records dropped" {
		t.Error(got)
	}
	// A spool of another file, as a new segment is, is read from its beginning.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if w, err = spool.Create(path, spool.Header{PID: 5}); err == nil {
		err = w.Counters(spool.Counters{BuffersDiscarded: 13})
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := say(); !strings.Contains(got, "13 buffers dropped") {
		t.Error(got)
	}
	for columns, want := range map[int]string{0: "", 1: "", 8: "flagos-", 500: "flagos-trace"} {
		if got := cutLine("flagos-trace", columns); got != want {
			t.Errorf("%d columns: %q", columns, got)
		}
	}
}
