package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

func TestConfig(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		want  func(*config)
		notes int
	}{
		{nil, func(*config) {}, 0},
		{map[string]string{EnvAPI: "all", EnvSync: "0", EnvDebug: "debug", EnvChain: "x"}, func(c *config) {
			c.options.API, c.options.Sync, c.debug, c.chain = tracer.APIAll, false, true, "x"
		}, 0},
		{map[string]string{EnvAPI: "some", EnvSync: "maybe", EnvBuffers: "-1", EnvExitTimeout: "soon"}, func(*config) {}, 4},
		{map[string]string{EnvBufferSize: "100000", EnvBuffers: "3", EnvExitTimeout: "0"}, func(c *config) {
			c.bufferSize, c.buffers, c.exitTimeout = 98304, 3, 0
		}, 0},
		{map[string]string{EnvBufferSize: "1"}, func(*config) {}, 1},
	} {
		want := config{
			options: tracer.Options{API: tracer.APIKineto, Sync: true, Overhead: true},
			temp:    "/tmp", exitTimeout: 5 * time.Second, flushEvery: flushEvery, bufferSize: 256 << 10, buffers: 512,
		}
		c.want(&want)
		got := configFrom(env(c.env))
		if len(got.notes) != c.notes {
			t.Errorf("%v: notes %q", c.env, got.notes)
		}
		if got.notes = nil; !reflect.DeepEqual(got, want) {
			t.Errorf("%v:\ngot  %+v\nwant %+v", c.env, got, want)
		}
	}
}

func TestStartTime(t *testing.T) {
	for stat, want := range map[string]string{
		"12 (a) b (c d) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20": "4711",
		"12 (python3) S 1 2":                  "",
		"nonsense":                            "",
		"1 (x) S " + strings.Repeat("y ", 30): "",
	} {
		if got, ok := startTime(stat); got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", stat, got, ok, want)
		}
	}
	if p := readProcess(env(map[string]string{"RANK": "3"})); p.start == "0" || p.pid != os.Getpid() || p.name == "" || p.env["RANK"] != "3" {
		t.Errorf("%+v", p)
	}
}

// An exec'd program has pid and start time in common with the one before it.
func TestSpoolNames(t *testing.T) {
	dir := t.TempDir()
	p := process{pid: 7, start: "9"}
	for _, want := range []string{"7.9.spool", "7.9.1.spool", "7.9.2.spool"} {
		w, err := createSpool(dir, p, spool.Header{})
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Base(w.Path()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		w.Close()
	}
	if _, err := createSpool(filepath.Join(dir, "none"), p, spool.Header{}); err == nil {
		t.Error("spool in a missing directory")
	}
}

// fakeShim is the C side without C.
type fakeShim struct {
	mu      sync.Mutex
	queue   []Block
	counts  Counts
	exiting bool
	done    chan struct{}
	once    sync.Once
	wakes   [2]chan struct{}
	parked  atomic.Int32 // threads
	chains  atomic.Int32 // calls
}

func newFakeShim() *fakeShim {
	return &fakeShim{done: make(chan struct{}), wakes: [2]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1)}}
}

func (s *fakeShim) RequestFunc() uintptr              { return 1 }
func (s *fakeShim) CompleteFunc() uintptr             { return 1 }
func (s *fakeShim) SetPushPop(uintptr, uintptr)       {}
func (s *fakeShim) Warm()                             {}
func (s *fakeShim) Open(int, int, time.Duration) bool { return true }
func (s *fakeShim) SetActive(bool)                    {}
func (s *fakeShim) SetForced(bool)                    {}
func (s *fakeShim) Release(Block)                     {}
func (s *fakeShim) ExitDone()                         { s.once.Do(func() { close(s.done) }) }
func (s *fakeShim) Quiet(string)                      {}
func (s *fakeShim) EnterVendor()                      {}
func (s *fakeShim) LeaveVendor()                      {}
func (s *fakeShim) RegisterExit()                     {}
func (s *fakeShim) Spare() []int                      { return nil }
func (s *fakeShim) Marked() bool                      { return false }
func (s *fakeShim) Park()                             { s.parked.Add(1) }
func (s *fakeShim) Chain(fn uintptr) int32            { s.chains.Add(1); return int32(dl.Call(fn)) }
func (s *fakeShim) Clock() spool.Clock                { return spool.Clock{Realtime: time.Now().UnixNano()} }
func (s *fakeShim) locked(fn func())                  { s.mu.Lock(); defer s.mu.Unlock(); fn() }
func (s *fakeShim) Exiting() (e bool)                 { s.locked(func() { e = s.exiting }); return }
func (s *fakeShim) Counts() (c Counts)                { s.locked(func() { c = s.counts }); return }

