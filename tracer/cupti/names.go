package cupti

import "strings"

// Callback domains. Source: cupti_callbacks.h.
const (
	DomainDriver  = 1
	DomainRuntime = 2
)

// CallbackName returns the name of an API call as traces show it, from the
// table of CUDA 13.0 U1. ok is false for an id the table does not have; the
// library itself may know it.
func CallbackName(domain, cbid uint32) (name string, ok bool) {
	var raw string
	switch {
	case domain == DomainDriver && cbid < uint32(len(driverNames)):
		raw = driverNames[cbid]
	case domain == DomainRuntime && cbid < uint32(len(runtimeNames)):
		raw = runtimeNames[cbid]
	}
	if raw == "" {
		return "", false
	}
	return DisplayName(raw), true
}

// DisplayName turns a callback name as CUPTI gives it into the one traces show:
// the release suffix "_v7000" goes, an ABI suffix "_v2" stays, and the
// per-thread-default-stream variants "_ptsz" and "_ptds" fold to their base
// name (Kineto keeps those two).
func DisplayName(raw string) string {
	if i := strings.LastIndexByte(raw, '_'); i > 0 && len(raw)-i-2 >= 4 && raw[i+1] == 'v' && digits(raw[i+2:]) {
		raw = raw[:i]
	}
	raw = strings.TrimSuffix(raw, "_ptsz")
	return strings.TrimSuffix(raw, "_ptds")
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
