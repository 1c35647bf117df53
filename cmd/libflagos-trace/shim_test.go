package main_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

// The C side without Go.
func TestShim(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C")
	}
	prog := compile(t, "shim", "shim.c", "pool.c", "sessions.c", "signals.c", "lend.c", "warm.c", "stack.c", "-pthread", "-ldl")
	for _, c := range []struct{ mode, want string }{
		{"twice", "taken 1, same 0, delivered 1, foreign 2"},
		{"fork in a call", "free"},
		{"fork between calls", "free"},
		{"fork and a call that hangs", "forked, parked"},
		// Blocked within, faults not; the other library finds the program's mask.
		{"calls", "1 0 5 1 0"},
		{"pending", "1 1"},
		{"memory", "1 1 1 1 1"},
		// The main thread's, and another's.
		{"stack", "1 1"},
		{"heap", "0 0 4 4"},
		{"ended", "the driver ran first"},
		{"quick_exit", "asked"},
		{"no request", "the driver ran first"},
		// A request alone registers nothing: atexit takes a lock.
		{"requested", "the driver ran first"},
		{"registered", "we ran first"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			out, err := exec.Command(prog, c.mode).CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

// What a program does with signals of its own works as without the agent.
func TestGuestSignals(t *testing.T) {
	prog := compile(t, "guest", "-pthread", "-ldl")
	for _, c := range []struct {
		mode, want string
		code       int
	}{
		{"children", "missed 0, mask kept", 0},
		{"urgent", "early 0, handler ran", 0},
		{"quick_exit", "done", 5},
	} {
		t.Run(c.mode, func(t *testing.T) {
			o := trial{cupti: fakegpu.CUPTI13, prog: prog, args: []string{c.mode}}.run(t)
			if got := strings.TrimSpace(o.stdout); got != c.want || o.code != c.code || o.stderr != "" {
				t.Errorf("%q, exit %d, stderr %q; want %q, exit %d", got, o.code, o.stderr, c.want, c.code)
			}
			if s := o.spool(t); s.end == nil || !s.end.Flushed || s.kinds[5] == 0 {
				t.Errorf("end %+v, records %v", s.end, s.kinds)
			}
		})
	}
}
