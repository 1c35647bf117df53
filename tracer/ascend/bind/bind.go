package bind

import (
	"fmt"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// Name is the name of this tracer.
const Name = ascend.Name

// functions are addresses in libmspti; 0 is a function the library lacks.
type functions struct {
	subscribe, unsubscribe, registerCallbacks, enable, disable, flushAll uintptr

	getNextRecord, push, pop, isEnabled uintptr
}

// Binding is libmspti in this process. It implements tracer.Binding.
type Binding struct {
	fn      functions
	info    tracer.BindingInfo
	getenv  func(string) string
	notes   []string
	names   []string // of what is recorded
	look    inspector
	handle  uintptr // of the subscription, 0 without
	enabled []uint32
	counts  tracer.DeliveryShim // of the last Arm, nil if it has none
	out     *[2]uint64          // results; on the heap because C writes to it
}

var _ tracer.Binding = (*Binding)(nil)

// Open finds libmspti and resolves its functions. getenv reads the environment of the
// process. Errors are ErrNotFound or ErrMissingSymbol.
func Open(getenv func(string) string) (*Binding, error) {
	f, err := find(getenv)
	if err != nil {
		return nil, err
	}
	b := &Binding{notes: f.notes, getenv: getenv, out: dl.NewOut()}
	if err := b.fn.resolve(f.lib); err != nil {
		return nil, err
	}
	b.info = tracer.BindingInfo{Tracer: Name, Path: f.lib.Path("msptiSubscribe"), How: f.how}
	b.look.init(b.info.Path, b.fn.getNextRecord)
	return b, nil
}

func (f *functions) resolve(lib *dl.Library) error {
	for _, s := range []struct {
		p    *uintptr
		name string
	}{
		{&f.subscribe, "msptiSubscribe"},
		{&f.unsubscribe, "msptiUnsubscribe"},
		{&f.registerCallbacks, "msptiActivityRegisterCallbacks"},
		{&f.enable, "msptiActivityEnable"},
		{&f.disable, "msptiActivityDisable"},
		{&f.flushAll, "msptiActivityFlushAll"},
	} {
		p, err := lib.Symbol(s.name)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrMissingSymbol, err)
		}
		*s.p = p
	}
	f.getNextRecord = lib.Func("msptiActivityGetNextRecord")
	f.push = lib.Func("msptiActivityPushExternalCorrelationId")
	f.pop = lib.Func("msptiActivityPopExternalCorrelationId")
	f.isEnabled = lib.Func("msptiActivityIsEnabled")
	return nil
}

// call calls a library function and turns its result into an error.
//
//go:uintptrescapes
func (b *Binding) call(name string, fn uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(fn, args...)
	if uint32(r) == resultOK {
		return nil
	}
	return &ResultError{Func: name, Code: uint32(r)}
}

// Info says what was bound. The library tells no version.
func (b *Binding) Info() tracer.BindingInfo { return b.info }

// Requested returns what is recorded, under the names of completeness records.
func (b *Binding) Requested() []string { return b.names }

// Diagnoses returns, once each, what a person should know about the binding and the
// last Arm.
func (b *Binding) Diagnoses() []string {
	n := b.notes
	b.notes = nil
	return n
}

// Now reads the clock of the records. The library has no function for it: it converts
// all times to CLOCK_REALTIME itself.
func (b *Binding) Now() (uint64, bool) {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME, &t) != nil {
		return 0, false
	}
	return uint64(t.Nano()), true
}

// Dropped is not known: the library tells of lost records in its log alone.
func (b *Binding) Dropped() (uint64, bool) { return 0, false }

// Inspect looks at a completed buffer; see inspector.
func (b *Binding) Inspect(data []byte, f tracer.Findings) error { return b.look.inspect(data, f) }

// Devices lists the devices as the program numbers them. The runtime tells what chip they
// are and nothing that traces have a place for. The error is ErrNoRuntime when it is too
// early to ask.
func (b *Binding) Devices() ([]tracer.Device, error) {
	acl, ok := dl.Loaded(runtimeName)
	if !ok {
		maps, _ := dl.Maps()
		if acl, ok = dl.Loaded(maps.Files("libascendcl")...); !ok {
			return nil, ErrNoRuntime
		}
	}
	count := acl.Func("aclrtGetDeviceCount")
	if count == 0 {
		return nil, fmt.Errorf("%w: %s", dl.ErrSymbol, "aclrtGetDeviceCount")
	}
	out := dl.NewOut()
	if r, _, _ := purego.SyscallN(count, dl.OutPtr(out, 0)); uint32(r) != 0 {
		return nil, fmt.Errorf("%w: aclrtGetDeviceCount returned %d", ErrNoRuntime, uint32(r))
	}
	name := ""
	if fn := acl.Func("aclrtGetSocName"); fn != 0 {
		r, _, _ := purego.SyscallN(fn)
		name = dl.GoString(r, 128)
	}
	list := []tracer.Device{}
	for i := range min(uint32(out[0]), 1024) {
		list = append(list, tracer.Device{ID: i, Name: name, Attributes: map[string]int64{}})
	}
	return list, nil
}
