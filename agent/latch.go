package agent

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// latch is opened once and can be waited for. Timers and channels with a limit
// of time would have the Go runtime make descriptors, see package guest.
type latch struct{ word atomic.Uint32 }

const (
	futexWait = 0 | 128 // FUTEX_WAIT_PRIVATE
	futexWake = 1 | 128 // FUTEX_WAKE_PRIVATE
)

func (l *latch) open() {
	l.word.Store(1)
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.word)), futexWake, 1<<30, 0, 0, 0)
}

// wait waits until the latch is open, at most until the deadline, and reports
// whether it is.
func (l *latch) wait(deadline time.Time) bool {
	for l.word.Load() == 0 {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		ts := unix.NsecToTimespec(left.Nanoseconds())
		_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&l.word)), futexWait, 0, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
	return true
}