func (s *fakeShim) Take() (b Block, ok bool) {
	s.locked(func() {
		if ok = len(s.queue) > 0; ok {
			b, s.queue = s.queue[0], s.queue[1:]
		}
	})
	return b, ok
}

func (s *fakeShim) Wait(w Waiter, d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); { // without a timer, see latch
		select {
		case <-s.wakes[w]:
			return
		default:
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e6}, nil)
		}
	}
}

func (s *fakeShim) Wake(w Waiter) {
	select {
	case s.wakes[w] <- struct{}{}:
	default:
	}
}

func (s *fakeShim) exit() {
	s.locked(func() { s.exiting = true })
	s.Wake(Flusher)
	s.Wake(Writer)
	<-s.done
}

// fakeBinding delivers one buffer a flush.
type fakeBinding struct {
	shim    *fakeShim
	armErr  error
	panics  bool
	inspect func(tracer.Findings)
	n       uint64

	hang, hangClock sync.Mutex // held by a test, they hold up arming and flushing, and the clock
	replaced        bool       // the clock, by another profiler
	once            bool       // a second forced flush may not come back
	armPanics       bool       // not the first time
	mu              sync.Mutex
	calls           []string
}

func (b *fakeBinding) called(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, what)
}

// log returns the calls so far, and forgets them if asked to.
func (b *fakeBinding) log(forget bool) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := append([]string{}, b.calls...)
	if forget {
		b.calls = nil
	}
	return list
}

func (b *fakeBinding) ClockReplaced() bool { return b.replaced }
func (b *fakeBinding) ForcedOnce() bool    { return b.once }

func (b *fakeBinding) Arm(tracer.Shim, tracer.Options) error {
	b.hang.Lock()
	defer b.hang.Unlock()
	if b.called("arm"); b.armPanics && len(b.log(false)) > 1 {
		panic("as asked")
	}
	return b.armErr
}

func (b *fakeBinding) Disarm() error { b.called("disarm"); return nil }

func (b *fakeBinding) Now() (uint64, bool) {
	b.hangClock.Lock()
	defer b.hangClock.Unlock()
	b.called("clock")
	return uint64(time.Now().UnixNano()), true
}

func (b *fakeBinding) Info() tracer.BindingInfo          { return tracer.BindingInfo{Tracer: "fake"} }
func (b *fakeBinding) Dropped() (uint64, bool)           { return 2, true }
func (b *fakeBinding) Devices() ([]tracer.Device, error) { return nil, errors.New("too early") }

func (b *fakeBinding) Flush(force bool) error {
	if b.panics {
		panic("as asked")
	}
	b.hang.Lock()
	defer b.hang.Unlock()
	b.called(fmt.Sprintf("flush %v", force))
	b.shim.locked(func() {
		b.n++
		b.shim.queue = append(b.shim.queue, Block{Buffer: spool.Buffer{Sequence: b.n, Forced: force, Data: []byte{1, 2, 3, 4}}})
	})
	b.shim.Wake(Writer)
	return nil
}

func (b *fakeBinding) Inspect(_ []byte, f tracer.Findings) error {
	if b.inspect != nil {
		b.inspect(f)
	}
	return nil
}

