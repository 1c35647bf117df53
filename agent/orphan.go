package agent

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// A process whose main thread ended by pthread_exit ends with its last thread;
// the agent's threads never end, so somebody has to see to it.

// endings are the signals with which people end a process.
var endings = []unix.Signal{unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT}

// orphaned looks whether the main thread is gone. If so it lets the calling
// thread be ended by the usual signals, which no other thread may be left to
// take, and reports whether all threads that are left are the agent's.
func (a *Agent) orphaned() bool {
	pid := unix.Getpid()
	if taskState(pid) != 'Z' {
		return false
	}
	var set unix.Sigset_t
	for _, s := range endings {
		set.Val[0] |= 1 << (s - 1)
	}
	_ = unix.PthreadSigmask(unix.SIG_UNBLOCK, &set, nil)
	tids, err := taskIDs()
	if err != nil {
		return false
	}
	for _, tid := range tids {
		if tid == pid || a.own.tids[tid] || int64(tid) == a.threads[Flusher].Load() || int64(tid) == a.threads[Writer].Load() ||
			int64(tid) == a.control.Load() {
			continue
		}
		status, err := guest.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/status")
		if err != nil {
			return false
		}
		if mask, ok := blocked(string(status)); !ok || !a.own.marks(mask) {
			return false
		}
	}
	return true
}

// marks reports whether a thread with this mask can only be one of the Go
// runtime in this library: everything is blocked but what the runtime needs, and
// among that a signal that no program has a reason to leave out.
func (o ownThreads) marks(mask uint64) bool {
	for _, s := range endings {
		if mask&(1<<(s-1)) == 0 {
			return false
		}
	}
	return mask&(1<<(unix.SIGSTKFLT-1)) == 0 && (mask == o.masks[0] || mask == o.masks[1])
}

// taskState returns the state letter of a thread, 0 if it cannot be read.
func taskState(tid int) byte {
	stat, err := guest.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	if err != nil {
		return 0
	}
	if i := strings.LastIndexByte(string(stat), ')'); i >= 0 && i+2 < len(stat) {
		return stat[i+2]
	}
	return 0
}

// blocked takes the signal mask out of /proc/<pid>/status. Of the set only the
// signals the kernel has are in it.
func blocked(status string) (mask uint64, ok bool) {
	for line := range strings.Lines(status) {
		if v, is := strings.CutPrefix(line, "SigBlk:"); is {
			mask, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return mask, err == nil
		}
	}
	return 0, false
}

// leave ends the process as its last thread would have: by exit(0), with all exit
// handlers. Ours waits for the agent's threads, so it is called on another one.
func leave() {
	if libc, ok := dl.Loaded("libc.so.6"); ok {
		if exit := libc.Func("exit"); exit != 0 {
			go func() {
				runtime.LockOSThread()
				dl.Call(exit, 0)
			}()
		}
	}
}
