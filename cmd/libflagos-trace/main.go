// Command libflagos-trace is what records inside a traced process: two shared
// libraries that lie beside each other. `make agent` builds them.
//
// libflagos_trace.so is the one to name in CUDA_INJECTION64_PATH, as `flagos-trace
// record` does; its C interface stands in include/flagos_trace.h. It is plain C, in
// the folder stub: the Go runtime ends a process in which it cannot start, so that
// has to be known before there is any. What Go needs is put aside first, threads and
// some memory, and address space for the rest is tried (stub/reserve.c); where that
// fails the program goes on without, and a spool tells the recorder why
// (stub/refuse.c).
//
// libflagos_trace_preload.so, in the folder preload, is how libflagos_trace.so gets into
// programs whose vendor's driver loads no library: it is preloaded by the recorder, and
// loads that one when the program first uses a device.
//
// libflagos_trace_go.so is this package. It is loaded once there is something to
// record and room for it, holds its runtime back until it is told to begin, and
// takes what was put aside (calls.h). Here is only what must be C (shim.h says why)
// and the wiring; the work is done by package agent.
package main

/*
#cgo CFLAGS: -std=gnu11 -O2 -Wall -Wextra -Wno-unused-parameter
#cgo LDFLAGS: ${SRCDIR}/exports.tbd -ldl
#include <stdlib.h>
#include "shim.h"
*/
import "C"

import (
	"runtime/debug"
	"unsafe"

	"github.com/flagos-ai/flagos-trace/agent"
)

// version may be set by the linker; the module's version is used otherwise.
var version string

var theAgent = agent.New(shim{}, getenv, agentVersion(), vendors)

func agentVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

// getenv reads the environment as the program has it now; Go's own copy is of
// the time the process began.
func getenv(name string) string {
	cs := C.CString(name)
	defer C.free(unsafe.Pointer(cs))
	return C.GoString(C.getenv(cs))
}

//export ftInject
func ftInject() { theAgent.Inject() }

//export ftStart
func ftStart() C.int { return C.int(theAgent.Start()) }

//export ftStop
func ftStop() C.int { return C.int(theAgent.Stop()) }

//export ftFlush
func ftFlush() C.int { return C.int(theAgent.Flush()) }

func main() {}
