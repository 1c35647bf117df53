// Command bench measures how fast traces are read, validated and reduced, in proportion to what
// Python's json.load and gunzip take for the same files in the same run, and prints a
// table in Markdown.
//
//	go run ./bench -o docs/speed.md
//
// The documents are copies of one trace of training, shifted in time, process and ids
// so that they are one plausible trace. What is measured runs in processes of its own:
// wall time, and the most memory that the system saw them hold.
//
// Traps:
//   - Ratios are of one run on one machine. A machine that is busy makes all of them
//     worse, and not evenly; the table says how busy it was.
//   - What cannot be measured (no python3, no trace) is left out, with the reason.
package main
