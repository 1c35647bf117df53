package agent

import (
	"fmt"
	"runtime"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"golang.org/x/sys/unix"
)

const (
	// flushEvery bounds how late a finished record reaches the spool, and so what
	// a SIGKILL costs. Neither the library's own flush period nor smaller buffers
	// bound it for a program that launches slowly.
	flushEvery  = 100 * time.Millisecond
	sampleEvery = time.Second
	// deviceTries bounds how often the devices are asked for in vain.
	deviceTries = 30
	// clockSlack is how far the tracer's clock may jump against CLOCK_REALTIME
	// between two samples before it is taken for another clock.
	clockSlack = time.Minute
)

// flusher is the thread that owns the calls of the binding.
func (a *Agent) flusher() {
	runtime.LockOSThread()
	defer a.survive("flusher")
	a.shim.Quiet(spool.OwnThreadPrefix + "flush")
	cpu := threadCPU() // the thread may have had another life before
	s := sampler{agent: a}
	s.sample()
	lastFlush, lastSample := time.Now(), time.Now()
	for {
		a.shim.Wait(Flusher, flushEvery)
		if a.shim.Exiting() {
			a.finalFlush(&s, cpu)
			return
		}
		for _, c := range a.take() {
			a.run(c)
		}
		if now := time.Now(); now.Sub(lastFlush) >= flushEvery-time.Millisecond {
			lastFlush = now
			_ = a.flush(false)
			s.askDevices()
		}
		if now := time.Now(); now.Sub(lastSample) >= sampleEvery {
			lastSample = now
			s.sample()
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
	if force {
		a.shim.SetForced(true)
		defer a.shim.SetForced(false)
	}
	err := a.binding.Flush(force)
	a.flushes.Add(1)
	if err != nil {
		a.diagnose(fmt.Sprintf("flushing: %v", err))
	}
	return err
}

// finalFlush is what is left to do when the process exits.
func (a *Agent) finalFlush(s *sampler, cpu int64) {
	for _, c := range a.take() {
		c.answer(Inactive)
	}
	_ = a.flush(true)
	s.sample()
	s.askDevices()
	a.cpu[Flusher].Store(threadCPU() - cpu)
	a.flushed.Store(true)
	a.shim.Wake(Writer)
}

// sampler takes what is sampled through the binding.
type sampler struct {
	agent   *Agent
	devices bool
	tries   int
	offset  int64 // of the tracer's clock to CLOCK_REALTIME, ns
	synced  bool
}

func (s *sampler) sample() {
	a := s.agent
	c := a.readClock()
	if c.Vendor != 0 {
		offset := int64(c.Vendor) - c.Realtime
		if d := offset - s.offset; s.synced && (d > int64(clockSlack) || d < -int64(clockSlack)) {
			a.diagnose("the tracer's clock jumped: another profiler in the process replaced it, and probably took the buffers too; records are missing from here until recording is started again")
		}
		s.offset, s.synced = offset, true
	}
	if n, ok := a.binding.Dropped(); ok {
		a.dropped.Add(n)
		a.hasDrops.Store(true)
	}
	a.post(func(f *spoolFile) { f.clock(c) })
}

// askDevices asks for the devices once the driver is up: a buffer was requested,
// or the program is at its end.
func (s *sampler) askDevices() {
	a := s.agent
	if s.devices || s.tries >= deviceTries || a.shim.Counts().Requested == 0 && !a.shim.Exiting() {
		return
	}
	s.tries++
	list, err := a.binding.Devices()
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
	if err != nil {
		a.diagnose(err.Error())
	}
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

// survive ends a thread that panicked without ending the program.
func (a *Agent) survive(who string) {
	if p := recover(); p != nil {
		a.diagnose(fmt.Sprintf("recording ended early: internal error of the %s: %v", who, p))
		a.state.Store(failed)
		a.shim.SetActive(false)
		a.shim.ExitDone()
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
