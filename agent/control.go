package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
)

// Code is what a function of the C interface returns; the values are those of
// include/flagos_trace.h.
type Code int

// Answers of the C interface.
const (
	OK          Code = 0
	Inactive    Code = 1
	Unavailable Code = 2
	Failed      Code = 3
	Timeout     Code = 4
	Busy        Code = 6
)

// command is something the flusher does for a caller.
type command struct {
	do   func() (Code, func(*spoolFile)) // on the flusher; then, if not nil, on the writer
	code Code
	done latch
	own  bool // nobody waits for it
}

func (c *command) answer(code Code) {
	c.code = code
	c.done.open()
}

func (a *Agent) take() []*command {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.commands
	a.commands = nil
	return list
}

// run does a command on the flusher and answers it once the writer has put its
// frame behind the records it caused. What could not be written by then makes it
// Failed.
func (a *Agent) run(c *command) {
	defer func() {
		if p := recover(); p != nil {
			c.answer(Failed)
			panic(p) // ends the flusher
		}
	}()
	failures := a.failures.Load()
	code, then := c.do()
	free := func() {
		if !c.own {
			a.busy.Store(false)
		}
		c.answer(code)
	}
	if then == nil {
		free()
		return
	}
	// There are two commands at a time at most, so this needs no bound.
	a.enqueue(func(f *spoolFile) {
		then(f)
		f.pending()
		if code == OK && a.failures.Load() != failures {
			code = Failed
		}
		free()
	}, math.MaxInt)
}

// ask has the flusher do something and waits for the answer until the deadline;
// the zero one is the exit timeout from now. A command that timed out keeps the
// agent busy until it is done.
func (a *Agent) ask(deadline time.Time, do func() (Code, func(*spoolFile))) Code {
	switch a.state.Load() {
	case running:
	case failed:
		return Unavailable
	case starting:
		return Busy
	default:
		return Inactive
	}
	if !a.busy.CompareAndSwap(false, true) {
		return Busy
	}
	if deadline.IsZero() {
		deadline = time.Now().Add(a.cfg.exitTimeout)
	}
	c := &command{do: do}
	a.mu.Lock()
	a.commands = append(a.commands, c)
	a.mu.Unlock()
	a.shim.Wake(Flusher)
	if !c.done.wait(deadline) {
		return Timeout
	}
	return c.code
}

// Start arms the tracer if it is not, takes the library back from another
// profiler if one has it, and opens a recording window.
func (a *Agent) Start() Code {
	deadline := time.Now().Add(configFrom(a.getenv).exitTimeout)
	if a.state.CompareAndSwap(idle, starting) {
		if fds, err := a.reserve(); !fds || err != nil {
			a.begin(fds, err)
		} else {
			go a.begin(fds, err) // it may hang in the vendor's library
		}
		if !a.begun.wait(deadline) {
			return Timeout
		}
	}
	return a.ask(deadline, a.start)
}

// Stop fetches all records, closes the recording window and disarms.
func (a *Agent) Stop() Code { return a.ask(time.Time{}, a.stop) }

// Flush fetches finished records.
func (a *Agent) Flush() Code { return a.ask(time.Time{}, a.fetch) }

// start is done on the flusher, as the others are.
func (a *Agent) start() (Code, func(*spoolFile)) {
	a.handBack()
	var err error
	a.vendor(func() { err = a.armBinding() })
	var requested []string
	if d, ok := a.binding.(describer); ok {
		for _, n := range d.Diagnoses() {
			a.diagnose(n)
		}
		requested = d.Requested()
	}
	if err != nil {
		a.diagnose(fmt.Sprintf("starting: %v", err))
		return Failed, nil
	}
	a.armed.Store(true)
	a.shim.SetActive(true)
	a.started(time.Now())
	a.windows.Add(1)
	then := a.window(true)
	return OK, func(f *spoolFile) {
		if requested != nil {
			f.do(f.w.Requested(requested))
		}
		then(f)
	}
}

// stop closes the window before it fetches the last records, and disarms in
// between: a flush that is forced while the program launches cuts off the records
// of work still running, and those would be missing. As it is, what is running
// ends behind the window, and what had ended is handed over without force.
func (a *Agent) stop() (Code, func(*spoolFile)) {
	code := OK
	var err error
	if a.armed.Load() {
		err = a.flush(false)
	}
	then := a.window(false)
	// Nothing is asked for while the agent sleeps.
	if a.armed.Load() {
		a.sampler.sample()
		a.sampler.askDevices()
		a.shim.SetActive(false)
		if err := a.disarm(); err != nil {
			a.diagnose(fmt.Sprintf("stopping: %v", err))
			code = Failed
		}
		if last := a.fetchLast(); err == nil {
			err = last
		}
		a.armed.Store(false)
	}
	if err != nil {
		a.lose(spool.LossFlush, fmt.Sprintf("flushing: %v", err))
		code = Failed
	}
	a.stopped()
	return code, func(f *spoolFile) {
		then(f)
		f.counters()
	}
}

func (a *Agent) fetch() (Code, func(*spoolFile)) {
	if a.flush(false) != nil {
		return Failed, nil
	}
	return OK, func(f *spoolFile) { f.publish() }
}

// snapshot fetches, and has the host side write what it has: that takes the time
// until the program lets it.
func (a *Agent) snapshot() (Code, func(*spoolFile)) {
	if s := a.beside.sessions; s != nil {
		s.Tick(true)
	}
	return a.fetch()
}

func (a *Agent) window(open bool) func(*spoolFile) {
	ns := a.shim.Clock().Realtime
	return func(f *spoolFile) { f.do(f.w.Window(spool.Window{Open: open, NS: ns})) }
}
