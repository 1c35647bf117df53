package reliability

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// lockThread runs f on a thread that does nothing else before or after.
func lockThread(f func()) {
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
	f()
}

// ptraceStop makes the calling thread the tracer of another one and stops it.
func ptraceStop(tid int) error {
	if err := unix.PtraceSeize(tid); err != nil {
		return fmt.Errorf("PTRACE_SEIZE: %w", err)
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return fmt.Errorf("PTRACE_INTERRUPT: %w", err)
	}
	var ws unix.WaitStatus
	for {
		_, err := unix.Wait4(tid, &ws, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("waiting for the thread: %w", err)
		case !ws.Stopped():
			return fmt.Errorf("the thread ended: %#x", ws)
		default:
			return nil
		}
	}
}
