// Package musa decodes the activity records of Moore Threads' MUPTI, which is
// modelled on CUPTI. All it adds to package tracer/cupti is a table.
//
// No header of MUPTI is public. What is relied on: its users cast its records to
// types of CUPTI's names, whose first bytes are the same in every version, and its
// runtime's callback ids are CUDA's up to 479, with ids of its own from 480 on. How
// long its records are is not known: the library's iterator says, in the process.
//
// Life cycle and traps are those of package tracer/cupti; see cupti.Dialect for the
// trial that the layout is put to.
package musa
