package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// limitFile lets files grow no larger than n bytes, until the test ends or the
// function is called.
func limitFile(t *testing.T, n int64) (lift func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(n), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	lift = sync.OnceFunc(func() { _ = unix.Setrlimit(unix.RLIMIT_FSIZE, &old) })
	t.Cleanup(lift)
	return lift
}

// Stop and Flush are OK only if what they fetched is in the spool.
func TestAnswersOnFullDisk(t *testing.T) {
	a, s, _ := start(t, &fakeBinding{}, nil)
	if c := a.Flush(); c != OK {
		t.Fatalf("Flush: %d", c)
	}
	lift := limitFile(t, 1)
	if c := a.Flush(); c != Failed {
		t.Errorf("Flush on a full disk: %d", c)
	}
	if c := a.Stop(); c != Failed {
		t.Errorf("Stop on a full disk: %d", c)
	}
	lift()
	if c := a.Start(); c != OK {
		t.Errorf("Start with room again: %d", c)
	}
	if c := a.Flush(); c != OK {
		t.Errorf("Flush with room again: %d", c)
	}
	s.exit()
}

// Answers come within the exit timeout, whatever it is.
func TestAnswersInTime(t *testing.T) {
	b := &fakeBinding{}
	a, _, _ := start(t, b, map[string]string{EnvExitTimeout: "50"})
	b.hang.Lock()
	defer b.hang.Unlock()
	begin := time.Now()
	if c := a.Flush(); c != Timeout {
		t.Errorf("Flush: %d", c)
	}
	if d := time.Since(begin); d > 900*time.Millisecond {
		t.Errorf("after %v", d)
	}
}

// Start does not wait for a vendor library that hangs.
func TestStartInTime(t *testing.T) {
	b := &fakeBinding{}
	s := newFakeShim()
	b.shim = s
	b.hang.Lock()
	a := New(s, env(map[string]string{EnvDir: t.TempDir(), EnvExitTimeout: "50"}), "test",
		[]Candidate{{Name: "fake", Open: func(func(string) string) (tracer.Binding, error) { return b, nil }}})
	if c := a.Start(); c != Timeout {
		t.Errorf("Start: %d", c)
	}
	if c := a.Flush(); c != Busy {
		t.Errorf("Flush meanwhile: %d", c)
	}
	b.hang.Unlock()
	if !a.begun.wait(time.Now().Add(10 * time.Second)) {
		t.Fatal("not begun")
	}
	s.exit()
}

// Buffers go back to their owner before ours are asked for again; forced only
// where another profiler may be the owner.
func TestStartHandsBack(t *testing.T) {
	for _, c := range []struct {
		what     string
		before   func(*Agent, *fakeBinding)
		requests uint64
		want     string
	}{
		{"armed", func(*Agent, *fakeBinding) {}, 1, "flush false, arm"},
		{"another profiler's clock", func(_ *Agent, b *fakeBinding) { b.replaced = true }, 1, "flush true, arm"},
		{"stopped", func(a *Agent, _ *fakeBinding) { a.Stop() }, 1, "flush true, arm"},
		{"stopped, of a library that is forced once", func(a *Agent, b *fakeBinding) { b.once = true; a.Stop() }, 1, "flush false, arm"},
		{"driver not up", func(*Agent, *fakeBinding) {}, 0, "arm"},
	} {
		b := &fakeBinding{}
		a, s, _ := start(t, b, nil)
		c.before(a, b)
		s.locked(func() { s.counts.Requested = c.requests })
		b.log(true)
		if code := a.Start(); code != OK {
			t.Errorf("%s: %d", c.what, code)
		}
		got := strings.Join(b.log(true), ", ")
		// A flush of the clock's may come before.
		if !strings.HasSuffix(got, c.want) && !strings.Contains(got, c.want+", flush") || c.requests == 0 && strings.Contains(got, "flush") {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
		s.exit()
	}
}

// The chained library is started once, whoever began.
func TestChainOnce(t *testing.T) {
	lib := chainable(t)
	for _, c := range []struct {
		what  string
		dir   bool
		calls func(a *Agent)
	}{
		{"injected", true, func(a *Agent) { a.Inject() }},
		{"started first", true, func(a *Agent) { a.Start(); a.Inject() }},
		{"twice", true, func(a *Agent) { a.Inject(); a.Inject() }},
		{"nothing to record", false, func(a *Agent) { a.Start(); a.Inject() }},
		{"at once", true, func(a *Agent) {
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(a.Inject)
			}
			wg.Wait()
		}},
	} {
		s := newFakeShim()
		b := &fakeBinding{shim: s}
		vars := map[string]string{EnvChain: lib, EnvExitTimeout: "2000"}
		if c.dir {
			vars[EnvDir] = t.TempDir()
		}
		a := New(s, env(vars), "test", []Candidate{{Name: "fake", Open: func(func(string) string) (tracer.Binding, error) { return b, nil }}})
		c.calls(a)
		if n := s.chains.Load(); n != 1 {
			t.Errorf("%s: started %d times", c.what, n)
		}
		if c.dir {
			s.exit()
		}
	}
}

