package agent

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"unsafe"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

const (
	// needFDs is how many descriptors the agent may hold at a time: spool, pipe,
	// log, socket, connection, and one for reading /proc, with two to spare.
	needFDs = 9
	// spareThreads is how many threads are made at the beginning: one for each of
	// the agent's three, for each of the two that run Go code meanwhile, and for
	// calls that come in.
	spareThreads = 9
	// reservedThreads is how many of those put aside are enough as they are: one for
	// each of the agent's three and of the two that run Go code, and one to spare.
	reservedThreads = 6
)

// errThreads: the Go runtime ends a process in which it cannot make a thread, so
// that is tried before it has to.
var errThreads = errors.New("no more threads can be created in the process (limit of processes, or memory): nothing is recorded")

// reserve makes sure of what the Go runtime ends the process for when it cannot
// have it later, and of settings the program's environment may have changed for
// its own Go programs. It must come first. fds says whether there are
// descriptors enough to go on at all.
func (a *Agent) reserve() (fds bool, err error) {
	defer func() {
		if recover() != nil {
			fds = false
		}
	}()
	if !guest.CanOpen(needFDs) {
		return false, nil
	}
	debug.SetMemoryLimit(math.MaxInt64)
	spare := a.shim.Spare()
	enough := len(spare) >= reservedThreads && a.shim.Marked()
	if !enough && !canStart(spareThreads-len(spare)) {
		debug.SetGCPercent(-1) // the collector has threads of its own
		return true, errThreads
	}
	debug.SetGCPercent(100)
	if !enough {
		a.own = makeThreads(spareThreads)
		spare = a.shim.Spare()
	}
	a.own.add(spare)
	return true, nil
}

// canStart reports whether n threads can be had at once, beside those put aside. It
// makes them, with the C library's own means: those may fail.
func canStart(n int) bool {
	if n <= 0 {
		return true
	}
	libc, ok := dl.Loaded("libpthread.so.0", "libc.so.6")
	if !ok {
		return true // nothing to try it with
	}
	create, join := libc.Func("pthread_create"), libc.Func("pthread_join")
	initialize, wait, post := libc.Func("sem_init"), libc.Func("sem_wait"), libc.Func("sem_post")
	if create == 0 || join == 0 || initialize == 0 || wait == 0 || post == 0 {
		return true
	}
	// A semaphore, and behind it the threads' handles, where C may write.
	mem, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return false
	}
	defer unix.Munmap(mem)
	sem := uintptr(unsafe.Pointer(&mem[0]))
	thread := func(i int) uintptr { return uintptr(unsafe.Pointer(&mem[256+8*i])) }
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	// The threads are born with this mask: none must be picked for a signal.
	if unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before) != nil {
		return true
	}
	defer unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
	if int32(dl.Call(initialize, sem, 0, 0)) != 0 {
		return true
	}
	made := 0
	for made < n && int32(dl.Call(create, thread(made), 0, wait, sem)) == 0 {
		made++
	}
	for range made {
		dl.Call(post, sem)
	}
	for i := range made {
		dl.Call(join, *(*uintptr)(unsafe.Pointer(&mem[256+8*i])), 0)
	}
	return made == n
}

// ownThreads is what is known of the threads of the Go runtime.
type ownThreads struct {
	tids map[int]bool
	// masks are what such threads block, as the first word of a signal set:
	// before and after makeThreads.
	masks [2]uint64
}

// add adds threads that the runtime will use.
func (o *ownThreads) add(tids []int) {
	if o.tids == nil {
		o.tids = map[int]bool{}
	}
	for _, tid := range tids {
		o.tids[tid] = true
	}
}

// learn takes the mask of the calling thread, which is one of the runtime's, for that of
// all of them, if no other is known.
func (o *ownThreads) learn() {
	if o.masks != [2]uint64{} {
		return
	}
	var now unix.Sigset_t
	_ = unix.PthreadSigmask(unix.SIG_BLOCK, nil, &now)
	o.masks = [2]uint64{uint64(now.Val[0]), uint64(now.Val[0])}
}

// makeThreads has the Go runtime make n threads: later ones are taken from
// these. They are kept from taking signals a program may wait for, which the
// runtime unblocks on each of its threads.
func makeThreads(n int) ownThreads {
	own := ownThreads{tids: map[int]bool{}}
	var take unix.Sigset_t
	for _, s := range []unix.Signal{unix.SIGCHLD, unix.SIGPROF} {
		take.Val[0] |= 1 << (s - 1)
	}
	var mu sync.Mutex
	var here, gone sync.WaitGroup
	here.Add(n)
	gone.Add(n)
	leave := make(chan struct{})
	for range n {
		go func() {
			defer gone.Done()
			// A locked goroutine that waits holds its thread.
			runtime.LockOSThread()
			var before, after unix.Sigset_t
			_ = unix.PthreadSigmask(unix.SIG_BLOCK, &take, &before)
			_ = unix.PthreadSigmask(unix.SIG_BLOCK, nil, &after)
			mu.Lock()
			own.tids[unix.Gettid()] = true
			own.masks = [2]uint64{uint64(before.Val[0]), uint64(after.Val[0])}
			mu.Unlock()
			here.Done()
			<-leave
			runtime.UnlockOSThread()
		}()
	}
	here.Wait()
	close(leave)
	gone.Wait()
	return own
}
