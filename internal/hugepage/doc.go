// Package hugepage asks the system for large pages under tables of millions of
// elements.
//
// Most systems give a program pages of 4 KiB, each with a fault when it is first
// touched, unless it asks for larger ones (transparent_hugepage is "madvise"). Reading a
// trace of 200 MB touches 30,000 new pages; where a fault costs microseconds, as in
// virtual machines, that is a third of the time.
//
// Life cycle: none. Make a table with [Make], or call [Advise] on memory that was just
// made and not yet touched.
//
// Traps:
//   - It is advice. A system that cannot follow it gives small pages, and nothing is
//     told: the program is slower, not wrong.
//   - The advice is given for the whole piece that Go's heap grew by, so that what else
//     lies there is served as well. That is never memory of anybody else.
//   - Where a large page is more than 2 MiB (arm64 with pages of 64 KiB), nothing is
//     asked for: a small table would take all of it.
package hugepage
