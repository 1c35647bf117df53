// Package testrig builds the programs of this module as a release does, for the
// tests that run them from end to end.
//
// # Use
//
//	func TestMain(m *testing.M) { os.Exit(testrig.Run(m)) }
//
//	bin := testrig.Programs(t) // flagos-trace, libflagos_trace.so, libflagos_trace_go.so
//
// # Life cycle
//
// The programs are built at the first call of Programs in a test binary, into a
// temporary folder that Run removes when the tests are over.
//
// # Traps
//
//   - With FLAGOS_TRACE_PROGRAMS set, what lies in that folder is tested, however old.
//   - The agent needs a C compiler and is built with cgo; without gcc the test
//     fails here rather than being skipped. Ask for the look-alike libraries
//     (fakegpu.Get) first, which skips it.
package testrig
