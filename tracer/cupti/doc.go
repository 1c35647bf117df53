// Package cupti decodes the activity records of NVIDIA's CUPTI.
//
// The half that runs in the traced process is package tracer/cupti/bind; this
// one is pure. Layouts (which bytes of which record revision mean what) and API
// names are tables generated from the abi folder; records are read by offset,
// never by struct cast, and a record's size is what the table or the library's
// own iterator says, never computed.
//
// Life cycle: NewDecoder for one process, then as package tracer says.
//
// Traps:
//   - CUPTI writes the newest revision it knows, whatever the client was compiled
//     against, and puts no length into a record. A wrong API version therefore
//     shows as garbage kinds; the walk notices and gives the buffer up with an
//     error rather than guess.
//   - From Kernel3 on, newer revisions only append fields, so for a larger,
//     unknown record the known prefix holds. For a smaller one nothing does.
//   - Correlation ids are 32 bits and wrap (in about 2.2 h at 540,000 calls a
//     second); the decoder extends them, so every record that carries one must
//     pass through it in the order of the spool.
package cupti

//go:generate go run ../../internal/gen/cuptilayout -abi abi -out .
