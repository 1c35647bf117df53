package agent

import (
	"fmt"
	"runtime"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
	"golang.org/x/sys/unix"
)

const (
	// flushEvery is how often finished records are fetched unless asked otherwise.
	// It bounds how late one reaches the spool, and so what a SIGKILL costs.
	// Neither the library's own flush period nor smaller buffers bound it for a
	// program that launches slowly.
	flushEvery  = 50 * time.Millisecond
	sampleEvery = time.Second
	// dryLimit is how many samples without a completed buffer, but with requests
	// that could not be met, are worth a word.
	dryLimit = 5
	// deviceTries bounds how often the devices are asked for in vain.
	deviceTries = 30
	// clockSlack is how far the tracer's clock may be from CLOCK_REALTIME and
	// still be taken for it.
	clockSlack = time.Minute
	// maxRate bounds how fast a clock that is not CLOCK_REALTIME runs away from
	// it, ns per ns: counters of processors make up to 5 ticks a nanosecond.
	maxRate = 8
)

// flusher is the thread that owns the calls of the binding.
func (a *Agent) flusher() {
	runtime.LockOSThread()
	defer a.shim.Park()
	defer a.flusherFailed()
	// Two threads work; more would only spread the collector over the program's
	// cores. Until now there was need of one alone.
	runtime.GOMAXPROCS(2)
	a.own.learn()
	a.shim.Quiet(spool.OwnThreadPrefix + "flush")
	a.threads[Flusher].Store(int64(unix.Gettid()))
	cpu := threadCPU() // the thread may have had another life before
	s := &a.sampler
	orphan := false
	lastFlush, lastSample := time.Now(), time.Now()
	for {
		a.shim.Wait(Flusher, a.nap(a.cfg.flushEvery))
		a.shim.RegisterExit()
		if a.state.Load() == failed { // the writer is
			a.abandon()
			return
		}
		if a.shim.Exiting() {
			a.finalFlush(s, cpu)
			return
		}
		for _, c := range a.take() {
			a.run(c)
		}
		a.timed()
		a.look()
		if !a.armed.Load() {
			a.cpu[Flusher].Store(threadCPU() - cpu)
			continue
		}
		if now := time.Now(); now.Sub(lastFlush) >= a.cfg.flushEvery-time.Millisecond {
			lastFlush = now
			_ = a.flush(false)
			if !s.synced && a.shim.Counts().Requested > 0 {
				s.sample()
			}
			s.askDevices()
		}
		if now := time.Now(); now.Sub(lastSample) >= sampleEvery {
			lastSample = now
			s.sample()
			s.watch()
			if a.beside.sessions != nil {
				a.beside.sessions.Scan()
			}
			if !orphan && a.orphaned() {
				orphan = true
				leave()
			}
		}
		a.cpu[Flusher].Store(threadCPU() - cpu)
	}
}

// flush asks the library for records, unless it never asked for a buffer: then
// it has none, and the driver may still be initialising.
func (a *Agent) flush(force bool) error {
	if !a.armed.Load() || a.shim.Counts().Requested == 0 {
		return nil
	}
	return a.flushNow(force)
}

func (a *Agent) flushNow(force bool) (err error) {
	if force {
		a.shim.SetForced(true)
		defer a.shim.SetForced(false)
	}
	a.vendor(func() { err = a.binding.Flush(force) })
	a.flushes.Add(1)
	if err != nil {
		a.diagnose(fmt.Sprintf("flushing: %v", err))
	}
	return err
}

