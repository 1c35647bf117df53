// Package bind is the half of the MUSA tracer that runs inside the traced process. It
// is package tracer/cupti/bind with the table below.
package bind
