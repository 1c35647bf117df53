package bind

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"github.com/flagos-ai/flagos-trace/tracer/roctracer"
)

// roleVar makes the test binary a program that uses the look-alikes and traces itself:
// they read their switches when they are loaded.
const roleVar = "ROCTRACER_BIND_TEST_RUNTIME"

func TestMain(m *testing.M) {
	if path := os.Getenv(roleVar); path != "" {
		if err := json.NewEncoder(os.Stdout).Encode(drive(path)); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// outcome is what a drive tells.
type outcome struct {
	Error    string // of arming
	Flush    string
	Early    int // records of work that an unforced flush brings
	Work     int // in all
	Calls    int // that were shown
	Launches int // of them, by their names
	Called   []string
}

const rocLaunches = 9

// goShim is a shim of Go functions.
type goShim struct {
	mu              sync.Mutex
	work            []byte
	handed          uint64
	calls, launches int
	complete, call  uintptr
	shapes          []uint8
}

func newShim() *goShim {
	s := &goShim{}
	s.complete = purego.NewCallback(func(begin, end uintptr, _ uintptr) uintptr {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.work = append(s.work, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&begin))), end-begin)...)
		s.handed++
		return 0
	})
	s.call = purego.NewCallback(func(_, id uint32, _, _ uintptr) uintptr {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls++
		if int(id) < len(s.shapes) && s.shapes[id] != roctracer.ShapeNone {
			s.launches++
		}
		return 0
	})
	return s
}

func (s *goShim) RequestFunc() uintptr    { return 0 }
func (s *goShim) CompleteFunc() uintptr   { return 0 }
func (s *goShim) SetPushPop(_, _ uintptr) {}
func (s *goShim) RoctracerFlush()         {}
func (s *goShim) RoctracerFuncs() (complete, call, push, pop uintptr) {
	return s.complete, s.call, s.call, s.call
}
func (s *goShim) RoctracerOpen(_ uintptr, shapes []uint8) { s.shapes = shapes }
func (s *goShim) Delivered() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.handed
}

func (s *goShim) records() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.work) / roctracer.RecordBytes
}

// findings keeps the names of calls.
type findings struct{ o *outcome }

func (f findings) Name(uint64, string) bool              { return true }
func (f findings) Stride(uint32, uint32)                 {}
func (f findings) CallbackName(_, _ uint32, name string) { f.o.Called = append(f.o.Called, name) }
func (f findings) Offsets([]uint32)                      {}
func (f findings) Diagnose(string)                       {}

func drive(runtimePath string) (o outcome) {
	runtime.LockOSThread()
	rt, err := purego.Dlopen(runtimePath, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		panic(err)
	}
	round, err := purego.Dlsym(rt, "fakert_round")
	if err != nil {
		panic(err)
	}
	b, err := Open(os.Getenv)
	if err != nil {
		panic(err)
	}
	s := newShim()
	if err := b.Arm(s, tracer.Options{}); err != nil {
		o.Error = err.Error()
	}
	dl.Call(round, rocLaunches, 0)
	if o.Error == "" {
		_ = b.Flush(false)
		o.Early = s.records()
		if err := b.Flush(true); err != nil {
			o.Flush = err.Error()
		}
	}
	o.Work, o.Calls, o.Launches = s.records(), s.calls, s.launches
	var calls []byte
	for _, id := range []uint32{33, 38} { // hipGetDevice, hipLaunchKernel
		rec := make([]byte, roctracer.RecordBytes)
		binary.LittleEndian.PutUint32(rec, roctracer.DomainHIPAPI)
		binary.LittleEndian.PutUint32(rec[8:], id)
		calls = append(calls, rec...)
	}
	if err := b.Inspect(calls, findings{&o}); err != nil {
		panic(err)
	}
	return o
}

// run drives in a process of its own.
func run(t *testing.T, env ...string) (o outcome) {
	t.Helper()
	p := fakegpu.Get(t)
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), roleVar+"="+p.AlikeRuntime(fakegpu.DCU), tracer.EnvLibrary+"="+p.AlikeLibrary(fakegpu.DCU))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return o
}

// rocWork is the work of a round: launches, two kernels of a graph, two copies, a fill.
const rocWork = rocLaunches + 2 + 2 + 1

func TestRecords(t *testing.T) {
	o := run(t)
	if o.Error != "" || o.Flush != "" || o.Work != rocWork || o.Launches != 2*rocLaunches {
		t.Errorf("%+v", o)
	}
	if strings.Join(o.Called, " ") != "hipGetDevice hipLaunchKernel" {
		t.Errorf("%q", o.Called)
	}
}

// At the end the library is asked until nothing more comes.
func TestDrain(t *testing.T) {
	if o := run(t, "FAKEROC_AT_ONCE=4"); o.Early != 4 || o.Work != rocWork {
		t.Errorf("%+v", o)
	}
}

// A call that the library has no name for gets none, and not what the library says then.
func TestNamelessCalls(t *testing.T) {
	if o := run(t, "FAKEROC_NAMELESS=33"); strings.Join(o.Called, " ") != "hipLaunchKernel" {
		t.Errorf("%q", o.Called)
	}
}

// Where recording cannot begin, nothing of it is left on: what was shown to the agent
// would cost the program time for nothing.
func TestFailures(t *testing.T) {
	for _, f := range []string{"roctracer_set_properties", "roctracer_enable_domain_callback", "roctracer_open_pool_expl", "roctracer_enable_domain_activity_expl"} {
		o := run(t, "FAKEROC_FAIL="+f+"=-1")
		if !strings.Contains(o.Error, f+" returned -1 (look-alike)") || !strings.Contains(o.Error, "libroctracer64.so)") || o.Calls != 0 || o.Work != 0 {
			t.Errorf("%s: %+v", f, o)
		}
	}
	if o := run(t, "FAKEROC_FAIL=roctracer_flush_activity_expl=-3"); !strings.Contains(o.Flush, "returned -3") || o.Error != "" {
		t.Errorf("%+v", o)
	}
}
