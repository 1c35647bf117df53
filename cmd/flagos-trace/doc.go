// Command flagos-trace records what a program does on a GPU, without a change
// to the program, as a trace that torch.profiler's tools understand.
//
// There is a file for each command: flags in, one call into a package, printing
// out. docs/cli.md is made from the help texts (go test . -update).
//
// Trap: `record` must not print to stdout, which is the recorded program's.
package main
