package bind

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"github.com/flagos-ai/flagos-trace/tracer/roctracer"
	"golang.org/x/sys/unix"
)

// Name is the name of this tracer.
const Name = roctracer.Name

// Diagnoses. Compare with errors.Is.
var (
	// ErrNotFound: no libroctracer64 could be opened.
	ErrNotFound = errors.New("libroctracer64 not found: install the DTK that belongs to the program, or name the library in " + tracer.EnvLibrary)
	// ErrMissingSymbol: the library lacks a function without which nothing works.
	ErrMissingSymbol = errors.New("libroctracer64 lacks a function that tracing needs")
	// ErrShim: the agent has no C part for this library.
	ErrShim = errors.New("this agent was built without what roctracer needs")
)

// Shim is a tracer.Shim with the functions that roctracer calls.
type Shim interface {
	// RoctracerFuncs are C functions: for completed records, for calls, and for pushing
	// and popping external ids, of which the shim keeps stacks.
	RoctracerFuncs() (complete, call, push, pop uintptr)
	// RoctracerOpen gives the library's clock, and the shapes of the arguments of calls by
	// their ids.
	RoctracerOpen(timestamp uintptr, shapes []uint8)
	// RoctracerFlush hands over the records of calls that there are.
	RoctracerFlush()
}

const (
	domainOps = roctracer.DomainHIPOps
	domainAPI = roctracer.DomainHIPAPI
	// maxCalls bounds the ids of calls; ROCm has some 500.
	maxCalls = 4096
	// propertiesBytes is the size of roctracer_properties_t, poolBytes that of the
	// library's own buffers.
	propertiesBytes = 48
	poolBytes       = 256 << 10
	// At the end records are fetched until that often in a row nothing came, each time
	// after a pause, and at most so often.
	quietPolls = 2
	maxPolls   = 40
	pollPause  = 10 * time.Millisecond
)

// functions are addresses in the library; 0 is a function that it lacks.
type functions struct {
	setProperties, enableCallback, disableCallback, openPool, enableActivity, disableActivity, flush uintptr

	start, stop, opString, errorString, timestamp, major, minor uintptr
}

// Binding is libroctracer64 in this process. It implements tracer.Binding.
type Binding struct {
	fn    functions
	info  tracer.BindingInfo
	notes []string
	names *dl.Names
	calls [maxCalls]bool // told
	shim  Shim
	// counts is the shim of the last Arm as one that counts buffers, nil if it does not.
	counts tracer.DeliveryShim
	pool   bool // is open
	armed  bool
	out    *[2]uint64
	props  []byte
}

var _ tracer.Binding = (*Binding)(nil)

// Open finds the library and resolves its functions.
func Open(getenv func(string) string) (*Binding, error) {
	lib, how, err := find(getenv)
	if err != nil {
		return nil, err
	}
	b := &Binding{out: dl.NewOut(), names: dl.NewNames(), props: dl.NewBytes(propertiesBytes)}
	for _, s := range []struct {
		p    *uintptr
		name string
		need bool
	}{
		{&b.fn.setProperties, "roctracer_set_properties", true},
		{&b.fn.enableCallback, "roctracer_enable_domain_callback", true},
		{&b.fn.openPool, "roctracer_open_pool_expl", true},
		{&b.fn.enableActivity, "roctracer_enable_domain_activity_expl", true},
		{&b.fn.flush, "roctracer_flush_activity_expl", true},
		{&b.fn.opString, "roctracer_op_string", true},
		{&b.fn.timestamp, "roctracer_get_timestamp", true},
		{&b.fn.disableCallback, "roctracer_disable_domain_callback", false},
		{&b.fn.disableActivity, "roctracer_disable_domain_activity", false},
		{&b.fn.start, "roctracer_start", false},
		{&b.fn.stop, "roctracer_stop", false},
		{&b.fn.errorString, "roctracer_error_string", false},
		{&b.fn.major, "roctracer_version_major", false},
		{&b.fn.minor, "roctracer_version_minor", false},
	} {
		if *s.p = lib.Func(s.name); *s.p == 0 && s.need {
			return nil, fmt.Errorf("%w: %s: %s", ErrMissingSymbol, lib.Name, s.name)
		}
	}
	b.info = tracer.BindingInfo{Tracer: Name, Path: lib.Path("roctracer_op_string"), How: how, APIVersion: 1}
	if b.fn.major != 0 && b.fn.minor != 0 {
		b.info.APIVersion = uint32(dl.Call(b.fn.major))*1000 + uint32(dl.Call(b.fn.minor))
	}
	return b, nil
}

// call calls a function and makes an error of its result.
//
//go:uintptrescapes
func (b *Binding) call(name string, fn uintptr, args ...uintptr) error {
	r, _, _ := purego.SyscallN(fn, args...)
	if int32(r) == 0 {
		return nil
	}
	text := ""
	if b.fn.errorString != 0 {
		if s := dl.GoString(dl.Call(b.fn.errorString), 300); s != "" {
			text = " (" + s + ")"
		}
	}
	return fmt.Errorf("%s returned %d%s", name, int32(r), text)
}

// Info says what was bound.
func (b *Binding) Info() tracer.BindingInfo { return b.info }

// Requested returns what is recorded, under the names of completeness records.
func (b *Binding) Requested() (list []string) {
	for _, k := range []event.Kind{event.Kernel, event.Memcpy, event.Memset, event.Runtime, event.ExternalCorrelation} {
		list = append(list, k.String())
	}
	return list
}

// Diagnoses returns, once each, what a person should know.
func (b *Binding) Diagnoses() []string {
	n := b.notes
	b.notes = nil
	return n
}

