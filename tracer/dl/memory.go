package dl

import "unsafe"

// C writes through the addresses below while the caller's stack may still move
// (a call can grow it), so what they point to must be on the heap: the
// allocating functions are kept out of line, where their result escapes.

// NewOut returns two result slots for C.
//
//go:noinline
func NewOut() *[2]uint64 { return new([2]uint64) }

// NewBytes returns n bytes for C to fill.
//
//go:noinline
func NewBytes(n int) []byte { return make([]byte, n) }

// OutPtr is the address of a result slot.
func OutPtr(p *[2]uint64, i int) uintptr { return uintptr(unsafe.Pointer(&p[i])) }

// BytesPtr is the address of the first byte of b, which must not be empty.
func BytesPtr(b []byte) uintptr { return uintptr(unsafe.Pointer(&b[0])) }

// WordPtr is the address of v.
func WordPtr(v *uintptr) uintptr { return uintptr(unsafe.Pointer(v)) }
