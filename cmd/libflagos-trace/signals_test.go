package main

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// blocked returns the signal mask of the calling thread.
func blocked(t *testing.T) uint64 {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), "SigBlk:")
	line, _, _ := strings.Cut(rest, "\n")
	mask, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return mask
}

func bit(s syscall.Signal) uint64 { return 1 << (s - 1) }

// A quiet thread survives what Go makes a panic of; in a call of the vendor's
// library a fault is left to the kernel.
func TestQuiet(t *testing.T) {
	const faults = 1<<(syscall.SIGSEGV-1) | 1<<(syscall.SIGBUS-1) | 1<<(syscall.SIGFPE-1)
	done := make(chan any)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its mask
		shim{}.Quiet("test")
		quiet := blocked(t)
		shim{}.EnterVendor()
		within := blocked(t)
		shim{}.LeaveVendor()
		if after := blocked(t); quiet&faults != 0 || within != quiet|faults || after != quiet {
			t.Errorf("masks %x, %x, %x", quiet, within, after)
		}
		for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD, syscall.SIGPROF, syscall.SIGXFSZ, syscall.SIGURG} {
			if quiet&bit(s) == 0 {
				t.Errorf("%v is not blocked", s)
			}
		}
		defer func() { done <- recover() }()
		var p *int
		*p = 1
	}()
	if p := <-done; p == nil {
		t.Error("no panic")
	}
}
