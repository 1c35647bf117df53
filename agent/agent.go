package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// Candidate is a tracer the agent may choose.
type Candidate struct {
	Name string
	// Open finds and binds the vendor's library; getenv reads the environment of
	// the process.
	Open func(getenv func(string) string) (tracer.Binding, error)
	// Detect reports how near the vendor's devices are; nil says nothing about it.
	Detect func(getenv func(string) string) tracer.Presence
}

// describer is what a binding can tell beside the contract.
type describer interface {
	Requested() []string // what is recorded, by the names of event kinds
	Diagnoses() []string // what a person should know, each once
}

// States of an Agent.
const (
	idle     = iota // nothing was done yet
	starting        // a thread is in begin
	inert           // nothing is to be recorded here
	failed          // no tracer could be armed; the spool says why
	running         // the threads run
)

// Agent is the agent of one process.
type Agent struct {
	shim       Shim
	getenv     func(string) string
	version    string
	candidates []Candidate
	cfg        config
	log        logger
	own        ownThreads

	state   atomic.Int32
	begun   latch       // the state is one of those behind starting
	chained atomic.Bool // the library named by EnvChain was started
	busy    atomic.Bool // a command of the C interface is under way
	binding tracer.Binding
	armed   atomic.Bool
	sampler sampler // the flusher's, as schedule and beside are
	schedule
	beside beside
	socket *listener // nil if there is none

	mu       sync.Mutex // guards the two lists; never held across a call out
	commands []*command
	outbox   []func(*spoolFile)
	unposted uint64 // posts given up because the writer did not take them

	flushed  atomic.Bool     // the forced flush at exit has come back
	refused  atomic.Bool     // and was an error
	settled  atomic.Bool     // and what is to be asked after it was
	failures atomic.Uint64   // writes to the spool that failed, repeated ones too
	threads  [2]atomic.Int64 // ids of the threads, by Waiter
	flushes  atomic.Uint64
	cpu      [2]atomic.Int64 // CPU time of the threads, ns, by Waiter
	control  atomic.Int64    // id of the thread that serves the socket
	written  written
	windows  atomic.Uint64 // opened by request
	dropped  atomic.Uint64 // records the library says it lost
	hasDrops atomic.Bool
}

// New returns an idle agent. It touches nothing.
func New(shim Shim, getenv func(string) string, version string, candidates []Candidate) *Agent {
	a := &Agent{shim: shim, getenv: getenv, version: version, candidates: candidates}
	a.sampler.agent = a
	return a
}

// Inject starts recording, once, and then the library named by EnvChain. It is
// called by the driver, inside its initialisation.
func (a *Agent) Inject() {
	if a.state.CompareAndSwap(idle, starting) {
		a.begin(a.reserve())
	}
	if a.chained.CompareAndSwap(false, true) {
		a.chain()
	}
}

// begin goes from starting to running, inert or failed, given what reserve said.
func (a *Agent) begin(fds bool, short error) {
	next := int32(inert)
	defer func() {
		if p := recover(); p != nil {
			a.log.printf("begin: panic: %v", p)
			a.shim.ExitDone()
			next = failed
		}
		a.shim.SetActive(next == running && a.armed.Load())
		a.state.Store(next)
		a.begun.open()
	}()
	if !fds {
		return
	}
	a.cfg = configFrom(a.getenv)
	self := readProcess(a.getenv)
	if a.cfg.debug {
		a.log.open(a.cfg.dir, a.cfg.temp, self)
	}
	if a.cfg.dir == "" {
		a.log.printf("%s is not set: nothing is recorded", EnvDir)
		return
	}
	if err := a.cfg.usable(); err != nil {
		a.log.printf("%v: nothing is recorded", err)
		return
	}
	haveMemory, armErr := true, short
	if armErr == nil {
		haveMemory = a.shim.Open(a.cfg.bufferSize, a.cfg.buffers, a.cfg.exitTimeout)
		a.joined()
		armErr = a.arm()
	}
	notes := a.cfg.notes
	h := self.header(a.version, a.shim.Clock().Realtime, a.cfg.options)
	h.Paused = a.cfg.paused
	if a.binding != nil {
		h.Binding = a.binding.Info()
		if d, ok := a.binding.(describer); ok {
			h.Requested = d.Requested()
			notes = append(notes, d.Diagnoses()...)
		}
	}
	w, err := createSpool(a.cfg.dir, self, h)
	if err != nil {
		a.log.printf("%v: nothing is recorded", err)
		if a.binding != nil {
			_ = a.disarmBinding()
		}
		a.shim.ExitDone()
		return
	}
	f := newSpoolFile(a, w, h)
	for _, n := range notes {
		f.Diagnose(n)
	}
	if !haveMemory {
		f.lose(spool.LossMemory, fmt.Sprintf("no memory for activity buffers (%d of %d bytes): all records are lost", a.cfg.buffers, a.cfg.bufferSize))
	}
	if armErr != nil {
		f.Diagnose(armErr.Error())
	}
	f.clock(a.firstClock(armErr == nil))
	f.pending()
	if armErr != nil {
		f.end("unavailable", false)
		a.shim.ExitDone()
		next = failed
		return
	}
	a.armed.Store(!a.cfg.paused)
	a.begins(time.Now(), &a.cfg)
	if a.socket, err = listen(a.cfg.dir, self); err != nil {
		a.log.printf("%v: there is no control", err)
		if a.cfg.paused && a.cfg.delay == 0 {
			f.Diagnose(fmt.Sprintf("recording is paused and cannot be started from outside: %v", err))
			f.pending()
		}
	}
	next = running
	go a.flusher()
	go a.writer(f)
	go a.controller()
}

