package agent

import (
	"fmt"
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
	do     func() (Code, func(*spoolFile)) // on the flusher; then, if not nil, on the writer
	result chan Code
}

func (c *command) answer(code Code) {
	select {
	case c.result <- code:
	default: // answered before
	}
}

func (a *Agent) take() []*command {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.commands
	a.commands = nil
	return list
}

// run does a command on the flusher and answers it once the writer has put its
// frame behind the records it caused.
func (a *Agent) run(c *command) {
	code, then := c.do()
	if then == nil {
		a.busy.Store(false)
		c.answer(code)
		return
	}
	a.post(func(f *spoolFile) {
		then(f)
		f.pending()
		a.busy.Store(false)
		c.answer(code)
	})
}

// ask has the flusher do something and waits for the answer, bounded by the exit
// timeout. A command that timed out keeps the agent busy until it is done.
func (a *Agent) ask(do func() (Code, func(*spoolFile))) Code {
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
	c := &command{do: do, result: make(chan Code, 1)}
	a.mu.Lock()
	a.commands = append(a.commands, c)
	a.mu.Unlock()
	a.shim.Wake(Flusher)
	t := time.NewTimer(max(a.cfg.exitTimeout, time.Second))
	defer t.Stop()
	select {
	case code := <-c.result:
		return code
	case <-t.C:
		return Timeout
	}
}

// Start arms the tracer if it is not, takes the library back from another
// profiler if one has it, and opens a recording window.
func (a *Agent) Start() Code {
	if a.state.Load() == idle {
		a.begin()
	}
	return a.ask(func() (Code, func(*spoolFile)) {
		err := a.binding.Arm(a.shim, a.cfg.options)
		if d, ok := a.binding.(describer); ok {
			for _, n := range d.Diagnoses() {
				a.diagnose(n)
			}
		}
		if err != nil {
			a.diagnose(fmt.Sprintf("starting: %v", err))
			return Failed, nil
		}
		a.armed.Store(true)
		return OK, a.window(true)
	})
}

// Stop fetches all records, closes the recording window and disarms.
func (a *Agent) Stop() Code {
	return a.ask(func() (Code, func(*spoolFile)) {
		code := OK
		if a.flush(true) != nil {
			code = Failed
		}
		then := a.window(false)
		if err := a.binding.Disarm(); err != nil {
			a.diagnose(fmt.Sprintf("stopping: %v", err))
			code = Failed
		}
		a.armed.Store(false)
		return code, then
	})
}

// Flush fetches finished records.
func (a *Agent) Flush() Code {
	return a.ask(func() (Code, func(*spoolFile)) {
		if a.flush(false) != nil {
			return Failed, nil
		}
		return OK, func(*spoolFile) {}
	})
}

func (a *Agent) window(open bool) func(*spoolFile) {
	ns := a.shim.Clock().Realtime
	return func(f *spoolFile) { f.do(f.w.Window(spool.Window{Open: open, NS: ns})) }
}
