//go:build !linux

package hugepage

func advise(address, size uintptr) {}