// chainable is a library with the function a chained one must have.
func chainable(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "chain.c")
	if err := os.WriteFile(src, []byte("int InitializeInjection(void) { return 1; }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "chain.so")
	if msg, err := exec.Command("cc", "-shared", "-fPIC", "-o", out, src).CombinedOutput(); err != nil {
		t.Skipf("no C compiler: %v: %s", err, msg)
	}
	return out
}

// Names wait for room, in bytes, and go out in frames of bounded size.
func TestNamesWait(t *testing.T) {
	w, err := spool.Create(filepath.Join(t.TempDir(), "s"), spool.Header{})
	if err != nil {
		t.Fatal(err)
	}
	f := &spoolFile{w: w, agent: &Agent{}}
	name := strings.Repeat("n", 1000)
	lift := limitFile(t, w.Size())
	kept := 0
	for i := range 20_000 { // 20 MB
		if f.Name(uint64(i), name) {
			kept++
		}
	}
	f.pending()
	if kept < 7000 || kept > 9000 || f.refused != uint64(20_000-kept) {
		t.Errorf("%d kept, %d refused", kept, f.refused)
	}
	lift()
	if f.pending(); len(f.names) != 0 || f.nameBytes != 0 || w.Errors() != 0 {
		t.Errorf("%d names left, %d bytes, %d frames given up", len(f.names), f.nameBytes, w.Errors())
	}
	for i := range 20_000 { // with room there is no bound
		if !f.Name(uint64(i), name) {
			t.Fatalf("name %d was not kept", i)
		}
	}
	f.pending()
	r, err := spool.Open(w.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	names := 0
	for {
		fr, err := r.Next()
		if err != nil {
			break
		}
		if len(fr.Payload) > nameFrame {
			t.Errorf("a frame of %d bytes", len(fr.Payload))
		}
		if fr.Type == spool.TypeNames {
			if err := fr.Names(func(uint64, []byte) { names++ }); err != nil {
				t.Fatal(err)
			}
		}
	}
	if names != kept+20_000 {
		t.Errorf("%d names, want %d", names, kept+20_000)
	}
}

// On a full disk the end is written all the same, and says what is missing.
func TestEndOnFullDisk(t *testing.T) {
	_, s, dir := start(t, &fakeBinding{inspect: func(f tracer.Findings) { f.Name(1, strings.Repeat("n", 300<<10)) }}, nil)
	limitFile(t, 128<<10)
	time.Sleep(300 * time.Millisecond)
	s.exit()
	list, diagnoses := types(t, dir)
	if list[len(list)-1] != spool.TypeEnd || list[len(list)-2] != spool.TypeCounters || !strings.Contains(strings.Join(diagnoses, "\n"), "no room for names") {
		t.Errorf("frames %v, %q", list, diagnoses)
	}
}

// What hangs after the last flush is not blamed on it, and costs little.
func TestHangBehindFlush(t *testing.T) {
	b := &fakeBinding{}
	_, s, dir := start(t, b, map[string]string{EnvExitTimeout: "4000"})
	time.Sleep(150 * time.Millisecond)
	b.hangClock.Lock()
	defer b.hangClock.Unlock()
	begin := time.Now()
	s.exit()
	if d := time.Since(begin); d > 3*time.Second {
		t.Errorf("exit took %v", d)
	}
	if list, d := types(t, dir); len(d) != 0 || list[len(list)-1] != spool.TypeEnd {
		t.Errorf("%v %q", list, d)
	}
}

// A command that makes the flusher panic is answered.
func TestCommandPanics(t *testing.T) {
	a, s, dir := start(t, &fakeBinding{armPanics: true}, nil)
	begin := time.Now()
	if c := a.Start(); c != Failed || time.Since(begin) > time.Second {
		t.Errorf("%d after %v", c, time.Since(begin))
	}
	<-s.done
	if list, d := types(t, dir); list[len(list)-1] != spool.TypeEnd || !strings.Contains(strings.Join(d, "\n"), "internal error of the flusher") {
		t.Errorf("%v %q", list, d)
	}
}

// A writer that panics ends the spool, and the flusher disarms.
func TestWriterPanics(t *testing.T) {
	b := &fakeBinding{inspect: func(tracer.Findings) { panic("as asked") }}
	a, s, dir := start(t, b, nil)
	<-s.done
	for i := 0; s.parked.Load() < 2 && i < 2000; i++ {
		time.Sleep(time.Millisecond)
	}
	if got := strings.Join(b.log(false), ", "); !strings.HasSuffix(got, "disarm") || s.parked.Load() != 2 {
		t.Errorf("calls %s, %d threads parked", got, s.parked.Load())
	}
	list, d := types(t, dir)
	if list[len(list)-1] != spool.TypeEnd || !strings.Contains(strings.Join(d, "\n"), "internal error of the writer") {
		t.Errorf("%v %q", list, d)
	}
	if c := a.Flush(); c != Unavailable {
		t.Errorf("Flush: %d", c)
	}
}

// What is posted to a writer that is stuck is bounded, and counted.
func TestStuckWriter(t *testing.T) {
	a := New(newFakeShim(), env(nil), "test", nil)
	for range maxOutbox + 7 {
		a.post(func(*spoolFile) {})
	}
	if len(a.outbox) != maxOutbox || a.unposted != 7 {
		t.Errorf("%d posted, %d given up", len(a.outbox), a.unposted)
	}
}

// A thread that lives shorter than the time between two scans has its name.
func TestShortThreads(t *testing.T) {
	_, s, dir := start(t, &fakeBinding{}, nil)
	time.Sleep(1100 * time.Millisecond) // a scan has just been
	libc, ok := dl.Loaded("libpthread.so.0", "libc.so.6")
	if !ok {
		t.Skip("no C library to make a thread with")
	}
	before, _ := taskIDs()
	var handle [2]uint64
	if r := dl.Call(libc.Func("pthread_create"), uintptr(unsafe.Pointer(&handle)), 0, libc.Func("usleep"), 450_000); r != 0 {
		t.Fatal("pthread_create:", r)
	}
	after, _ := taskIDs()
	id := 0
	for _, tid := range after {
		if !slices.Contains(before, tid) {
			id = tid
		}
	}
	dl.Call(libc.Func("pthread_join"), uintptr(handle[0]), 0)
	time.Sleep(50 * time.Millisecond)
	s.exit()
	files, _ := filepath.Glob(dir + "/*.spool")
	r, err := spool.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if err != nil {
			t.Fatalf("thread %d has no name: %v", id, err)
		}
		if f.Type == spool.TypeThread {
			if th, err := f.Thread(); err == nil && th.TID == id && th.Name != "" {
				return
			}
		}
	}
}

// Nothing of the library's is asked before the driver is up.
func TestNothingAskedTooEarly(t *testing.T) {
	b := &fakeBinding{}
	_, s, _ := start(t, b, nil)
	s.locked(func() { s.counts.Requested = 0 })
	b.log(true)
	time.Sleep(1300 * time.Millisecond)
	if got := b.log(false); len(got) != 0 {
		t.Errorf("asked: %q", got)
	}
	s.exit()
}

func TestWatch(t *testing.T) {
	s := newFakeShim()
	a := New(s, env(nil), "test", nil)
	a.state.Store(running)
	w := sampler{agent: a}
	for i := range uint64(2 * dryLimit) {
		s.locked(func() { s.counts = Counts{Requested: 64 + i, Delivered: 5, Discarded: i} })
		w.watch()
	}
	if len(a.outbox) != 1 {
		t.Errorf("%d messages of buffers that stay away", len(a.outbox))
	}
	for range 3 {
		s.locked(func() { s.counts.Foreign++ })
		w.watch()
	}
	if len(a.outbox) != 2 {
		t.Errorf("%d messages, with those of foreign buffers", len(a.outbox))
	}
}

// Buffers that were not ours are told of however soon the program ends.
func TestForeignAtTheEnd(t *testing.T) {
	dir, s := t.TempDir(), newFakeShim()
	s.counts = Counts{Requested: 1, Delivered: 1, Foreign: 1}
	open := func(func(string) string) (tracer.Binding, error) { return &fakeBinding{shim: s}, nil }
	New(s, env(map[string]string{EnvDir: dir, EnvExitTimeout: "5000"}), "test", []Candidate{{Name: "fake", Open: open}}).Inject()
	s.exit()
	files, _ := filepath.Glob(dir + "/*.spool")
	if len(files) != 1 {
		t.Fatalf("spools: %v", files)
	}
	data, err := os.ReadFile(files[0])
	if err != nil || strings.Count(string(data), "buffers that this recording had not given it") != 1 {
		t.Errorf("%v, %q", err, data)
	}
}
