package bind

import (
	"errors"
	"fmt"
	"time"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// Before the end records are fetched until that often in a row nothing came, each time
// after a pause, and at most so often.
const (
	quietPolls = 3
	maxPolls   = 40
	pollPause  = 25 * time.Millisecond
)

// Arm subscribes, registers the shim's buffer functions and enables what the options ask
// for. It may be called again. It fails if kernels cannot be recorded; what else is
// missing is told by Diagnoses.
func (b *Binding) Arm(s tracer.Shim, o tracer.Options) error {
	short, ok := s.(tracer.ShortShim)
	if !ok {
		return errShim
	}
	b.counts, _ = s.(tracer.DeliveryShim)
	if b.handle == 0 {
		b.out[0] = 0
		if err := b.call("msptiSubscribe", b.fn.subscribe, dl.OutPtr(b.out, 0), 0, 0); err != nil {
			return b.explain(err)
		}
		b.handle = uintptr(b.out[0])
	}
	if err := b.call("msptiActivityRegisterCallbacks", b.fn.registerCallbacks, s.RequestFunc(), short.CompleteShortFunc()); err != nil {
		_ = b.Disarm()
		return b.explain(err)
	}
	b.names = nil
	if b.fn.push == 0 || b.fn.pop == 0 {
		b.notes = append(b.notes, "operators cannot be tied to API calls by the library: it has no external ids")
	} else {
		b.note(b.on(ascend.KindExternalCorrelation, event.ExternalCorrelation), "operators cannot be tied to API calls by the library")
	}
	b.armCalls()
	b.armMemory()
	b.armCollectives()
	if o.NVTX {
		b.note(b.on(ascend.KindMarker, event.Marker), "ranges and marks of mstx are not recorded")
	}
	if err := b.on(ascend.KindKernel, event.Kernel); err != nil {
		_ = b.Disarm()
		b.names = nil
		return b.explain(err)
	}
	if st, ok := s.(tracer.StackShim); ok && b.fn.push != 0 && b.fn.pop != 0 {
		st.SetStacks(ascend.ExternalOperator, ascend.ExternalAnnotation, resultEmpty)
		s.SetPushPop(b.fn.push, b.fn.pop)
	} else {
		s.SetPushPop(0, 0)
	}
	return nil
}

// on enables a kind.
func (b *Binding) on(kind uint32, what event.Kind) error {
	if err := b.call(fmt.Sprintf("msptiActivityEnable(%d)", kind), b.fn.enable, uintptr(kind)); err != nil {
		return err
	}
	b.took(kind)
	for _, n := range b.names {
		if n == what.String() {
			return nil
		}
	}
	b.names = append(b.names, what.String())
	return nil
}

func (b *Binding) took(kind uint32) {
	for _, k := range b.enabled {
		if k == kind {
			return
		}
	}
	b.enabled = append(b.enabled, kind)
}

// armCalls has API calls recorded: by level where the library tells the levels apart
// (2026), else all as one kind. Both would bring every call twice.
func (b *Binding) armCalls() {
	if b.on(ascend.KindACLAPI, event.Runtime) != nil {
		b.note(b.on(ascend.KindAPI, event.Runtime), "API calls are not recorded")
		return
	}
	b.note(b.on(ascend.KindNodeAPI, event.Runtime), "API calls of the level of nodes are not recorded")
	b.note(b.on(ascend.KindRuntimeAPI, event.Driver), "API calls below ACL are not recorded")
}

// armMemory has copies and fills recorded where that brings any.
func (b *Binding) armMemory() {
	p := lookPreload(b.info.Path, b.getenv)
	if !p.works {
		b.notes = append(b.notes, p.note())
		if b.fn.isEnabled == 0 {
			b.notes = append(b.notes, "this libmspti may be of a CANN before 9.0, which records nothing at all unless it is preloaded into the program")
		}
		return
	}
	b.noteMemory(b.on(ascend.KindMemcpy, event.Memcpy), "copies")
	b.noteMemory(b.on(ascend.KindMemset, event.Memset), "fills")
}

// noteMemory keeps why copies or fills are not recorded where they could be.
func (b *Binding) noteMemory(err error, what string) {
	if errors.Is(err, ErrNotPreloaded) {
		what += " are not recorded, though libmspti stands before the program's calls: it goes by LD_PRELOAD, which does not have its name in it"
	} else {
		what += " are not recorded"
	}
	b.note(err, what)
}

// armCollectives has operations between devices recorded, by the newer kind or by the
// older one: both bring the same operations, but the older one only where the library
// stands before the program's calls, whatever enabling it says.
func (b *Binding) armCollectives() {
	err := b.on(ascend.KindCommunication, event.Kernel)
	if err == nil {
		return
	}
	const lost = "collective operations are not recorded"
	if older := b.on(ascend.KindHCCL, event.Kernel); older != nil {
		b.note(err, lost)
		return
	}
	if !lookPreload(b.info.Path, b.getenv).works {
		b.notes = append(b.notes, lost+": this libmspti can do that only if it is preloaded into the program (flagos-trace record --preload)")
	}
}

// Flush asks the library for the records in its buffers. Forced, it first has it wait for
// those that are still on their way from the device, which takes disabling all kinds. The
// error is of a step without which records are missing; of others there is a note.
func (b *Binding) Flush(force bool) error {
	if force && len(b.enabled) > 0 {
		lost, other := b.finish(true)
		b.note(other, "recording did not end in order, but all records were fetched")
		return lost
	}
	return b.flush()
}

func (b *Binding) flush() error { return b.call("msptiActivityFlushAll", b.fn.flushAll, 0) }

// Disarm disables what Arm enabled, and ends the subscription. It goes through all of it
// and returns what failed first.
func (b *Binding) Disarm() error {
	lost, other := b.finish(false)
	if lost != nil {
		return lost
	}
	return other
}

// finish ends the recording, in the order in which least is lost. With poll it fetches
// what comes by itself first. It goes through all of it and returns the first error by
// which records may be lost, and the first of the others.
func (b *Binding) finish(poll bool) (lost, other error) {
	keep := func(first *error, err error) {
		if *first == nil {
			*first = err
		}
	}
	if poll {
		keep(&lost, b.drain())
	}
	for _, k := range b.enabled {
		first := &other
		if drains(k) {
			first = &lost
		}
		keep(first, b.call(fmt.Sprintf("msptiActivityDisable(%d)", k), b.fn.disable, uintptr(k)))
	}
	b.enabled = nil
	keep(&lost, b.flush())
	if b.handle != 0 {
		keep(&other, b.call("msptiUnsubscribe", b.fn.unsubscribe, b.handle))
		b.handle = 0
		keep(&lost, b.flush())
	}
	return lost, other
}

// drains reports whether the library waits for what the device has of a kind when that
// is disabled.
func drains(kind uint32) bool {
	switch kind {
	case ascend.KindMarker, ascend.KindKernel, ascend.KindHCCL, ascend.KindCommunication:
		return true
	}
	return false
}

// drain fetches records until nothing comes.
func (b *Binding) drain() error {
	for quiet, polls := 0, 0; quiet < quietPolls && polls < maxPolls; polls++ {
		before := b.delivered()
		if err := b.flush(); err != nil {
			return err
		}
		if quiet++; b.delivered() != before {
			quiet = 0
		}
		if quiet < quietPolls {
			ts := unix.NsecToTimespec(pollPause.Nanoseconds())
			_ = unix.Nanosleep(&ts, nil)
		}
	}
	return nil
}

func (b *Binding) delivered() uint64 {
	if b.counts == nil {
		return 0
	}
	return b.counts.Delivered()
}

// note keeps an error that does not stop the tracing, with what is lost by it.
func (b *Binding) note(err error, lost string) {
	if err != nil {
		b.notes = append(b.notes, fmt.Sprintf("%s: %v", lost, err))
	}
}

// explain adds to an error what helps to understand it.
func (b *Binding) explain(err error) error {
	if re, ok := err.(*ResultError); ok && re.Unwrap() != nil {
		return fmt.Errorf("%w: %w (%s)", re.Unwrap(), err, b.info.Path)
	}
	return fmt.Errorf("%w (%s)", err, b.info.Path)
}
