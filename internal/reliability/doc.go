// Package reliability holds the tests of what a recorder promises when things go
// wrong: however a program ends, whatever the vendor's library or the disk does,
// the program goes on as it would have, what was recorded is in the trace, and
// what is not is told, in the trace and on the terminal. It has no code of its
// own.
//
// # What is where
//
//   - rig_test.go records a program with the real flagos-trace and the real agent
//     on the look-alike libraries of internal/fakegpu; trace_test.go reads the
//     trace that came of it, by nothing but the file.
//   - faults_*_test.go are the faults, one row each, run by TestFaults.
//   - report_test.go writes what was seen into docs/reliability.md.
//
// # Use
//
//	go test ./internal/reliability                      # each fault once, or a few times
//	make reliability                                    # many tries, and the page
//
// # Traps
//
//   - Kernels of the look-alike compute nothing: how many records are kept is
//     real, how fast the program is says nothing about a GPU.
//   - The clock of the look-alike's records is CLOCK_REALTIME, as are the times
//     that its workload notes with --progress: they can be compared.
package reliability
