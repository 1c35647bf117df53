package bind

import (
	"errors"
	"fmt"
)

// Diagnoses: why MSPTI cannot be used, or not fully. Compare with errors.Is.
var (
	// ErrNotFound: no libmspti could be opened.
	ErrNotFound = errors.New("libmspti not found: it comes with CANN (lib64, or tools/mspti/lib64); set ASCEND_HOME_PATH, or name it in FLAGOS_TRACER_LIBRARY")
	// ErrMissingSymbol: the library lacks a function without which nothing works.
	ErrMissingSymbol = errors.New("libmspti lacks a function that tracing needs: it is too old, or not MSPTI")
	// ErrOtherClient: another client has the one subscription.
	ErrOtherClient = errors.New("another profiler in the process (msprof, torch_npu.profiler) uses libmspti, which serves one only: end it, or record without it")
	// ErrNotPreloaded: the library does it only where it was preloaded.
	ErrNotPreloaded = errors.New("libmspti does this only if it was preloaded")
	// ErrOffline: the device does not answer.
	ErrOffline = errors.New("the device is offline")
	// ErrNoRuntime: ACL is not in the process, or does not answer yet.
	ErrNoRuntime = errors.New("ACL is not initialised in this process")
	// errShim: the agent has no completion function for this library.
	errShim = errors.New("the agent has no completion function with three arguments")
)

// Result codes. Source: msptiResult, Ascend/mspti. The library has no texts for them.
const (
	resultOK       = 0
	resultMaxLimit = 3
	resultEmpty    = 5
)

var resultTexts = map[uint32]string{
	1: "invalid parameter", 2: "multiple subscribers are not supported", 3: "limit reached", 4: "device offline",
	5: "queue empty", 6: "without LD_PRELOAD", 999: "inner error",
}

// ResultError is a result code of a library function.
type ResultError struct {
	Func string
	Code uint32
}

// Error names the function and the result.
func (e *ResultError) Error() string {
	if text := resultTexts[e.Code]; text != "" {
		return fmt.Sprintf("%s returned %d (%s)", e.Func, e.Code, text)
	}
	return fmt.Sprintf("%s returned %d", e.Func, e.Code)
}

// Unwrap returns the diagnosis that the code stands for, or nil.
func (e *ResultError) Unwrap() error {
	switch e.Code {
	case 2:
		return ErrOtherClient
	case 4:
		return ErrOffline
	case 6:
		return ErrNotPreloaded
	}
	return nil
}
