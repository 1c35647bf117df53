package cut

import (
	"errors"
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Errors that Trace and ParseWindow wrap; test with errors.Is.
var (
	// ErrNothing: no event of the trace is in the part.
	ErrNothing = errors.New("cut: nothing is left")
	// ErrUnknown: the trace has no such step, rank, process, category, device or
	// stream.
	ErrUnknown = errors.New("cut: not in the trace")
	// ErrTime: a time, or a range of steps, cannot be read.
	ErrTime = errors.New("cut: bad time")
)

// Straddling says what becomes of spans that reach over an end of the window.
type Straddling uint8

const (
	Whole   Straddling = iota // kept as they are; the window is widened
	Clipped                   // kept, and cut off at the window
	Left                      // left out
)

var straddlingNames = [...]string{Whole: "whole", Clipped: "clip", Left: "drop"}

// String returns "whole", "clip" or "drop".
func (s Straddling) String() string { return straddlingNames[s] }

// ParseStraddling is the inverse of String.
func ParseStraddling(s string) (Straddling, bool) {
	for i, n := range straddlingNames {
		if n == s {
			return Straddling(i), true
		}
	}
	return 0, false
}

// Options say which part of a trace is wanted. Each that is set narrows it.
type Options struct {
	// Window is the span of time, its end not included; nil is all.
	Window *timeline.Window
	// Steps are those between the annotations ProfilerStep#N; nil is all.
	Steps *Steps
	// Ranks are told by the labels of processes ("rank 3"), or by distributedInfo in
	// the trace of one rank. PIDs are process ids as rows have them.
	Ranks []int64
	PIDs  []string
	// Categories are those of the document, or names of kinds: kernel, memcpy,
	// memset, runtime, driver, sync, overhead, host.
	Categories []string
	// Devices and Streams narrow device work; what is no device work is not
	// narrowed by them.
	Devices, Streams []uint32
	// Launched: device work, waits and annotations on a device belong to the time at
	// which their API call was made, where it is in the trace; else to that at which
	// they ran.
	Launched   bool
	Straddling Straddling
}

// Steps is a range of step numbers, both included.
type Steps struct{ First, Last int64 }

// String says what was asked for.
func (o *Options) String() string {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if o.Window != nil {
		add("time %d to %d ns", o.Window.Start, o.Window.End)
	}
	if o.Steps != nil {
		add("steps %s", o.Steps)
	}
	if len(o.Ranks) > 0 {
		add("ranks %v", o.Ranks)
	}
	if len(o.PIDs) > 0 {
		add("processes %v", o.PIDs)
	}
	if len(o.Categories) > 0 {
		add("categories %v", o.Categories)
	}
	if len(o.Devices) > 0 {
		add("devices %v", o.Devices)
	}
	if len(o.Streams) > 0 {
		add("streams %v", o.Streams)
	}
	if o.timed() {
		if o.Launched {
			add("device work by its launch")
		} else {
			add("device work by its own time")
		}
		add("straddling events: %s", o.Straddling)
	}
	return strings.Join(parts, "; ")
}

func (o *Options) timed() bool { return o.Window != nil || o.Steps != nil }

// Result says what was cut.
type Result struct {
	Events, Of   int // kept, and in the trace
	Arrows       int // that lost an end, and with it the other
	Straddling   int // events that reach over an end of the window
	Window       timeline.Window
	LaunchedLate int // device work of the part that ran, or ended, behind the window asked for
}