// handBack has the library hand its buffers to whoever registered buffer
// functions last, before ours are registered again: a buffer completed later
// would reach the wrong one, be lost, and never come back to its pool. If that
// is another profiler the flush is forced; if it is likely ourselves it is not,
// because a forced one cuts off the records of work still running. Nor is it where
// the library may not come back from a second one, which is left for the end.
func (a *Agent) handBack() {
	if a.shim.Counts().Requested == 0 {
		return // the driver may still be initialising
	}
	if a.sessionOn() {
		_ = a.flushNow(false) // every buffer finds its owner, see Sessions
		return
	}
	force := !a.armed.Load()
	if r, ok := a.binding.(interface{ ClockReplaced() bool }); ok && !force {
		a.vendor(func() { force = r.ClockReplaced() })
	}
	if o, ok := a.binding.(interface{ ForcedOnce() bool }); ok && o.ForcedOnce() {
		force = false
	}
	_ = a.flushNow(force)
}

// vendor makes calls of the binding; it must not be nested.
func (a *Agent) vendor(calls func()) {
	a.shim.EnterVendor()
	defer a.shim.LeaveVendor()
	calls()
}

func (a *Agent) disarm() (err error) {
	a.vendor(func() { err = a.disarmBinding() })
	return err
}

// finalFlush is what is left to do when the process exits.
func (a *Agent) finalFlush(s *sampler, cpu int64) {
	for _, c := range a.take() {
		c.answer(Inactive)
	}
	if a.beside.left && a.shim.Counts().Requested > 0 {
		_ = a.flushNow(true) // buffers of the window that a session kept out
	}
	if a.flush(true) != nil {
		a.refused.Store(true)
	}
	a.flushed.Store(true)
	a.lastLook()
	s.sample()
	s.watch()
	s.askDevices()
	a.cpu[Flusher].Store(threadCPU() - cpu)
	a.settled.Store(true)
	a.shim.Wake(Writer)
}

// sampler takes what is sampled through the binding.
type sampler struct {
	agent   *Agent
	devices bool
	tries   int
	offset  int64 // of the tracer's clock to CLOCK_REALTIME, ns
	at      int64 // when that was read, ns
	synced  bool
	foreign bool // another profiler's buffers were told of
	dry     int  // samples since a buffer came back, with requests in vain
	last    Counts
	// dropsUnknown: the library was asked what it dropped, and did not say.
	dropsUnknown bool
}

// sample reads the clocks and, once the driver is up, what the library lost.
func (s *sampler) sample() {
	a := s.agent
	if a.shim.Counts().Requested == 0 {
		c := a.shim.Clock()
		a.post(func(f *spoolFile) { f.clock(c) })
		return
	}
	var c spool.Clock
	changed := false
	a.vendor(func() {
		before := a.beside.clockChanges()
		c = a.readClock()
		after := a.beside.clockChanges()
		changed = before != after || after != a.beside.changes || after&1 != 0 // odd: it is being changed
		a.beside.changes = after
		if n, ok := a.binding.Dropped(); ok {
			if a.beside.sessions != nil {
				n = a.beside.sessions.Dropped(n)
			}
			a.dropped.Add(n)
			a.hasDrops.Store(true)
		} else if !s.dropsUnknown {
			s.dropsUnknown = true
			a.diagnose("the vendor's library does not say how many records it dropped: whether it lost any is not known")
		}
	})
	if c.Vendor != 0 {
		offset := int64(c.Vendor) - c.Realtime
		if s.synced && !changed && jumped(s.offset, offset, c.Realtime-s.at) {
			a.lose(spool.LossClock, "the tracer's clock jumped: another profiler in the process replaced it, and probably took the buffers too; records are missing from here until recording is started again")
		}
		s.offset, s.at, s.synced = offset, c.Realtime, true
	}
	a.post(func(f *spoolFile) { f.clock(c) })
}

// watch looks for buffers that went astray between profilers.
func (s *sampler) watch() {
	n := s.agent.shim.Counts()
	if n.Foreign > 0 && !s.foreign {
		s.foreign = true
		s.agent.diagnose("the library handed over buffers that this recording had not given it: whoever did, such as another profiler in the process, lost the records in them")
	}
	switch {
	case n.Delivered != s.last.Delivered:
		s.dry = 0
	case n.Discarded != s.last.Discarded:
		if s.dry++; s.dry == dryLimit {
			s.agent.diagnose(fmt.Sprintf("all activity buffers are with the library and none came back in %v: records are lost; they may have gone to another profiler in the process", dryLimit*sampleEvery))
		}
	}
	s.last = n
}

