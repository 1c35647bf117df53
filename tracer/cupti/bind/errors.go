package bind

import (
	"errors"
	"fmt"
)

// Diagnoses: why CUPTI cannot be used, or not fully. Compare with errors.Is.
var (
	// ErrNotFound: no libcupti could be opened.
	ErrNotFound = errors.New("libcupti not found: install the CUPTI that belongs to the program's CUDA, or name it in FLAGOS_CUPTI_LIBRARY")
	// ErrMissingSymbol: the library lacks a function without which nothing works.
	ErrMissingSymbol = errors.New("libcupti lacks a function that tracing needs: it is too old, or not CUPTI")
	// ErrTooNew: the library is newer than the driver allows.
	ErrTooNew = errors.New("libcupti is newer than the driver allows: use the CUPTI of an older CUDA, or update the driver")
	// ErrUnsupportedDevice: the library does not know this generation of device
	// and would silently deliver nothing.
	ErrUnsupportedDevice = errors.New("libcupti does not support this device and delivers no records for it: use a newer CUPTI")
	// ErrOtherClient: another client uses the library in a way that excludes us.
	ErrOtherClient = errors.New("another profiler in the process uses libcupti through an interface that excludes this one")
	// ErrNotPermitted: the system does not let this user trace.
	ErrNotPermitted = errors.New("this user or environment may not trace the device")
)

// Result codes. Source: cupti_result.h.
const (
	resultOK              = 0
	resultMaxLimit        = 12
	resultNotCompatible   = 14
	resultNotInitialized  = 15
	resultInvalidKind     = 21
	resultVirtualized     = 33
	resultPrivileges      = 35
	resultMultipleClients = 39
	resultConfidential    = 41
)

// ResultError is a result code of a library function.
type ResultError struct {
	Func string
	Code uint32
	Text string // the library's name of the code

	vendor *Dialect // of a library other than CUPTI, whose codes are only partly CUPTI's
}

// Error names the function and the result.
func (e *ResultError) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%s returned %d", e.Func, e.Code)
	}
	return fmt.Sprintf("%s returned %d (%s)", e.Func, e.Code, e.Text)
}

// Unwrap returns the diagnosis that the code stands for, or nil.
func (e *ResultError) Unwrap() error {
	if e.vendor != nil {
		return nil
	}
	switch e.Code {
	case resultNotInitialized:
		return ErrTooNew
	case resultNotCompatible, resultMultipleClients:
		return ErrOtherClient
	case resultPrivileges, resultVirtualized, resultConfidential:
		return ErrNotPermitted
	}
	return nil
}
