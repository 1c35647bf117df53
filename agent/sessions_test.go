package agent

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// fakeSessions is a program's profiler without one.
type fakeSessions struct {
	mu    sync.Mutex
	state SessionState
	notes []SessionNote
	calls []string
	held  bool
}

func (s *fakeSessions) call(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, what)
}

func (s *fakeSessions) set(fn func()) { s.mu.Lock(); defer s.mu.Unlock(); fn() }

func (s *fakeSessions) Hold()                       { s.set(func() { s.held = true }) }
func (s *fakeSessions) Let()                        { s.set(func() { s.held = false }) }
func (s *fakeSessions) Armed(uint64, bool, uintptr) { s.call("armed") }
func (s *fakeSessions) Disarm()                     { s.call("disarmed") }
func (s *fakeSessions) State() (st SessionState)    { s.set(func() { st = s.state }); return }
func (s *fakeSessions) Kept() uint64                { return 0 }
func (s *fakeSessions) Dropped(n uint64) uint64     { return n }
func (s *fakeSessions) Pending() int                { return 0 }
func (s *fakeSessions) Scan()                       {}
func (s *fakeSessions) Tick(bool)                   {}

func (s *fakeSessions) Note() (n SessionNote, ok bool) {
	s.set(func() {
		if ok = len(s.notes) > 0; ok {
			n, s.notes = s.notes[0], s.notes[1:]
		}
	})
	return n, ok
}

type sharingShim struct {
	*fakeShim
	s *fakeSessions
}

func (s sharingShim) Sessions() Sessions { return s.s }

// sharedBinding has a clock that sessions replace.
type sharedBinding struct {
	*fakeBinding
	s      *fakeSessions
	behind func() int64
}

func (b sharedBinding) Shared() (uint64, bool, uintptr) { return 1 << 10, true, 1 }
func (b sharedBinding) Now() (uint64, bool)             { return uint64(time.Now().UnixNano() - b.behind()), true }

func (b sharedBinding) Arm(s tracer.Shim, o tracer.Options) error {
	b.s.set(func() {
		if !b.s.held {
			b.called("arm without hold")
		}
	})
	return b.fakeBinding.Arm(s, o)
}

// A session of the program's takes the clock and gives it back: that is no loss, and
// the spool says when it was. A clock that changes by itself is one.
func TestSessionIsNoLoss(t *testing.T) {
	for _, told := range []bool{true, false} {
		s := newFakeShim()
		s.counts.Requested = 1
		ses := &fakeSessions{state: SessionState{Caught: 1}}
		var mu sync.Mutex
		var behind int64
		b := sharedBinding{&fakeBinding{shim: s}, ses, func() int64 { mu.Lock(); defer mu.Unlock(); return behind }}
		dir := t.TempDir()
		a := New(sharingShim{s, ses}, env(map[string]string{EnvDir: dir, EnvExitTimeout: "2000"}), "test",
			[]Candidate{{Name: "fake", Open: func(func(string) string) (tracer.Binding, error) { return b, nil }}})
		a.Inject()
		time.Sleep(200 * time.Millisecond)
		replace := func(by int64, on bool) {
			mu.Lock()
			defer mu.Unlock()
			behind = by
			ses.set(func() {
				if !told {
					return
				}
				ses.state.Changes += 2
				ses.state.On, ses.state.Clock = on, on
				ses.notes = append(ses.notes, SessionNote{End: !on, Kinds: 1<<5 | 1<<10, Clock: spool.Clock{Realtime: time.Now().UnixNano()}})
			})
		}
		replace(int64(365*24*time.Hour), true)
		time.Sleep(1200 * time.Millisecond)
		replace(0, false)
		time.Sleep(200 * time.Millisecond)
		ses.set(func() { ses.state.On = true })
		b.log(true)
		if c := a.Stop(); c != OK {
			t.Errorf("Stop: %d", c)
		}
		if got := strings.Join(b.log(true), ", "); strings.Contains(got, "flush true") || !strings.Contains(got, "disarm") {
			t.Errorf("stopping beside a session: %s", got)
		}
		ses.set(func() { ses.state.On = false })
		s.Wake(Flusher)
		for i := 0; i < 200 && !slices.Contains(b.log(false), "disarm"); i++ {
			time.Sleep(time.Millisecond)
		}
		if !slices.Contains(b.log(false), "disarm") {
			t.Error("what was left on for the session is on still")
		}
		s.exit()
		list, diagnoses := types(t, dir)
		if lost := slices.Contains(list, spool.TypeLoss); lost == told {
			t.Errorf("told %v: loss %v, %q", told, lost, diagnoses)
		}
		if got := slices.Contains(list, spool.TypeSession); got != told {
			t.Errorf("told %v: a session in the spool: %v", told, got)
		}
		if slices.Contains(b.log(false), "arm without hold") || !slices.Contains(ses.calls, "armed") || !slices.Contains(ses.calls, "disarmed") {
			t.Errorf("%q %q", b.log(false), ses.calls)
		}
	}
}
