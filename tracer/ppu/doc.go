// Package ppu decodes the activity records of T-Head's PPU, whose SDK has a library
// that stands in for CUPTI. All it adds to package tracer/cupti is a table.
//
// Nothing of it is public; that callback ids are CUDA's and that records begin like
// CUPTI's is what its users rely on. Whether it records fills is not known: they expect
// none, and none are asked for.
//
// Life cycle and traps are those of package tracer/cupti; see cupti.Dialect for the
// trial that the layout is put to.
package ppu
