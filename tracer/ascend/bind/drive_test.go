package bind

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// roleVar makes the test binary a program that uses the look-alikes and traces itself:
// they read their switches, and the loader its variables, when they are loaded.
const roleVar = "ASCEND_BIND_TEST_ROLE"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		if err := json.NewEncoder(os.Stdout).Encode(drive(role)); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// outcome is what a drive tells.
type outcome struct {
	Error     string
	Other     bool // the error is ErrOtherClient
	Found     bool // the error is not ErrNotFound
	Presence  tracer.Presence
	Info      tracer.BindingInfo
	Requested []string
	Notes     []string
	Received  map[string]uint64
	Linked    uint64 // kernels with an id that an API call has
	Report    tracer.Report
	Strides   map[uint32]uint32
	Inspected []string // diagnoses
	Stacks    [3]uint32
	PushPop   bool
	Devices   []tracer.Device
	Unknown   string // error of decoding
	log       string
}

// goShim is a shim of Go functions.
type goShim struct {
	mu       sync.Mutex
	done     [][]byte
	request  uintptr
	complete uintptr
	o        *outcome
}

func newShim(o *outcome) *goShim {
	s := &goShim{o: o}
	s.request = purego.NewCallback(func(buffer *uintptr, size, most *uint64) uintptr {
		m, err := unix.Mmap(-1, 0, 1<<16, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
		if err != nil {
			return 0
		}
		*buffer, *size = uintptr(unsafe.Pointer(&m[0])), uint64(len(m))
		return 0
	})
	s.complete = purego.NewCallback(func(buffer *byte, size, valid uintptr) uintptr {
		if buffer == nil || valid > size {
			return 0
		}
		s.mu.Lock()
		s.done = append(s.done, append([]byte(nil), unsafe.Slice(buffer, valid)...))
		s.mu.Unlock()
		return 0
	})
	return s
}

func (s *goShim) RequestFunc() uintptr           { return s.request }
func (s *goShim) CompleteFunc() uintptr          { return 0 }
func (s *goShim) CompleteShortFunc() uintptr     { return s.complete }
func (s *goShim) SetPushPop(push, pop uintptr)   { s.o.PushPop = push != 0 && pop != 0 }
func (s *goShim) SetStacks(op, an, empty uint32) { s.o.Stacks = [3]uint32{op, an, empty} }
func (s *goShim) Delivered() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return uint64(len(s.done))
}

// findings keeps what Inspect finds, and hands it to a decoder.
type findings struct {
	o *outcome
	d *ascend.Decoder
}

func (f findings) Name(ptr uint64, name string) bool { f.d.Name(ptr, name); return true }
func (f findings) Stride(kind, bytes uint32) {
	f.o.Strides[kind] = bytes
	f.d.Stride(kind, bytes)
}
func (f findings) CallbackName(domain, id uint32, name string) {}
func (f findings) Offsets(off []uint32)                        {}
func (f findings) Diagnose(text string)                        { f.o.Inspected = append(f.o.Inspected, text) }

// drive traces a little work: three kernels, an operator, a collective, a copy each way,
// a fill. Roles: "exit" ends by a forced flush, "stop" by disarming, "twice" arms, stops
// and arms again, "open" does nothing.
func drive(role string) (o outcome) {
	runtime.LockOSThread() // the device that is set is the thread's
	fail := func(err error) outcome {
		o.Error, o.Other, o.Found = err.Error(), errors.Is(err, ErrOtherClient), !errors.Is(err, ErrNotFound)
		return o
	}
	o.Presence = Detect(os.Getenv)
	if role == "open" {
		b, err := Open(os.Getenv)
		if err != nil {
			return fail(err)
		}
		o.Info = b.Info()
		return o
	}
	acl, err := dl.Open(runtimeName)
	if err != nil {
		return fail(err)
	}
	b, err := Open(os.Getenv)
	if err != nil {
		return fail(err)
	}
	s := newShim(&o)
	options := tracer.Options{API: tracer.APIAll, NVTX: true}
	arm := func() error {
		err := b.Arm(s, options)
		o.Info, o.Requested, o.Notes = b.Info(), b.Requested(), append(o.Notes, b.Diagnoses()...)
		return err
	}
	if err := arm(); err != nil {
		return fail(err)
	}
	if err := work(acl); err != nil {
		return fail(err)
	}
	if err := b.Flush(false); err != nil {
		return fail(err)
	}
	if role == "twice" {
		if err := errors.Join(b.Disarm(), arm(), work(acl)); err != nil {
			return fail(err)
		}
	}
	if o.Devices, err = b.Devices(); err != nil {
		return fail(err)
	}
	if role == "stop" {
		err = b.Disarm()
	} else {
		err = b.Flush(true)
		o.Notes = append(o.Notes, b.Diagnoses()...)
	}
	if err != nil {
		return fail(err)
	}
	o.decode(b, s)
	return o
}

