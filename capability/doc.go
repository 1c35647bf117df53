// Package capability says what vendors' profiling libraries cannot deliver: a table,
// vendors.yaml, with the reason and where that was read. What compares or checks traces
// asks it before it calls something missing.
//
// Life cycle: Default for the table that comes with the program, Read for another; both
// are only read from then on.
//
// # Traps
//
//   - A vendor has several names. Vendors is by those of the table: ask Vendor first.
//   - An entry says that the library cannot, not that a trace may not: what is there all
//     the same is judged like any other's.
package capability
