// Package load reads the sides of comparisons from files: traces, baseline files,
// and embedded baselines by name.
//
// Life cycle: Side or Named for a comparison of structure, Run for one of times; the
// results are only read, and can be compared as often as one likes.
//
// Trap: a zip archive holds several traces, and then one has to be named. Names of
// traces are those of chrome.Document: the path, or path/member.
package load
