// Package cut takes a part of a trace: a span of time, steps of training, ranks,
// processes, categories, devices, streams.
//
// What is kept is kept as it stood: names, times, arguments byte for byte. An arrow
// keeps both of its ends or neither; one that had a single end before keeps it.
// Rows and processes go when everything that stood on them went. The window of the
// trace becomes that of the part, and the completeness record says that it is one;
// in a trace without such a record a member of the document does (KeyCuts).
//
// Life cycle: Trace makes a new timeline and leaves the old one alone; the two share
// nothing.
//
// Traps:
//   - Where device work belongs is a question of its own: to the time at which it ran
//     or to the time at which it was launched. See Options.Launched.
//   - Events that reach over an end of the window are kept whole unless
//     Options.Straddling says otherwise, so that sums over the part count all of them,
//     and the window is widened to hold them. Python functions do not widen it: the
//     outermost ones last as long as the program.
//   - Steps are those of each process: in a merged trace step 3 of one rank need not
//     be at the time of step 3 of another.
//   - Ids are not renumbered. In a document of several processes with ids in common,
//     device work is told to the wrong call here as everywhere.
package cut
