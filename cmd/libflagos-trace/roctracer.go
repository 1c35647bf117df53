package main

/*
#include "roctracer.h"
static uintptr_t roc_complete(void) { return (uintptr_t)ft_roc_complete; }
static uintptr_t roc_call(void) { return (uintptr_t)ft_roc_call; }
static uintptr_t roc_push(void) { return (uintptr_t)ft_roc_push; }
static uintptr_t roc_pop(void) { return (uintptr_t)ft_roc_pop; }
static void roc_open(uintptr_t timestamp, const uint8_t *shapes, uint32_t n) { ft_roc_open((void *)timestamp, shapes, n); }
*/
import "C"

import (
	"unsafe"

	roctracer "github.com/flagos-ai/flagos-trace/tracer/roctracer/bind"
)

var _ roctracer.Shim = shim{}

func (shim) RoctracerFuncs() (complete, call, push, pop uintptr) {
	return uintptr(C.roc_complete()), uintptr(C.roc_call()), uintptr(C.roc_push()), uintptr(C.roc_pop())
}

func (shim) RoctracerOpen(timestamp uintptr, shapes []uint8) {
	C.roc_open(C.uintptr_t(timestamp), (*C.uint8_t)(unsafe.SliceData(shapes)), C.uint32_t(len(shapes)))
}

func (shim) RoctracerFlush() { C.ft_roc_flush() }
