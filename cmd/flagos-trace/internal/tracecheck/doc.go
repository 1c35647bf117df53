// Package tracecheck reads a trace with a strict JSON parser and holds it
// against the rules that viewers rely on. It shares no code with the writer, so
// that a mistake of the writer is not made twice.
//
// The rules: the document is one JSON object, UTF-8, with an array traceEvents
// of objects; no object in it, however deep, names a key twice; every event has a
// phase; a span ("X") has a name, a category, a row, a time and a duration that is
// not negative; spans of one row lie side by side or inside each other; every
// arrow has a beginning and an end, each on a span, and its end is bound to that
// span ("bp": "e"); a span of category Trace, the recorded window, holds all
// other spans and arrows. In a document with this tool's record of completeness
// before its events, every time has three decimals.
//
// Life cycle: call Read once; look at Report.Findings.
//
// Trap: the rules are those of this tool's own traces. Kineto's own documents
// break some of them now and then (arrows with one end, spans that overlap).
package tracecheck
