// Package dl finds and opens vendor libraries in the process it runs in, and reads
// what their records point to.
//
// It asks, in this order of preference, what the process has already mapped
// (Loaded, Mapped), and only then opens something new (Open): two copies of a
// profiling library in one process disturb each other.
//
// Life cycle: a Library is never closed. Its functions may be running on other
// threads, and vendor libraries do not survive unloading.
//
// Traps:
//   - The name a library was opened by says little; Path is the file really
//     mapped, taken from the process map at the address of a symbol.
//   - Pointers in records may be stale: they are read by Peeker alone, which survives
//     any address. What C writes to must come from NewOut or NewBytes.
//   - Loaded works as meant on glibc; with other C libraries it may open the
//     library.
package dl
