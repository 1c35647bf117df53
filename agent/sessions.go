package agent

import (
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"golang.org/x/sys/unix"
)

// Sessions stands between the vendor's library and profilers that the program
// brings along: a session of theirs and the recording share the library.
type Sessions interface {
	// Hold has calls of such profilers wait until Let: while the tracer is armed or
	// disarmed, and until Armed or Disarm has been called.
	Hold()
	Let()
	Armed(kinds uint64, calls bool, register uintptr)
	Disarm()
	State() SessionState
	// Kept returns the activity kinds, as bits, that a session has on.
	Kept() uint64
	// Note returns the oldest note not taken yet.
	Note() (SessionNote, bool)
	// Dropped takes what the library says it lost and returns that with what a
	// session was told instead since the last call.
	Dropped(n uint64) uint64
	// Pending is the number of buffers that the library has put something into and
	// not handed back.
	Pending() int
	// Scan catches calls of what was loaded since the last time.
	Scan()
	// Tick tells the host side, if there is one, that what it is to do has changed; cut:
	// that it is to write what it has recorded so far.
	Tick(cut bool)
}

// SessionState is what is going on.
type SessionState struct {
	On      bool   // a session is
	Clock   bool   // the tracer's clock is a session's
	Changes uint32 // of the tracer's clock, by sessions; odd while one is made
	Caught  int    // objects whose calls are caught
	Untold  uint32 // notes that there was no room for
}

// SessionNote tells of the beginning or the end of a session.
type SessionNote struct {
	End     bool
	Clock   spool.Clock
	Kinds   uint64 // those it recorded, as bits
	Buffers uint64 // copied for it
	Late    int    // buffers that had not come back
}

// sharer is a Shim with Sessions.
type sharer interface {
	Sessions() Sessions // nil without
}

// shared is what a binding tells of itself to Sessions.Armed.
type shared interface {
	Shared() (kinds uint64, calls bool, register uintptr)
}

// beside is what the flusher knows of sessions beside the recording.
type beside struct {
	sessions Sessions      // nil without
	open     spool.Session // that is told of once it ends
	running  bool          // there is one
	left     bool          // disarmed, but for what a session needs
	changes  uint32        // of the clock, as of the last sample
}

func (b *beside) clockChanges() uint32 {
	if b.sessions == nil {
		return 0
	}
	return b.sessions.State().Changes
}

// joined finds the multiplexer; the pool is open.
func (a *Agent) joined() {
	if s, ok := a.shim.(sharer); ok {
		a.beside.sessions = s.Sessions()
	}
}

// sessionOn reports whether a session of the program's is on.
func (a *Agent) sessionOn() bool {
	s := a.beside.sessions
	return s != nil && s.State().On
}

// armBinding arms a binding with the program's profilers held up.
func (a *Agent) armBinding() error {
	s := a.beside.sessions
	if s == nil {
		return a.binding.Arm(a.shim, a.cfg.options)
	}
	s.Scan()
	s.Hold()
	defer s.Let()
	if err := a.binding.Arm(a.shim, a.cfg.options); err != nil {
		return err
	}
	if b, ok := a.binding.(shared); ok {
		s.Armed(b.Shared())
	}
	a.beside.left = false
	return nil
}

// disarmBinding leaves on what a session needs.
func (a *Agent) disarmBinding() error {
	s := a.beside.sessions
	if s == nil {
		return a.binding.Disarm()
	}
	s.Hold()
	defer s.Let()
	a.beside.left = s.State().On
	err := a.binding.Disarm()
	s.Disarm()
	return err
}

// settleTries and settlePause bound how long a stop waits for what the device is
// still at.
const (
	settleTries = 60
	settlePause = 5 * time.Millisecond
)

// fetchLast has the library hand over all records, after it was disarmed. It is
// forced only if unforced flushes do not bring them, and never beside a session of
// the program's, for which that would cut off what is running.
func (a *Agent) fetchLast() error {
	s := a.beside.sessions
	if s == nil || a.shim.Counts().Requested == 0 {
		return a.flush(true)
	}
	for range settleTries {
		if err := a.flush(false); err != nil || s.Pending() == 0 {
			return err
		}
		ts := unix.NsecToTimespec(settlePause.Nanoseconds())
		_ = unix.Nanosleep(&ts, nil)
	}
	if a.sessionOn() {
		return nil
	}
	return a.flush(true)
}

// look is done whenever the flusher wakes: notes of sessions go to the spool, and
// what was left on for one that has ended is turned off.
func (a *Agent) look() {
	b := &a.beside
	if b.sessions == nil {
		return
	}
	ended := false
	for n, ok := b.sessions.Note(); ok; n, ok = b.sessions.Note() {
		a.note(n)
		ended = ended || n.End
	}
	if ended && a.armed.Load() {
		a.sampler.sample() // the clock is ours again
	}
	if b.left && !a.armed.Load() && !b.sessions.State().On {
		b.left = false
		if err := a.disarm(); err != nil {
			a.diagnose("stopping: " + err.Error())
		}
	}
	b.sessions.Tick(false)
}

func (a *Agent) note(n SessionNote) {
	b := &a.beside
	a.post(func(f *spoolFile) { f.clock(n.Clock) })
	if !n.End {
		b.open, b.running = spool.Session{StartNS: n.Clock.Realtime}, true
		return
	}
	s := b.open
	s.EndNS, s.Buffers, s.Late = n.Clock.Realtime, n.Buffers, n.Late
	for k := range uint32(64) {
		if n.Kinds&(1<<k) != 0 {
			s.Kinds = append(s.Kinds, k)
		}
	}
	b.running = false
	a.post(func(f *spoolFile) { f.do(f.w.Session(s)) })
}

// lastLook tells of a session that has not ended, when the process does.
func (a *Agent) lastLook() {
	b := &a.beside
	if b.sessions == nil {
		return
	}
	for n, ok := b.sessions.Note(); ok; n, ok = b.sessions.Note() {
		a.note(n)
	}
	if b.running {
		b.running = false
		s := b.open
		a.post(func(f *spoolFile) { f.do(f.w.Session(s)) })
	}
}