func (o *outcome) decode(b *Binding, s *goShim) {
	o.Strides = map[uint32]uint32{}
	d := ascend.NewDecoder(tracer.Config{API: tracer.APIAll, Strings: new(event.Strings)})
	calls := map[uint64]bool{}
	var kernels []uint64
	for i, data := range s.done {
		if err := b.Inspect(data, findings{o, d}); err != nil {
			o.Inspected = append(o.Inspected, err.Error())
		}
		if err := d.Decode(tracer.Buffer{Data: data, Origin: fmt.Sprintf("buffer %d", i)}, func(e *event.Event) {
			if e.Kind.IsAPI() {
				calls[e.Correlation] = true
			}
			if e.Kind == event.Kernel {
				kernels = append(kernels, e.Correlation)
			}
		}); err != nil {
			o.Unknown = err.Error()
		}
	}
	o.Report = d.Report()
	o.Received = map[string]uint64{}
	for k, n := range o.Report.Received {
		if n > 0 {
			o.Received[event.Kind(k).String()] = n
		}
	}
	for _, id := range kernels {
		if id != 0 && calls[id] {
			o.Linked++
		}
	}
}

func work(acl *dl.Library) error {
	call := func(name string, args ...uintptr) error {
		fn, err := acl.Symbol(name)
		if strings.HasPrefix(name, "aclrtMem") || strings.HasPrefix(name, "Hccl") { // as the program's own calls are bound
			if at, derr := purego.Dlsym(purego.RTLD_DEFAULT, name); derr == nil && at != 0 {
				fn, err = at, nil
			}
		}
		if err != nil {
			return err
		}
		if r := dl.Call(fn, args...); int32(r) != 0 {
			return fmt.Errorf("%s: %d", name, int32(r))
		}
		return nil
	}
	out := dl.NewOut()
	kernel, room := dl.NewBytes(32), dl.NewBytes(4096)
	copy(kernel, "Add_lookalike_aiv\x00")
	err := errors.Join(call("aclInit", 0), call("aclrtSetDevice", 0), call("aclrtCreateStream", dl.OutPtr(out, 0)))
	stream := uintptr(out[0])
	for range 3 {
		err = errors.Join(err, call("aclrtLaunchKernel", dl.BytesPtr(kernel), 8, 0, 0, stream))
	}
	return errors.Join(err,
		call("aclnnMatmul", stream),
		call("HcclAllReduce", 0, 0, 1024, 3, 0, 0, stream),
		call("aclrtMemcpyAsync", dl.BytesPtr(room), 4096, dl.BytesPtr(room), 4096, 1, stream),
		call("aclrtMemcpy", dl.BytesPtr(room), 4096, dl.BytesPtr(room), 8, 2),
		call("aclrtMemsetAsync", dl.BytesPtr(room), 4096, 0, 1024, stream))
}

// run drives in a process of its own.
func run(t *testing.T, role string, m fakegpu.MSPTI, env ...string) outcome {
	t.Helper()
	p := fakegpu.Get(t)
	logFile := t.TempDir() + "/calls"
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "ASCEND_") && !strings.HasPrefix(kv, "FLAGOS_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, p.AscendEnv(m)...)
	cmd.Env = append(append(cmd.Env, roleVar+"="+role, "FAKEMSPTI_LOG="+logFile), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var o outcome
	if err := json.Unmarshal(out, &o); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b, _ := os.ReadFile(logFile)
	o.log = string(b)
	return o
}
