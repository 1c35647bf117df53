package hugepage

import (
	"slices"
	"unsafe"
)

// Make is make([]T, n) with advice.
func Make[T any](n int) []T {
	s := make([]T, n)
	Advise(s)
	return s
}

// Advise asks for large pages under s, as far as its capacity goes. Little memory is
// left alone.
func Advise[T any](s []T) {
	var t T
	if bytes := uintptr(cap(s)) * unsafe.Sizeof(t); bytes >= worth {
		advise(uintptr(unsafe.Pointer(unsafe.SliceData(s))), bytes)
	}
}

// Append is append(s, v) for tables that become large: the room doubles, where append
// adds a quarter and copies more.
func Append[T any](s []T, v T) []T {
	if len(s) == cap(s) {
		s = slices.Grow(s, max(64, len(s)))
		Advise(s)
	}
	return append(s, v)
}

const (
	// worth is what a table must have, bytes, for a call of the system to be.
	worth = 128 << 10
	// growth is what Go's heap grows by, and is aligned to, bytes (pallocChunkBytes of
	// the runtime). It is a multiple of the large pages that are asked for.
	growth = 4 << 20
)

// around is the memory that the heap had to grow by to hold size bytes at address.
func around(address, size uintptr) (begin, end uintptr) {
	return address &^ (growth - 1), (address + size + growth - 1) &^ (growth - 1)
}
