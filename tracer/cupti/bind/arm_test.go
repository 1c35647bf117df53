package bind

import (
	"reflect"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

type noShim struct{}

func (noShim) RequestFunc() uintptr        { return 1 }
func (noShim) CompleteFunc() uintptr       { return 1 }
func (noShim) SetPushPop(uintptr, uintptr) {}

// library is a libcupti of Go functions: it keeps what is enabled and refuses
// what it is told to.
type library struct {
	on     map[uintptr]bool
	refuse map[uintptr]bool // kinds; 0 is the registering of callbacks
}

func newLibrary() (*library, *Binding) {
	l := &library{on: map[uintptr]bool{}, refuse: map[uintptr]bool{}}
	b := &Binding{out: dl.NewOut()}
	b.info.APIVersion = 130001
	b.look.init(130001, "libcupti.so.13", 0, 0)
	result := func(no bool) uintptr {
		if no {
			return 1
		}
		return resultOK
	}
	b.fn.registerCallbacks = purego.NewCallback(func(_, _ uintptr) uintptr { return result(l.refuse[0]) })
	b.fn.enable = purego.NewCallback(func(kind uintptr) uintptr {
		l.on[kind] = l.on[kind] || !l.refuse[kind]
		return result(l.refuse[kind])
	})
	b.fn.disable = purego.NewCallback(func(kind uintptr) uintptr { delete(l.on, kind); return resultOK })
	return l, b
}

// Whatever a second Arm does, Disarm knows what is on.
func TestArmAgain(t *testing.T) {
	all := tracer.Options{API: tracer.APIAll, Sync: true, Overhead: true}
	for _, c := range []struct {
		what   string
		refuse []uintptr
		fails  bool
		on     bool // something is, after the second Arm
	}{
		{"as the first", nil, false, true},
		{"callbacks refused", []uintptr{0}, true, true},
		{"kernels refused", []uintptr{10}, true, false},
		{"calls and waits refused", []uintptr{5, 38}, false, true},
	} {
		l, b := newLibrary()
		if err := b.Arm(noShim{}, all); err != nil {
			t.Fatal(err)
		}
		requested := b.Requested()
		for _, k := range c.refuse {
			l.refuse[k] = true
		}
		err := b.Arm(noShim{}, all)
		if (err != nil) != c.fails || (len(l.on) > 0) != c.on {
			t.Errorf("%s: %v, on: %v", c.what, err, l.on)
		}
		if c.fails && !reflect.DeepEqual(b.Requested(), requested) {
			t.Errorf("%s: recorded %q, was %q", c.what, b.Requested(), requested)
		}
		if err := b.Disarm(); err != nil || len(l.on) != 0 {
			t.Errorf("%s: after Disarm %v, still on: %v", c.what, err, l.on)
		}
	}
}

// Only a clock that is none of the system's was put there by somebody.
func TestForeignClock(t *testing.T) {
	at := func(id int32) uint64 {
		var ts unix.Timespec
		if err := unix.ClockGettime(id, &ts); err != nil {
			t.Fatal(err)
		}
		return uint64(ts.Nano())
	}
	for _, c := range []struct {
		what string
		now  uint64
		want bool
	}{
		{"real time", at(unix.CLOCK_REALTIME), false},
		{"raw", at(unix.CLOCK_MONOTONIC_RAW), false},
		{"monotonic", at(unix.CLOCK_MONOTONIC), false},
		{"a little off", at(unix.CLOCK_REALTIME) + uint64(time.Second), false},
		{"ticks", at(unix.CLOCK_MONOTONIC_RAW)*2 + uint64(time.Hour), true},
		{"another day", at(unix.CLOCK_REALTIME) - 24*uint64(time.Hour), true},
	} {
		if got := foreignClock(c.now); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// A name that was not kept is told again.
func TestInspectNameNotKept(t *testing.T) {
	p := cName(t, "kernel_a")
	data, starts := records([3]uint64{10, 216, p})
	in := newInspector(130001, &starts, resultMaxLimit)
	for _, full := range []bool{true, true, false} {
		f := newFindings()
		f.full = full
		if in.inspect(data, f); f.names[p] != "kernel_a" {
			t.Errorf("full %v: not told", full)
		}
	}
	f := newFindings()
	if in.inspect(data, f); len(f.names) != 0 {
		t.Errorf("told once more: %v", f.names)
	}
}

// Without descriptors names cannot be read; all else is found, and names too
// once there are some.
func TestInspectWithoutPipe(t *testing.T) {
	p := cName(t, "kernel_a")
	data, starts := records([3]uint64{10, 216, p}, [3]uint64{700, 64, 0}, [3]uint64{700, 72, 0})
	in, f := newInspector(130001, &starts, resultMaxLimit), newFindings()
	defer in.names.Peek.Close()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	err := in.inspect(data, f)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if err != nil || f.strides[10] != 216 || !reflect.DeepEqual(f.offsets, starts) || len(f.names) != 0 || len(f.diagnoses) != 2 {
		t.Errorf("%v, %+v", err, f)
	}
	if in.inspect(data, f); f.names[p] != "kernel_a" {
		t.Errorf("later: %+v", f)
	}
}
