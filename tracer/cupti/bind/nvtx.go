package bind

import (
	"errors"
	"slices"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

const lostRanges = "ranges and marks of NVTX are not recorded"

// NVTXShim is a tracer.Shim that NVTX calls as its injection library.
type NVTXShim interface {
	// JoinNVTX gives the function that takes the program's NVTX calls over: of
	// every copy of NVTX that has asked already, and of those that will. It is a C
	// function which is given NVTX's way to its function table and returns 0.
	JoinNVTX(initialize uintptr)
}

var errNoNVTX = errors.New("the library has no function cuptiNvtxInitialize2")

// joinNVTX ties the program's NVTX to this library and no other copy of it. NVTX
// offers itself once, to what NVTX_INJECTION64_PATH names, which is often before
// anything is known of libcupti: that copy in the process is looked for when the
// device is first used. Nothing is taken back by Disarm: without the kind enabled
// the library only passes the calls by.
func (b *Binding) joinNVTX(s tracer.Shim) {
	shim, ok := s.(NVTXShim)
	switch {
	case b.fn.nvtxInit == 0:
		b.note(errNoNVTX, lostRanges)
	case ok && slices.Contains(b.names, event.Marker.String()):
		shim.JoinNVTX(b.fn.nvtxInit)
	}
}