func start(t *testing.T, b *fakeBinding, extra map[string]string) (*Agent, *fakeShim, string) {
	t.Helper()
	dir, s := t.TempDir(), newFakeShim()
	s.counts.Requested = 1
	b.shim = s
	vars := map[string]string{EnvDir: dir, EnvExitTimeout: "2000"}
	for k, v := range extra {
		vars[k] = v
	}
	a := New(s, env(vars), "test", []Candidate{{Name: "fake", Open: func(func(string) string) (tracer.Binding, error) { return b, nil }}})
	a.Inject()
	return a, s, dir
}

// types lists the types of the frames of the only spool in dir.
func types(t *testing.T, dir string) (list []spool.Type, diagnoses []string) {
	t.Helper()
	files, _ := filepath.Glob(dir + "/*.spool")
	if len(files) != 1 {
		t.Fatalf("spools: %v", files)
	}
	r, err := spool.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if err == io.EOF {
			return list, diagnoses
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == spool.TypeDiagnosis {
			diagnoses = append(diagnoses, string(f.Payload))
		}
		list = append(list, f.Type)
	}
}

// What describes a buffer stands before it, and the end behind everything.
func TestOrderOfFrames(t *testing.T) {
	once := false
	_, s, dir := start(t, &fakeBinding{inspect: func(f tracer.Findings) {
		if !once {
			once = true
			f.Diagnose("look")
			f.Diagnose("look")
			f.Name(1, "n")
			f.CallbackName(1, 2, "c")
			f.Stride(10, 216)
			f.Offsets([]uint32{0})
		}
	}}, nil)
	s.exit()
	list, diagnoses := types(t, dir)
	var order []spool.Type
	for _, ty := range list {
		switch ty {
		case spool.TypeStride, spool.TypeNames, spool.TypeCallbackName, spool.TypeOffsets, spool.TypeBuffer, spool.TypeEnd, spool.TypeHeader:
			if len(order) < 7 || ty == spool.TypeEnd {
				order = append(order, ty)
			}
		}
	}
	want := []spool.Type{spool.TypeHeader, spool.TypeStride, spool.TypeCallbackName, spool.TypeNames, spool.TypeOffsets, spool.TypeBuffer, spool.TypeEnd}
	if !reflect.DeepEqual(order, want) || list[len(list)-1] != spool.TypeEnd {
		t.Errorf("order %v, want %v (all: %v)", order, want, list)
	}
	if len(diagnoses) != 1 {
		t.Errorf("diagnoses %q", diagnoses)
	}
}

func TestArmFails(t *testing.T) {
	a, s, dir := start(t, &fakeBinding{armErr: errors.New("no device here")}, nil)
	<-s.done // exit does not wait
	if list, d := types(t, dir); len(d) != 1 || !strings.Contains(d[0], "fake: no device here") || list[len(list)-1] != spool.TypeEnd {
		t.Errorf("%v %q", list, d)
	}
	if c := a.Start(); c != Unavailable {
		t.Errorf("Start: %d", c)
	}
}

// A panic of ours ends the recording, not the program.
func TestPanic(t *testing.T) {
	a, s, _ := start(t, &fakeBinding{panics: true}, nil)
	select {
	case <-s.done:
	case <-time.After(10 * time.Second):
		t.Fatal("exit would wait")
	}
	if c := a.Flush(); c != Unavailable {
		t.Errorf("Flush: %d", c)
	}
}

func TestNothingToDo(t *testing.T) {
	a, _, dir := start(t, &fakeBinding{}, map[string]string{EnvDir: ""})
	if a.Start() != Inactive || a.Stop() != Inactive || a.Flush() != Inactive {
		t.Error("not inactive")
	}
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("files: %v", files)
	}
}

// Stop answers when the records it fetched are in the spool.
func TestStopWaitsForTheSpool(t *testing.T) {
	a, s, dir := start(t, &fakeBinding{}, nil)
	if a.Start() != OK || a.Stop() != OK {
		t.Fatal("Start or Stop failed")
	}
	list, _ := types(t, dir)
	last := map[spool.Type]int{}
	for i, ty := range list {
		last[ty] = i
	}
	if last[spool.TypeBuffer] == 0 || last[spool.TypeWindow] < last[spool.TypeBuffer] {
		t.Errorf("frames %v", list)
	}
	s.exit()
}
