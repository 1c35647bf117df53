// Package event is the vocabulary every other package shares: what a device
// tracer can say about one activity, in terms no vendor owns.
//
// A decoder (package tracer/cupti and its siblings) turns a vendor's activity
// record into one Event; package correlate joins Events into a timeline. The
// package imports nothing else of this module.
//
// Life cycle: a decoder owns one Event and reuses it for every record, so a
// consumer copies what it needs before returning.
//
// Traps:
//   - A field is meaningful only when its bit stands in Has (for fields that a
//     library version may lack); a zero there is a value, not "unknown".
//   - Start and End are in the tracer's own clock until correlate maps them.
//   - Correlation pairs an API call with its device work; ExternalID names the
//     framework's operator. They are different id spaces and must never be
//     compared. External id 0 is a value; absence is the missing record.
package event
