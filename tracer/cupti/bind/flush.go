package bind

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrStuck: a flush did not come back in time, and the library is not called any
// more.
var ErrStuck = errors.New("a flush of the vendor's library did not come back; the library is left alone from here on")

// flushWorker is a thread that does nothing but flush, so that one that hangs holds up
// nobody. It lasts as long as the process does, as the call it may be stuck in.
type flushWorker struct {
	asked, done atomic.Uint32 // numbers of flushes
	do          func() error  // of the one asked for last
	err         error         // of the one done last
	started     bool
	stuck       atomic.Bool
}

// quieter is a shim that makes a thread one of the agent's own.
type quieter interface{ Quiet(name string) }

// start makes the thread, once. The shim may make it quiet.
func (w *flushWorker) start(s any) {
	if w == nil || w.started {
		return
	}
	w.started = true
	go func() {
		runtime.LockOSThread()
		if q, ok := s.(quieter); ok {
			q.Quiet("flagos-vendor")
		}
		for n := uint32(0); ; n++ {
			for w.asked.Load() == n {
				sleep(&w.asked, n, -1)
			}
			w.err = w.do()
			w.done.Store(n + 1)
			wake(&w.done)
		}
	}()
}

// run has the worker call do and waits for it, at most limit. It is called by one
// thread at a time.
func (w *flushWorker) run(limit time.Duration, do func() error) error {
	switch {
	case w == nil || !w.started:
		return do()
	case w.stuck.Load():
		return ErrStuck
	}
	w.do = do
	n := w.asked.Add(1)
	wake(&w.asked)
	for until := time.Now().Add(limit); w.done.Load() != n; {
		left := time.Until(until)
		if left <= 0 {
			w.stuck.Store(true)
			return fmt.Errorf("%w (after %v)", ErrStuck, limit)
		}
		sleep(&w.done, n-1, left)
	}
	return w.err
}

// isStuck reports whether the library is not to be called any more.
func (w *flushWorker) isStuck() bool { return w != nil && w.stuck.Load() }

const (
	futexWait = 0 | 128 // FUTEX_WAIT_PRIVATE
	futexWake = 1 | 128 // FUTEX_WAKE_PRIVATE
)

// sleep waits until the word may no longer be old, at most limit; a negative one is
// none. Timers and channels with a limit would have the Go runtime make descriptors,
// see package guest.
func sleep(word *atomic.Uint32, old uint32, limit time.Duration) {
	var at uintptr
	ts := unix.NsecToTimespec(limit.Nanoseconds())
	if limit >= 0 {
		at = uintptr(unsafe.Pointer(&ts))
	}
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWait, uintptr(old), at, 0, 0)
	runtime.KeepAlive(&ts)
}

func wake(word *atomic.Uint32) {
	_, _, _ = unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, 1<<30, 0, 0, 0)
}
