package bind

import (
	"fmt"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// Name is the name of this tracer.
const Name = "cupti"

// functions are addresses in libcupti; 0 is a function the library lacks.
type functions struct {
	getVersion, registerCallbacks, enable, disable, flushAll uintptr

	setThreadIDType, setAttribute, registerTimestamp, getTimestamp uintptr
	enableRuntimeAPI, enableDriverAPI                              uintptr
	getNextRecord, getNumDropped, getCallbackName, getResultString uintptr
	push, pop, deviceSupported, capabilitySupported                uintptr
	nvtxInit                                                       uintptr
}

// Binding is libcupti in this process. It implements tracer.Binding.
type Binding struct {
	fn    functions
	info  tracer.BindingInfo
	notes []string
	names []string // of what is recorded
	look  inspector

	d       *Dialect     // nil: CUPTI itself
	flushes *flushWorker // nil: the caller's thread flushes

	enabled  enabled
	allCalls bool        // that a profiler shows are recorded
	sharing  SharingShim // of the last Arm, nil if it is none
	// out receives results; it lives on the heap because C writes to it.
	out *[2]uint64
}

var _ tracer.Binding = (*Binding)(nil)

// Open finds libcupti and resolves its functions. getenv reads the environment
// of the process. Errors are ErrNotFound or ErrMissingSymbol.
func Open(getenv func(string) string) (*Binding, error) {
	f, err := find(getenv)
	if err != nil {
		return nil, err
	}
	b := &Binding{notes: f.notes, out: dl.NewOut()}
	if err := b.fn.resolve(f.lib, (*Dialect)(nil).symbol); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMissingSymbol, err)
	}
	if b.fn.getVersion == 0 {
		return nil, fmt.Errorf("%w: %s: cuptiGetVersion", ErrMissingSymbol, f.lib.Name)
	}
	b.info = tracer.BindingInfo{Tracer: Name, Path: f.lib.Path("cuptiGetVersion"), How: f.how}
	if err := b.call("cuptiGetVersion", b.fn.getVersion, dl.OutPtr(b.out, 0)); err != nil {
		return nil, err
	}
	b.info.APIVersion = uint32(b.out[0])
	b.look.init(b.info.APIVersion, b.info.Path, b.fn.getNextRecord, b.fn.getCallbackName)
	return b, nil
}

// resolve looks the functions up by the names that symbol gives those of CUPTI. The error
// is of one without which nothing works.
func (f *functions) resolve(lib *dl.Library, symbol func(string) string) error {
	for _, s := range []struct {
		p    *uintptr
		name string
	}{
		{&f.registerCallbacks, "cuptiActivityRegisterCallbacks"},
		{&f.enable, "cuptiActivityEnable"},
		{&f.disable, "cuptiActivityDisable"},
		{&f.flushAll, "cuptiActivityFlushAll"},
	} {
		p, err := lib.Symbol(symbol(s.name))
		if err != nil {
			return err
		}
		*s.p = p
	}
	for _, s := range []struct {
		p    *uintptr
		name string
	}{
		{&f.getVersion, "cuptiGetVersion"},
		{&f.setThreadIDType, "cuptiSetThreadIdType"},
		{&f.setAttribute, "cuptiActivitySetAttribute"},
		{&f.registerTimestamp, "cuptiActivityRegisterTimestampCallback"},
		{&f.getTimestamp, "cuptiGetTimestamp"},
		{&f.enableRuntimeAPI, "cuptiActivityEnableRuntimeApi"},
		{&f.enableDriverAPI, "cuptiActivityEnableDriverApi"},
		{&f.getNextRecord, "cuptiActivityGetNextRecord"},
		{&f.getNumDropped, "cuptiActivityGetNumDroppedRecords"},
		{&f.getCallbackName, "cuptiGetCallbackName"},
		{&f.getResultString, "cuptiGetResultString"},
		{&f.push, "cuptiActivityPushExternalCorrelationId"},
		{&f.pop, "cuptiActivityPopExternalCorrelationId"},
		{&f.deviceSupported, "cuptiDeviceSupported"},
		{&f.capabilitySupported, "cuptiComputeCapabilitySupported"},
		{&f.nvtxInit, "cuptiNvtxInitialize2"},
	} {
		*s.p = lib.Func(symbol(s.name))
	}
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
	return &ResultError{Func: b.d.symbol(name), Code: uint32(r), Text: b.resultText(uint32(r)), vendor: b.d}
}

func (b *Binding) resultText(code uint32) string {
	if b.fn.getResultString == 0 {
		return ""
	}
	p := dl.NewOut()
	if r, _, _ := purego.SyscallN(b.fn.getResultString, uintptr(code), dl.OutPtr(p, 0)); uint32(r) != resultOK {
		return ""
	}
	return dl.GoString(uintptr(p[0]), 200)
}

// Info says what was bound. Driver and Runtime are 0 until Devices was called.
func (b *Binding) Info() tracer.BindingInfo { return b.info }

// Requested returns what is recorded, under the names of completeness records.
func (b *Binding) Requested() []string { return b.names }

// Diagnoses returns, once each, what a person should know about the binding and
// the last Arm.
func (b *Binding) Diagnoses() []string {
	n := b.notes
	b.notes = nil
	return n
}

// Flush asks the library for finished buffers, or for all.
func (b *Binding) Flush(force bool) error {
	flag := uintptr(0)
	if force {
		flag = 1
	}
	flush := func() error { return b.call("cuptiActivityFlushAll", b.fn.flushAll, flag) }
	if b.flushes == nil {
		return flush()
	}
	return b.flushes.run(b.d.FlushLimit, flush)
}

// ForcedOnce reports whether the library may not come back from a second forced flush.
func (b *Binding) ForcedOnce() bool { return b.flushes != nil }

// OwnClock reports whether the library has a clock of its own, as dialects have.
func (b *Binding) OwnClock() bool { return b.d != nil }

// Now reads the library's clock.
func (b *Binding) Now() (uint64, bool) {
	if b.fn.getTimestamp == 0 || b.flushes.isStuck() {
		return 0, false
	}
	if b.call("cuptiGetTimestamp", b.fn.getTimestamp, dl.OutPtr(b.out, 0)) != nil {
		return 0, false
	}
	return b.out[0], true
}

// Dropped returns the records the library lost since the last call.
func (b *Binding) Dropped() (uint64, bool) {
	if b.fn.getNumDropped == 0 || b.flushes.isStuck() {
		return 0, false
	}
	b.out[0] = 0
	if b.call("cuptiActivityGetNumDroppedRecords", b.fn.getNumDropped, 0, 0, dl.OutPtr(b.out, 0)) != nil {
		return 0, false
	}
	return b.out[0], true
}

// Inspect looks at a completed buffer; see inspector.
func (b *Binding) Inspect(data []byte, f tracer.Findings) error { return b.look.inspect(data, f) }