// jumped reports whether the tracer's clock was replaced between two samples,
// given its offsets to CLOCK_REALTIME and the time between them, ns.
func jumped(before, after, elapsed int64) bool {
	near := func(offset int64) bool { return offset < int64(clockSlack) && offset > -int64(clockSlack) }
	if near(before) != near(after) {
		return true
	}
	d, limit := after-before, int64(clockSlack)+maxRate*max(elapsed, 0)
	return d > limit || d < -limit
}

// askDevices asks for the devices once the driver is up: a buffer was requested,
// or the program is at its end, where an unsupported device is known by it that
// none was.
func (s *sampler) askDevices() {
	a := s.agent
	if s.devices || s.tries >= deviceTries || a.shim.Counts().Requested == 0 && (!a.shim.Exiting() || !a.armed.Load()) {
		return
	}
	s.tries++
	var list []tracer.Device
	var err error
	a.vendor(func() { list, err = a.binding.Devices() })
	if err != nil {
		a.log.printf("devices: %v", err)
	}
	if list == nil {
		return
	}
	s.devices = true
	info := a.binding.Info()
	a.post(func(f *spoolFile) {
		f.do(f.w.Devices(list))
		f.do(f.w.Binding(info))
	})
	if err != nil { // beside a list it says which devices the library cannot trace
		a.lose(spool.LossDevice, err.Error())
	}
}

// ownClock is a binding whose library has a clock of its own, which can be read from the
// beginning: the earlier it is, the better it is tied to the system's.
type ownClock interface{ OwnClock() bool }

// firstClock reads the clocks as recording begins. The tracer's is left out where the
// driver may still be initialising.
func (a *Agent) firstClock(armed bool) spool.Clock {
	if b, ok := a.binding.(ownClock); ok && armed && !a.cfg.paused && b.OwnClock() {
		return a.readClock()
	}
	return a.shim.Clock()
}

// readClock reads all clocks as of one moment: the others are read before and
// after the tracer's, and the middle is taken.
func (a *Agent) readClock() spool.Clock {
	before := a.shim.Clock()
	vendor, ok := a.binding.Now()
	if !ok {
		return before
	}
	after := a.shim.Clock()
	return spool.Clock{
		Realtime:     before.Realtime + (after.Realtime-before.Realtime)/2,
		Monotonic:    before.Monotonic + (after.Monotonic-before.Monotonic)/2,
		MonotonicRaw: before.MonotonicRaw + (after.MonotonicRaw-before.MonotonicRaw)/2,
		TSC:          before.TSC + (after.TSC-before.TSC)/2,
		Vendor:       vendor,
	}
}

// flusherFailed ends a flusher that panicked without ending the program; the
// writer then ends the spool.
func (a *Agent) flusherFailed() {
	if p := recover(); p != nil {
		a.fail("flusher", p)
		a.abandon()
		a.shim.Wake(Writer)
	}
}

// fail says that a thread panicked. From then on exit does not wait.
func (a *Agent) fail(who string, p any) {
	a.lose(spool.LossAgent, fmt.Sprintf("recording ended early: internal error of the %s: %v", who, p))
	a.state.Store(failed)
	a.shim.SetActive(false)
}

// abandon has the library record nothing more, if that can be done.
func (a *Agent) abandon() {
	defer func() {
		if p := recover(); p != nil {
			a.log.printf("disarming: panic: %v", p)
		}
	}()
	for _, c := range a.take() {
		c.answer(Failed)
	}
	if a.armed.Swap(false) {
		_ = a.disarm()
	}
}

// threadCPU returns the CPU time of the calling thread in ns.
func threadCPU() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return t.Nano()
}
