// Command libflagos-trace is the shared library that records inside a traced
// process. Build it with
//
//	go build -buildmode=c-shared -o libflagos-trace.so ./cmd/libflagos-trace
//
// and name it in CUDA_INJECTION64_PATH; `flagos-trace record` does. The C
// interface stands in include/flagos_trace.h.
//
// Here is only what must be C (shim.h says why) and the wiring; the work is done
// by package agent.
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
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti/bind"
)

// version may be set by the linker; the module's version is used otherwise.
var version string

var theAgent = agent.New(shim{}, getenv, agentVersion(), []agent.Candidate{
	{Name: bind.Name, Open: func(getenv func(string) string) (tracer.Binding, error) {
		b, err := bind.Open(getenv)
		if err != nil {
			return nil, err
		}
		return b, nil
	}},
})

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
