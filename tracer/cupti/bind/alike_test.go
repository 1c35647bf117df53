package bind_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	metax "github.com/flagos-ai/flagos-trace/tracer/metax/bind"
	musa "github.com/flagos-ai/flagos-trace/tracer/musa/bind"
	ppu "github.com/flagos-ai/flagos-trace/tracer/ppu/bind"
	"golang.org/x/sys/unix"
)

// Tests of the dialects against look-alikes of the vendors' libraries. Each runs in a
// process of its own, which says what the recorder would find in a spool.

var vendors = map[string]struct {
	dialect *bind.Dialect
	alike   fakegpu.Alike
}{
	"musa": {&musa.Dialect, fakegpu.MUSA}, "metax": {&metax.Dialect, fakegpu.MetaX}, "ppu": {&ppu.Dialect, fakegpu.PPU},
}

// job is what the process is to do.
type job struct {
	Vendor, Runtime  string
	Rounds, Launches int
	Windows          int           // with a Disarm after each
	FlushLimit       time.Duration // in place of the dialect's
	NameInside       bool          // asks for a name while a buffer is handed over
	Stolen           bool          // another one registers its functions between windows
	Unread           bool          // of the buffers the first alone is looked at before the end
}

// told is what came of it.
type told struct {
	Info      tracer.BindingInfo
	Requested []string
	Notes     []string
	Buffers   []toldBuffer
	Errors    []string
	Foreign   int
	Offset    int64 // of the library's clock to CLOCK_MONOTONIC, ns
	Took      time.Duration
	Mapped    bool // the library still is, at the end
}

// toldBuffer is a buffer and what was told before it.
type toldBuffer struct {
	Data    []byte
	Offsets []uint32
	HasOffs bool
	Names   map[uint64]string
	Strides map[uint32]uint32
	Calls   []toldCall
	Forced  bool
}

type toldCall struct {
	Domain, ID uint32
	Name       string
}

func (b *toldBuffer) Name(p uint64, n string) bool { b.Names[p] = n; return true }
func (b *toldBuffer) Stride(k, n uint32)           { b.Strides[k] = n }
func (b *toldBuffer) CallbackName(domain, id uint32, n string) {
	b.Calls = append(b.Calls, toldCall{domain, id, n})
}
func (b *toldBuffer) Offsets_(o []uint32) { b.Offsets, b.HasOffs = slices.Clone(o), true }

// finder is a toldBuffer as tracer.Findings.
type finder struct {
	*toldBuffer
	t *told
}

func (f finder) Offsets(o []uint32) { f.Offsets_(o) }
func (f finder) Diagnose(s string)  { f.t.Notes = append(f.t.Notes, s) }

