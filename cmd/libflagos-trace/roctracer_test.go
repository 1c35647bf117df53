package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A thread that is in a call each time recording ends is recorded as before the next time.
func TestRoctracerWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles C")
	}
	prog := compile(t, "roctracer", "roctracer.c", "shim.c", "pool.c", "sessions.c", "signals.c", "lend.c", "warm.c", "stack.c", "-pthread", "-ldl", "-Wno-unused-parameter")
	out, err := exec.Command(prog).CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != "40 calls" {
		t.Errorf("%q %v", got, err)
	}
}
