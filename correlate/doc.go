// Package correlate joins what a tracer decoded, and what the host side
// recorded, into a timeline.
//
// Device work and API calls meet by the vendor's correlation id, API calls and
// operators by the framework's external id, or by time: the innermost operator of
// the same thread around the call. From these follow the External id of every
// device event, the arrows, the annotations' spans on the streams and the
// arguments of collectives. The host side's clock is aligned first, by the calls
// whose operator an id names.
//
// Life cycle: put the host's events into a Trace first, if there are any;
// New(trace); Add every decoded event in the order of the spool; Finish(options).
// Everything is joined in Finish, because records come in any order: a kernel's
// record stands before that of the call that launched it.
//
// Traps: event times stay in the tracer's clock until Finish, which maps them,
// drops what does not lie wholly in the window, and only then builds flows: so
// an arrow never has one end. The host's events are not the tracer's: they stand
// before Builder.first, in the order of the sessions they were recorded in.
package correlate