// arm chooses a tracer and arms it: the first of those that choose left that can be. Paused, the
// first that can be bound is chosen, and nothing is called that records.
func (a *Agent) arm() error {
	defer dl.HoldMaps()()
	var errs []error
	candidates, note := choose(a.candidates, a.getenv)
	if note != "" {
		a.cfg.notes = append(a.cfg.notes, note)
	}
	for _, c := range candidates {
		b, err := c.Open(a.getenv)
		if err == nil {
			a.log.printf("%s: bound %+v", c.Name, b.Info())
			a.binding = b
			if a.cfg.paused {
				return nil
			}
			if err = a.armBinding(); err == nil {
				return nil
			}
		}
		a.log.printf("%s: %v", c.Name, err)
		errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
	}
	if len(errs) == 0 {
		return errors.New("the agent was built without a tracer")
	}
	return errors.Join(errs...)
}

const spoolExt = ".spool"

// createSpool makes <pid>.<start time>.spool in dir. A process that replaced
// itself by exec has pid and start time in common with its predecessor, whose
// spool stays; a number is then put behind.
func createSpool(dir string, p process, h spool.Header) (*spool.Writer, error) {
	for n := 0; ; n++ {
		name := p.base()
		if n > 0 {
			name = fmt.Sprintf("%s.%d", name, n)
		}
		w, err := spool.Create(filepath.Join(dir, name+spoolExt), h)
		if err == nil || !errors.Is(err, fs.ErrExist) || n >= 1000 {
			return w, err
		}
	}
}

// chain starts another injection library, as the driver would have.
func (a *Agent) chain() {
	path := a.getenv(EnvChain)
	if path == "" {
		return
	}
	defer func() {
		if p := recover(); p != nil {
			a.log.printf("chain: panic: %v", p)
		}
	}()
	lib, err := dl.Open(path)
	if err != nil {
		a.diagnose(fmt.Sprintf("%s: %v", EnvChain, err))
		return
	}
	fn, err := lib.Symbol("InitializeInjection")
	if err != nil {
		a.diagnose(fmt.Sprintf("%s: %v", EnvChain, err))
		return
	}
	a.log.printf("%s: %s: InitializeInjection returned %d", EnvChain, path, a.shim.Chain(fn))
}

// maxOutbox bounds what waits for a writer that is stuck in a write.
const maxOutbox = 4096

// post has the writer do something with the spool, after the buffers that are
// completed by then. A stuck writer makes it give up.
func (a *Agent) post(fn func(*spoolFile)) { a.enqueue(fn, maxOutbox) }

func (a *Agent) enqueue(fn func(*spoolFile), limit int) {
	a.mu.Lock()
	if len(a.outbox) < limit {
		a.outbox = append(a.outbox, fn)
	} else {
		a.unposted++
	}
	a.mu.Unlock()
	a.shim.Wake(Writer)
}

// recording reports whether what is posted will be written.
func (a *Agent) recording() bool {
	s := a.state.Load()
	return s == running || s == starting
}

// diagnose puts a text for people into the spool and the log.
func (a *Agent) diagnose(text string) {
	a.log.printf("diagnosis: %s", text)
	if a.recording() {
		a.post(func(f *spoolFile) { f.Diagnose(text) })
	}
}

// lose says in the spool and the log that something is missing.
func (a *Agent) lose(code, text string) {
	a.log.printf("loss: %s: %s", code, text)
	if a.recording() {
		a.post(func(f *spoolFile) { f.lose(code, text) })
	}
}