// Arm has the library record. It may be called again after Disarm.
func (b *Binding) Arm(s tracer.Shim, _ tracer.Options) error {
	shim, ok := s.(Shim)
	if !ok {
		return ErrShim
	}
	b.shim = shim
	b.counts, _ = s.(tracer.DeliveryShim)
	complete, call, push, pop := shim.RoctracerFuncs()
	shim.RoctracerOpen(b.fn.timestamp, b.shapes())
	if err := b.begin(complete, call); err != nil {
		// What was begun costs the program time, and is of no use.
		b.armed = true
		_ = b.Disarm()
		s.SetPushPop(0, 0)
		return fmt.Errorf("%w (%s)", err, b.info.Path)
	}
	s.SetPushPop(push, pop)
	b.armed = true
	return nil
}

// begin calls the library's functions in its order.
func (b *Binding) begin(complete, call uintptr) error {
	if err := b.call("roctracer_set_properties", b.fn.setProperties, domainAPI, 0); err != nil {
		return err
	}
	if err := b.call("roctracer_enable_domain_callback", b.fn.enableCallback, domainAPI, call, 0); err != nil {
		return err
	}
	if !b.pool {
		// mode 0, buffer size, no allocator, completion function; see roctracer_properties_t.
		binary.LittleEndian.PutUint64(b.props[8:], poolBytes)
		binary.LittleEndian.PutUint64(b.props[32:], uint64(complete))
		if err := b.call("roctracer_open_pool_expl", b.fn.openPool, dl.BytesPtr(b.props), 0); err != nil {
			return err
		}
		b.pool = true
	}
	if err := b.call("roctracer_enable_domain_activity_expl", b.fn.enableActivity, domainOps, 0); err != nil {
		return err
	}
	if b.fn.start != 0 {
		dl.Call(b.fn.start)
	}
	return nil
}

// shapes asks the library for the names of all calls, for those whose arguments say how
// a kernel is launched.
func (b *Binding) shapes() []uint8 {
	list := make([]uint8, maxCalls)
	unknown := 0
	for id := range uint32(maxCalls) {
		name := b.opName(domainAPI, id, 0)
		if name == "" {
			if unknown++; unknown > 64 {
				break // behind the last one
			}
			continue
		}
		unknown = 0
		list[id] = roctracer.Shape(name)
	}
	return list
}

// opName asks the library for the name of an operation, "" if it has none.
func (b *Binding) opName(domain, op, kind uint32) string {
	name := dl.GoString(dl.Call(b.fn.opString, uintptr(domain), uintptr(op), uintptr(kind)), 256)
	if strings.HasPrefix(name, "unknown") {
		return "" // what the library calls those that it does not know
	}
	return name
}

// Flush has records handed over. The library does not wait for the device: forced, it is
// asked until nothing more comes.
func (b *Binding) Flush(force bool) error {
	err := b.flush()
	for quiet, polls := 0, 0; force && err == nil && quiet < quietPolls && polls < maxPolls; polls++ {
		ts := unix.NsecToTimespec(pollPause.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
		before := b.delivered()
		err = b.flush()
		if quiet++; b.delivered() != before {
			quiet = 0
		}
	}
	return err
}

func (b *Binding) flush() error {
	if b.shim != nil {
		b.shim.RoctracerFlush()
	}
	return b.call("roctracer_flush_activity_expl", b.fn.flush, 0)
}

func (b *Binding) delivered() uint64 {
	if b.counts == nil {
		return 0
	}
	return b.counts.Delivered()
}

// Disarm ends recording. The pool stays.
func (b *Binding) Disarm() error {
	if !b.armed {
		return nil
	}
	b.armed = false
	var first error
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	if b.fn.stop != 0 {
		dl.Call(b.fn.stop)
	}
	if b.fn.disableCallback != 0 {
		keep(b.call("roctracer_disable_domain_callback", b.fn.disableCallback, domainAPI))
	}
	if b.fn.disableActivity != 0 {
		keep(b.call("roctracer_disable_domain_activity", b.fn.disableActivity, domainOps))
	}
	return first
}

// OwnClock reports that the library has a clock of its own.
func (b *Binding) OwnClock() bool { return true }

// Now reads the library's clock.
func (b *Binding) Now() (uint64, bool) {
	if b.call("roctracer_get_timestamp", b.fn.timestamp, dl.OutPtr(b.out, 0)) != nil {
		return 0, false
	}
	return b.out[0], true
}

// Dropped is not known: the library does not count.
func (b *Binding) Dropped() (uint64, bool) { return 0, false }

// Devices returns none: what is needed of them is not asked for.
func (b *Binding) Devices() ([]tracer.Device, error) { return []tracer.Device{}, nil }

// Inspect tells the names that the buffer points to, and those of its calls.
func (b *Binding) Inspect(data []byte, f tracer.Findings) error {
	if err := b.names.Buffer(); err != nil {
		f.Diagnose(fmt.Sprintf("there were moments when kernel names could not be read: pipe: %v", err))
	}
	for ; len(data) >= roctracer.RecordBytes; data = data[roctracer.RecordBytes:] {
		domain, kind, op := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:]), binary.LittleEndian.Uint32(data[8:])
		switch domain {
		case domainOps:
			if at := roctracer.NameOffset(domain, kind, op); at != 0 {
				b.names.See(binary.LittleEndian.Uint64(data[at:]), f)
			}
		case domainAPI:
			if op < maxCalls && !b.calls[op] {
				b.calls[op] = true
				if name := b.opName(domainAPI, op, kind); name != "" {
					f.CallbackName(domainAPI, op, name)
				}
			}
		}
	}
	return nil
}
