package main

/*
#include <stdlib.h>
#include "shim.h"

static uintptr_t request_address(void) { return (uintptr_t)ft_request; }
static uintptr_t complete_address(void) { return (uintptr_t)ft_complete; }
static uintptr_t complete_short_address(void) { return (uintptr_t)ft_complete_short; }
static uintptr_t now_address(void) { return (uintptr_t)ft_now; }
static void set_push_pop(uintptr_t push, uintptr_t pop) { ft_set_push_pop((void *)push, (void *)pop); }
*/
import "C"

import (
	"time"
	"unsafe"

	"github.com/flagos-ai/flagos-trace/agent"
	"github.com/flagos-ai/flagos-trace/spool"
)

// shim is the C shim as package agent sees it.
type shim struct{}

var _ agent.Shim = shim{}

func (shim) RequestFunc() uintptr {
	if C.ft_sessions() != nil {
		return uintptr(unsafe.Pointer(C.ft_sessions().request))
	}
	return uintptr(C.request_address())
}

func (shim) CompleteFunc() uintptr {
	if C.ft_sessions() != nil {
		return uintptr(unsafe.Pointer(C.ft_sessions().complete))
	}
	return uintptr(C.complete_address())
}

func (shim) CompleteShortFunc() uintptr { return uintptr(C.complete_short_address()) }

func (shim) SetStacks(operator, annotation, empty uint32) {
	C.ft_set_stacks(C.uint32_t(operator), C.uint32_t(annotation), C.uint32_t(empty))
}

func (s shim) Delivered() uint64 { return s.Counts().Delivered }

func (shim) TimestampFunc() uintptr       { return uintptr(C.now_address()) }
func (shim) SetPushPop(push, pop uintptr) { C.set_push_pop(C.uintptr_t(push), C.uintptr_t(pop)) }

func (shim) Warm() { C.ft_pool_warm() }

func (shim) Open(blockBytes, blocks int, exitTimeout time.Duration) bool {
	return C.ft_open(C.size_t(blockBytes), C.uint32_t(blocks), C.uint32_t(exitTimeout.Milliseconds())) == 0
}

func (shim) SetActive(on bool) { C.ft_set_active(cbool(on)) }
func (shim) SetForced(on bool) { C.ft_set_forced(cbool(on)) }
func (shim) Exiting() bool     { return C.ft_exiting() != 0 }
func (shim) ExitDone()         { C.ft_exit_done() }

func (shim) Wait(w agent.Waiter, timeout time.Duration) {
	C.ft_wait(C.int(w), C.int64_t(timeout.Nanoseconds()))
}

func (shim) Wake(w agent.Waiter) { C.ft_wake(C.int(w)) }

func (shim) Take() (agent.Block, bool) {
	var b C.ft_block
	if C.ft_take(&b) == 0 {
		return agent.Block{}, false
	}
	return agent.Block{
		Index:  uint32(b.index),
		Buffer: spool.Buffer{Sequence: uint64(b.sequence), Forced: b.forced != 0, Context: uint64(b.context), Stream: uint32(b.stream), Data: unsafe.Slice((*byte)(b.data), int(b.valid))},
	}, true
}

func (shim) Release(b agent.Block) { C.ft_release(C.uint32_t(b.Index)) }

func (shim) Counts() agent.Counts {
	var c C.ft_counts
	C.ft_read_counts(&c)
	return agent.Counts{
		Requested: uint64(c.requested), Delivered: uint64(c.delivered), Discarded: uint64(c.discarded),
		DiscardedBytes: uint64(c.discarded_bytes), Foreign: uint64(c.foreign),
	}
}

func (shim) Clock() spool.Clock {
	var c C.ft_clock
	C.ft_read_clock(&c)
	return spool.Clock{Realtime: int64(c.realtime), Monotonic: int64(c.monotonic), MonotonicRaw: int64(c.raw), TSC: uint64(c.tsc)}
}

func (shim) Quiet(name string) {
	cs := C.CString(name)
	defer C.free(unsafe.Pointer(cs))
	C.ft_quiet(cs)
}

func (shim) EnterVendor()           { C.ft_enter_vendor() }
func (shim) LeaveVendor()           { C.ft_leave_vendor() }
func (shim) RegisterExit()          { C.ft_register_exit() }
func (shim) Chain(fn uintptr) int32 { return int32(C.ft_chain(C.uintptr_t(fn))) }
func (shim) JoinNVTX(fn uintptr)    { C.ft_join_nvtx(C.uintptr_t(fn)) }

func (shim) Spare() []int {
	var ids [64]C.int32_t
	n := int(C.ft_idle(&ids[0], C.size_t(len(ids))))
	spare := make([]int, n)
	for i := range spare {
		spare[i] = int(ids[i])
	}
	return spare
}

func (shim) Marked() bool { return C.ft_marked() != 0 }

func (shim) Park() { C.ft_park() }

func cbool(b bool) C.int {
	if b {
		return 1
	}
	return 0
}
