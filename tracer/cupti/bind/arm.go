package bind

import (
	"fmt"
	"slices"
	"time"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

const (
	threadIDSystem     = 1 // CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM: gettid
	attributePerThread = 9 // CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER
	// clockSlack is how far the library's clock may be from a clock of the system
	// and still be taken for it.
	clockSlack = 10 * time.Second
)

// apiSwitch is the way one domain of API calls is recorded.
type apiSwitch struct {
	kind   uint32
	domain uint32
	what   event.Kind
	name   string // of the function that switches single ids
	fn     uintptr
	on     []uint32 // ids switched on one by one; the kind is then off
}

// enabled is what Disarm is to disable.
type enabled struct {
	kinds []uint32 // in order
	apis  []apiSwitch
}

// add adds what was enabled earlier and is not among it.
func (e *enabled) add(o enabled) {
	for _, k := range o.kinds {
		if !slices.Contains(e.kinds, k) {
			e.kinds = append(e.kinds, k)
		}
	}
	for _, a := range o.apis {
		if !slices.ContainsFunc(e.apis, func(b apiSwitch) bool { return a.kind == b.kind }) {
			e.apis = append(e.apis, a)
		}
	}
}

// perThreadSince is the first version that knows the attribute, of CUDA 12.3.
const perThreadSince = 21

// TimestampShim is a tracer.Shim that can stand in for the library's clock.
type TimestampShim interface {
	// TimestampFunc is the address of a C function that returns CLOCK_REALTIME in
	// nanoseconds.
	TimestampFunc() uintptr
}

// SharingShim is a tracer.Shim that stands between the library and profilers of the
// program's own.
type SharingShim interface {
	// KeptKinds returns the activity kinds, as bits, that a session of the program's
	// has on: Disarm leaves them.
	KeptKinds() uint64
	// KeptClock reports whether such a session has registered a clock, and needs it.
	KeptClock() bool
}

// Shared says what the library was told, for who stands between it and profilers
// of the program's: the activity kinds that are on, as bits; whether all API calls
// are recorded that a profiler shows; and the address of the function that
// registers buffer functions, by which a library is known.
func (b *Binding) Shared() (kinds uint64, calls bool, register uintptr) {
	for _, k := range b.enabled.kinds {
		if k < 64 {
			kinds |= 1 << k
		}
	}
	return kinds, b.allCalls, b.fn.registerCallbacks
}

// Arm registers the shim's buffer functions and enables what the options ask
// for. It may be called again, after Disarm or after another profiler took the
// callbacks. It fails if kernels cannot be recorded; what else is missing is
// told by Diagnoses.
func (b *Binding) Arm(s tracer.Shim, o tracer.Options) error {
	if b.flushes.isStuck() {
		return ErrStuck
	}
	b.flushes.start(s)
	if b.fn.setThreadIDType != 0 {
		err := b.call("cuptiSetThreadIdType", b.fn.setThreadIDType, threadIDSystem)
		b.note(err, "thread ids of API calls may not be the system's")
		b.info.HandleThreads = err != nil
	}
	if b.fn.setAttribute != 0 && b.d == nil {
		// One buffer set for all threads bounds the memory; from 13.0 on the
		// default is one a thread, and a torch.profiler session resets it anyway.
		// Older libraries do not know the attribute, and need not.
		b.out[0], b.out[1] = 1, 0
		if o.PerThread {
			b.out[1] = 1
		}
		err := b.call("cuptiActivitySetAttribute", b.fn.setAttribute, attributePerThread, dl.OutPtr(b.out, 0), dl.OutPtr(b.out, 1))
		if b.info.APIVersion >= perThreadSince {
			b.note(err, "every launching thread may have buffers of its own, which takes more of them")
		}
	}
	b.sharing, _ = s.(SharingShim)
	b.restoreClock(s)
	if err := b.call("cuptiActivityRegisterCallbacks", b.fn.registerCallbacks, s.RequestFunc(), s.CompleteFunc()); err != nil {
		return b.explain(err) // what was enabled before still is, and Disarm knows it
	}
	var names []string
	before := b.enabled
	b.enabled = enabled{}
	defer func() { b.enabled.add(before) }()
	for _, k := range []struct {
		kind uint32
		what event.Kind
		want bool
		lost string
	}{
		{cupti.KindExternalCorrelation, event.ExternalCorrelation, b.d == nil || b.fn.push != 0 && b.fn.pop != 0, "operators cannot be tied to API calls by the library"},
		{cupti.KindContext, event.Context, o.Sync && b.d == nil, "the device of a wait may not be known"},
		{cupti.KindOverhead, event.Overhead, o.Overhead, "overhead is not recorded"},
		{cupti.KindSynchronization, event.Sync, o.Sync, "waits are not recorded"},
		{cupti.KindCudaEvent, event.DeviceEvent, o.Sync && b.d == nil, "device events are not recorded"},
		{cupti.KindMarker, event.Marker, o.NVTX && b.fn.nvtxInit != 0 && b.d == nil, lostRanges},
		{cupti.KindMemcpy, event.Memcpy, true, "copies are not recorded"},
		{cupti.KindMemset, event.Memset, true, "fills are not recorded"},
		{cupti.KindMemcpy2, event.MemcpyPeer, true, "copies between devices may not be recorded"},
		{cupti.KindConcurrentKernel, event.Kernel, true, ""},
	} {
		if !k.want || !b.d.offered(k.what) {
			continue
		}
		err := b.call(fmt.Sprintf("cuptiActivityEnable(%d)", k.kind), b.fn.enable, uintptr(k.kind))
		if err != nil && k.kind == cupti.KindConcurrentKernel && b.kernelsOn(err) {
			names = append(names, k.what.String())
			continue
		}
		if err != nil && k.kind == cupti.KindConcurrentKernel {
			b.enabled.add(before)
			before = enabled{}
			_ = b.Disarm()
			return b.explain(err)
		}
		if re, ok := err.(*ResultError); ok && re.Code == resultInvalidKind && k.kind == cupti.KindCudaEvent {
			continue // libraries before CUDA 13.0 refuse the kind, and deliver it with the waits
		}
		if b.note(err, k.lost); err == nil {
			b.enabled.kinds = append(b.enabled.kinds, k.kind)
			names = append(names, k.what.String())
		}
	}
	for _, a := range []apiSwitch{
		{cupti.KindRuntime, cupti.DomainRuntime, event.Runtime, "cuptiActivityEnableRuntimeApi", b.fn.enableRuntimeAPI, nil},
		{cupti.KindDriver, cupti.DomainDriver, event.Driver, "cuptiActivityEnableDriverApi", b.fn.enableDriverAPI, nil},
	} {
		if b.armAPI(a, o.API) {
			names = append(names, a.what.String())
		}
	}
	b.names = names
	b.allCalls = o.API != tracer.APIMinimal
	if o.NVTX {
		b.joinNVTX(s)
	}
	b.lendStacks(s)
	return nil
}

// lendStacks gives the shim the library's functions for external ids, both or neither:
// what is pushed and never taken off would be every later call's.
func (b *Binding) lendStacks(s tracer.Shim) {
	if b.fn.push != 0 && b.fn.pop != 0 {
		s.SetPushPop(b.fn.push, b.fn.pop)
		return
	}
	s.SetPushPop(0, 0)
	if b.d != nil {
		b.notes = append(b.notes, "operators cannot be tied to API calls by the library: it has no external ids")
	}
}

// armAPI has the calls of one domain recorded: the kind with the hidden ids
// switched off, or, where more ids are hidden than shown, the shown ids alone.
// A library that cannot switch ids records all of them, and the decoder drops
// what is hidden. It returns whether they are recorded.
func (b *Binding) armAPI(a apiSwitch, level tracer.APILevel) bool {
	var shown, hidden []uint32
	if a.fn != 0 && level != tracer.APIAll {
		for id := range b.callbackIDs(a.domain) {
			name := b.d.table().Name(a.domain, id)
			if name == "" {
				raw, _ := b.look.callbackName(a.domain, id)
				if name = cupti.DisplayName(raw); name == "" {
					continue
				}
			}
			if b.d.table().Shown(level, a.domain, id, name) {
				shown = append(shown, id)
			} else {
				hidden = append(hidden, id)
			}
		}
	}
	if len(hidden) > len(shown) && len(shown) > 0 {
		for _, id := range shown {
			// An id the library does not have is refused, and never called.
			if b.call(a.name, a.fn, uintptr(id), 1) == nil {
				a.on = append(a.on, id)
			}
		}
		if len(a.on) > 0 {
			b.enabled.apis = append(b.enabled.apis, a)
			return true
		}
	}
	err := b.call(fmt.Sprintf("cuptiActivityEnable(%d)", a.kind), b.fn.enable, uintptr(a.kind))
	if b.note(err, "calls of the "+a.what.String()+" API are not recorded"); err != nil {
		return false
	}
	b.enabled.kinds = append(b.enabled.kinds, a.kind)
	if len(hidden) <= len(shown) {
		for _, id := range hidden {
			_ = b.call(a.name, a.fn, uintptr(id), 0) // at worst recorded, and dropped by the decoder
		}
	}
	return true
}

// callbackIDs returns one more than the highest id to ask for: the table's, and
// for a library newer than the table as many more as it has names for.
func (b *Binding) callbackIDs(domain uint32) uint32 {
	n := cupti.CallbackIDs(domain)
	if b.info.APIVersion > cupti.MaxVersion {
		for id, limit := n, n+512; id < limit; id++ {
			if _, ok := b.look.callbackName(domain, id); ok {
				n = id + 1
			}
		}
	}
	return n
}

// ownClocks are those the library has by itself: CLOCK_REALTIME, and under WSL
// CLOCK_MONOTONIC_RAW, from which CLOCK_MONOTONIC and CLOCK_BOOTTIME cannot
// always be told.
var ownClocks = []int32{unix.CLOCK_REALTIME, unix.CLOCK_MONOTONIC_RAW, unix.CLOCK_MONOTONIC, unix.CLOCK_BOOTTIME}

// ClockReplaced reports whether the library's clock is none it has by itself:
// another profiler in the process registered its own, and most likely its own
// buffer functions as well.
func (b *Binding) ClockReplaced() bool {
	if b.d != nil {
		return false // what is the vendor's own clock is not known
	}
	now, ok := b.Now()
	return ok && now != 0 && foreignClock(now)
}

func foreignClock(now uint64) bool {
	for _, id := range ownClocks {
		var t unix.Timespec
		if unix.ClockGettime(id, &t) != nil {
			continue
		}
		if d := time.Duration(int64(now) - t.Nano()); d < clockSlack && d > -clockSlack {
			return false
		}
	}
	return true
}

// restoreClock registers the shim's clock if another profiler replaced the
// library's. A replaced clock cannot be removed, only replaced again.
func (b *Binding) restoreClock(s tracer.Shim) {
	ts, ok := s.(TimestampShim)
	if !ok || b.d != nil || b.fn.registerTimestamp == 0 || b.sharing != nil && b.sharing.KeptClock() {
		return
	}
	if b.ClockReplaced() {
		err := b.call("cuptiActivityRegisterTimestampCallback", b.fn.registerTimestamp, ts.TimestampFunc())
		b.note(err, "times are in the clock of another profiler")
		if err == nil {
			b.notes = append(b.notes, "another profiler had replaced the clock of libcupti; it is CLOCK_REALTIME again, records in between are in the other clock")
		}
	}
}

// Disarm disables what Arm enabled, but for what a session of the program's needs;
// that is left to the next call. It goes through all of it and returns the first
// error.
func (b *Binding) Disarm() error {
	if b.flushes.isStuck() {
		return ErrStuck
	}
	var first error
	var kept uint64
	if b.sharing != nil {
		kept = b.sharing.KeptKinds()
	}
	keeps := func(kind uint32) bool { return kind < 64 && kept&(1<<kind) != 0 }
	var left enabled
	keep := func(err error) {
		if first == nil {
			first = err
		}
	}
	for _, a := range b.enabled.apis {
		if keeps(a.kind) {
			left.apis = append(left.apis, a)
			continue
		}
		for _, id := range a.on {
			keep(b.call(a.name, a.fn, uintptr(id), 0))
		}
	}
	for _, k := range b.enabled.kinds {
		if keeps(k) {
			left.kinds = append(left.kinds, k)
			continue
		}
		keep(b.call(fmt.Sprintf("cuptiActivityDisable(%d)", k), b.fn.disable, uintptr(k)))
	}
	b.enabled = left
	return first
}

// note keeps an error that does not stop the tracing, with what is lost by it.
func (b *Binding) note(err error, lost string) {
	if err != nil {
		b.notes = append(b.notes, fmt.Sprintf("%s: %v", lost, err))
	}
}

// explain adds to an error what helps to understand it.
func (b *Binding) explain(err error) error {
	if b.d != nil {
		return fmt.Errorf("%w (%s, API version %d)", err, b.info.Path, b.info.APIVersion)
	}
	maps, _ := dl.Maps()
	driver := "unknown"
	if n := driverBranch(maps); n > 0 {
		driver = fmt.Sprint(n)
	}
	if re, ok := err.(*ResultError); ok && re.Unwrap() != nil {
		return fmt.Errorf("%w: %w (%s, API version %d, driver branch %s)", re.Unwrap(), err, b.info.Path, b.info.APIVersion, driver)
	}
	return fmt.Errorf("%w (%s, API version %d, driver branch %s)", err, b.info.Path, b.info.APIVersion, driver)
}
