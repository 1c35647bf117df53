// Package validate says what is wrong with a trace, whoever wrote it.
//
// # Life cycle
//
// [Run] reads a document once, from text, gzip or zstd, and returns a [Report]:
// the findings with rule, severity, event and byte offset, how often each rule was
// broken, and the rules that the producer cannot keep, each with the reason.
// [Rules] is the table that all of it is made of.
//
// Reading is strict and goes on: what is no JSON becomes a finding, and the next
// event is looked for. The text is cut into chunks where events seem to begin;
// chunks are read at once, and one that turns out to begin elsewhere is read again
// behind its predecessor. Each event leaves a record of fixed size; names,
// categories and rows become numbers. The rules between events are linear passes,
// tables by id, and one sort a row.
//
// # Traps
//
//   - Rules hold for what producers really write. An arrow that ends at a plain API
//     call is normal for Kineto, so it is a note of a rule of its own, and no
//     weaker form of an error.
//   - A rule that compares times allows for how they were rounded: before March
//     2024 Kineto wrote whole microseconds.
//   - Findings count breaches, not causes: one clock that is off breaks a rule for
//     every kernel. Only the first of each rule are kept, all are counted.
//   - Names are kept up to a bound; in a document with more, later ones are empty
//     in findings and are not checked.
package validate