func TestMain(m *testing.M) {
	if s := os.Getenv("FT_ALIKE_JOB"); s != "" {
		var j job
		if err := json.Unmarshal([]byte(s), &j); err != nil {
			panic(err)
		}
		_ = json.NewEncoder(os.Stdout).Encode(j.run())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childShim hands out buffers and takes them back.
type childShim struct {
	mu       sync.Mutex
	given    map[uintptr][]byte
	done     [][]byte
	foreign  int
	during   func() // called while a buffer is handed over
	push     uintptr
	pop      uintptr
	req, com uintptr
}

const bufferBytes = 8192

func newChildShim() *childShim {
	s := &childShim{given: map[uintptr][]byte{}}
	s.req = purego.NewCallback(func(buffer *uintptr, size, _ *uintptr) {
		m, err := unix.Mmap(-1, 0, bufferBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		at := uintptr(unsafe.Pointer(&m[0]))
		s.given[at] = m
		*buffer, *size = at, bufferBytes
	})
	s.com = purego.NewCallback(func(_, _, buffer, _, valid uintptr) {
		if s.during != nil {
			s.during()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		m, ok := s.given[buffer]
		if !ok {
			s.foreign++
			return
		}
		s.done = append(s.done, m[:valid])
	})
	return s
}

func (s *childShim) RequestFunc() uintptr         { return s.req }
func (s *childShim) CompleteFunc() uintptr        { return s.com }
func (s *childShim) SetPushPop(push, pop uintptr) { s.push, s.pop = push, pop }

func (s *childShim) take() (list [][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, s.done = s.done, nil
	return list
}

func (j *job) run() (t told) {
	begun := time.Now()
	runtime.LockOSThread() // stacks of external ids are a thread's
	fail := func(what string, err error) bool {
		if err != nil {
			t.Errors = append(t.Errors, what+": "+err.Error())
		}
		return err != nil
	}
	rt, err := purego.Dlopen(j.Runtime, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if fail("runtime", err) {
		return t
	}
	round, err := purego.Dlsym(rt, "fakert_round")
	if fail("runtime", err) {
		return t
	}
	d := *vendors[j.Vendor].dialect
	if j.FlushLimit > 0 {
		d.FlushLimit = j.FlushLimit
	}
	b, err := bind.OpenDialect(&d, os.Getenv)
	if fail("open", err) {
		return t
	}
	t.Info = b.Info()
	s := newChildShim()
	if j.NameInside {
		lib, _ := dl.Open(t.Info.Path)
		s.during = func() { dl.Call(lib.Func(d.NameQuery), 5, 56, dl.OutPtr(dl.NewOut(), 0)) }
	}
	inspect := func(forced bool) {
		for _, data := range s.take() {
			o := toldBuffer{Data: slices.Clone(data), Names: map[uint64]string{}, Strides: map[uint32]uint32{}, Forced: forced}
			fail("inspect", b.Inspect(data, finder{&o, &t}))
			t.Buffers = append(t.Buffers, o)
		}
	}
	for w := range max(j.Windows, 1) {
		if fail("arm", b.Arm(s, tracer.Options{API: tracer.APIAll})) {
			break
		}
		t.Requested = b.Requested()
		for i := range j.Rounds {
			id := uint64(1000*w + i)
			if s.push != 0 {
				dl.Call(s.push, 3, uintptr(id))
			}
			dl.Call(round, uintptr(j.Launches), 0)
			if s.pop != 0 {
				out := dl.NewOut()
				if at := dl.OutPtr(out, 0); dl.Call(s.pop, 3, at) != 0 || out[0] != id {
					t.Errors = append(t.Errors, fmt.Sprintf("pop gave %d for %d", out[0], id))
				}
			}
			fail("flush", b.Flush(false))
			if i == 0 || !j.Unread {
				inspect(false)
			}
		}
		fail("disarm", b.Disarm())
		if j.Stolen {
			other := newChildShim()
			lib, _ := dl.Open(t.Info.Path)
			dl.Call(lib.Func("cuptiActivityRegisterCallbacks"), other.req, other.com)
		}
		if w == max(j.Windows, 1)-1 {
			fail("forced flush", b.Flush(true))
			if err := b.Flush(true); err != nil {
				t.Errors = append(t.Errors, "second forced flush: "+err.Error())
				if again := b.Flush(true); !errors.Is(again, bind.ErrStuck) {
					t.Errors = append(t.Errors, fmt.Sprint("third: ", again))
				}
				if _, ok := b.Now(); ok {
					t.Errors = append(t.Errors, "the clock was asked for after all")
				}
			}
		}
		inspect(true)
	}
	if now, ok := b.Now(); ok {
		var m unix.Timespec
		_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &m)
		t.Offset = int64(now) - m.Nano()
	}
	maps, _ := dl.Maps()
	t.Mapped = slices.Contains(maps.Files(d.Loaded), t.Info.Path)
	t.Foreign = s.foreign
	t.Notes = append(t.Notes, b.Diagnoses()...)
	t.Took = time.Since(begun)
	return t
}

// outcome is what the recorder makes of it.
type outcome struct {
	told
	events []event.Event
	names  []string // of the events
	report tracer.Report
	errs   []error
}

func (o *outcome) count(k event.Kind) (n int) {
	for i := range o.events {
		if o.events[i].Kind == k {
			n++
		}
	}
	return n
}

// trial runs a job with switches and decodes what came of it.
func trial(t *testing.T, j job, library string, switches ...string) *outcome {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles C")
	}
	p := fakegpu.Get(t)
	v := vendors[j.Vendor]
	if library == "" {
		library = p.AlikeLibrary(v.alike)
	}
	j.Runtime = p.AlikeRuntime(v.alike)
	if j.Rounds == 0 {
		j.Rounds = 3
	}
	if j.Launches == 0 {
		j.Launches = 9
	}
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FT_ALIKE_JOB="+string(text), "FLAGOS_TRACER_LIBRARY="+library)
	cmd.Env = append(cmd.Env, switches...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	if !timer.Stop() {
		return nil // it hangs
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	o := &outcome{}
	if err := json.NewDecoder(strings.NewReader(out.String())).Decode(&o.told); err != nil && err != io.EOF {
		t.Fatalf("%v\n%s", err, out.String())
	}
	o.decode(t, j.Vendor)
	return o
}

func (o *outcome) decode(t *testing.T, name string) {
	t.Helper()
	strs := new(event.Strings)
	d, err := tracer.NewDecoder(name, tracer.Config{APIVersion: o.Info.APIVersion, Strings: strs, API: tracer.APIKineto})
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range o.Buffers {
		for k, n := range b.Strides {
			d.Stride(k, n)
		}
		for p, n := range b.Names {
			d.Name(p, n)
		}
		for _, c := range b.Calls {
			d.CallbackName(c.Domain, c.ID, c.Name)
		}
		in := tracer.Buffer{Data: b.Data, Origin: fmt.Sprint("buffer ", i), Forced: b.Forced}
		if b.HasOffs {
			in.Offsets = b.Offsets
		}
		if err := d.Decode(in, func(e *event.Event) {
			o.events = append(o.events, *e)
			o.names = append(o.names, strs.At(e.Name))
		}); err != nil {
			o.errs = append(o.errs, err)
		}
	}
	o.report = d.Report()
}
