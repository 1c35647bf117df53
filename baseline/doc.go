// Package baseline holds the structure of a trace against another's, or against a
// baseline file's: is everything there that readers of the trace rely on, with the
// same names, types, joins and sane figures?
//
// Life cycle: make two sides with [FromTrace] or [FromFile] ([Default] is the
// embedded one of torch-cuda), and call [Diff]; [Parity] asks Torch-FL's seven
// assertions of one trace, absolutely. The outcome is a [verdict.Result].
//
//	docs, err := chrome.ReadFile("new.json.gz", chrome.ReadOptions{})
//	o, err := shape.Observe(docs[0])
//	r, err := baseline.Diff(baseline.Default(), baseline.FromTrace(o), baseline.Options{Now: time.Now()})
//
// What a shape is, and how it is observed, is package shape; what a verdict is,
// package verdict. What the libraries of vendors cannot deliver is a table,
// package capability.
//
// # Traps
//
//   - The new side is judged relative to the base: what is broken in both alike is no
//     difference. Against a file that says nothing about a rule, the rule is judged by
//     itself.
//   - Nothing recorded is no pass: the assertion is "not recorded" then, and the
//     verdict inconclusive.
//   - The order of the table of assertions is that in which findings are told: causes
//     before consequences.
package baseline

//go:generate go run ../internal/gen/baseline -o torch-cuda.json
