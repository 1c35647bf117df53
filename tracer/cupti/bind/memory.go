package bind

import "unsafe"

// C writes through the addresses below while the caller's stack may still move
// (a call can grow it), so what they point to must be on the heap: the
// allocating functions are kept out of line, where their result escapes.

// newOut returns two result slots for C.
//
//go:noinline
func newOut() *[2]uint64 { return new([2]uint64) }

// newBytes returns n bytes for C to fill.
//
//go:noinline
func newBytes(n int) []byte { return make([]byte, n) }

// outPtr is the address of a result slot.
func outPtr(p *[2]uint64, i int) uintptr { return uintptr(unsafe.Pointer(&p[i])) }

// bytesPtr is the address of the first byte of b, which must not be empty.
func bytesPtr(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// wordPtr is the address of v.
func wordPtr(v *uintptr) uintptr { return uintptr(unsafe.Pointer(v)) }
