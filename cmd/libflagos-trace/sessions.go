package main

/*
#include "shim.h"

static void mux_enter(void) { ft_sessions()->enter(); }
static void mux_leave(void) { ft_sessions()->leave(); }
static void mux_armed(uint64_t kinds, uint32_t api, uintptr_t register_calls)
{
	ft_armed a = {kinds, api, register_calls};
	ft_sessions()->armed(&a);
}
static void mux_disarmed(void) { ft_sessions()->disarmed(); }
static uint64_t mux_kept(void) { return ft_sessions()->kept(); }
static uint64_t mux_dropped(uint64_t n) { return ft_sessions()->dropped(n); }
static int mux_take(ft_note *n) { return ft_sessions()->take(n); }
static void mux_state(ft_mux_state *s) { ft_sessions()->state(s); }
static void mux_scan(void) { ft_sessions()->scan(); }
static void mux_tick(int cut) { ft_sessions()->tick(cut); }
*/
import "C"

import (
	"github.com/flagos-ai/flagos-trace/agent"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
)

// sessions is the multiplexer as package agent sees it.
type sessions struct{}

var (
	_ agent.Sessions   = sessions{}
	_ bind.SharingShim = shim{}
)

// Sessions returns the multiplexer, nil if there is none.
func (shim) Sessions() agent.Sessions {
	if C.ft_sessions() == nil {
		return nil
	}
	return sessions{}
}

func (sessions) Hold()   { C.mux_enter() }
func (sessions) Let()    { C.mux_leave() }
func (sessions) Scan()   { C.mux_scan() }
func (sessions) Disarm() { C.mux_disarmed() }

func (sessions) Tick(cut bool) { C.mux_tick(C.int(cbool(cut))) }

func (sessions) Armed(kinds uint64, calls bool, register uintptr) {
	C.mux_armed(C.uint64_t(kinds), C.uint32_t(cbool(calls)), C.uintptr_t(register))
}

func (sessions) Kept() uint64            { return uint64(C.mux_kept()) }
func (sessions) Dropped(n uint64) uint64 { return uint64(C.mux_dropped(C.uint64_t(n))) }
func (sessions) Pending() int            { return int(C.ft_pending()) }

func (sessions) State() agent.SessionState {
	var s C.ft_mux_state
	C.mux_state(&s)
	return agent.SessionState{On: s.session != 0, Clock: s.clock != 0, Changes: uint32(s.changes), Caught: int(s.patched), Untold: uint32(s.lost_notes)}
}

func (sessions) Note() (agent.SessionNote, bool) {
	var n C.ft_note
	if C.mux_take(&n) == 0 {
		return agent.SessionNote{}, false
	}
	return agent.SessionNote{
		End: n.what == C.FT_NOTE_END, Late: int(n.late), Kinds: uint64(n.kinds), Buffers: uint64(n.buffers),
		Clock: spool.Clock{Realtime: int64(n.at.realtime), Monotonic: int64(n.at.monotonic), MonotonicRaw: int64(n.at.raw), TSC: uint64(n.at.tsc), Vendor: uint64(n.vendor)},
	}, true
}

// KeptKinds and KeptClock are for the binding, see bind.SharingShim.
func (shim) KeptKinds() uint64 {
	if C.ft_sessions() == nil {
		return 0
	}
	return sessions{}.Kept()
}

func (shim) KeptClock() bool {
	if C.ft_sessions() == nil {
		return false
	}
	s := sessions{}.State()
	return s.On && s.Clock
}
