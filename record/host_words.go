package record

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// noOperators puts the reasons for a trace without operators into words. One that
// is not here is shown as it stands.
var noOperators = map[string]string{
	timeline.ReasonNoBootstrap: "this Python process imported no torch, or nothing of ours ran in it (python -I, -S or -E, or a PYTHONPATH of its own)",
	timeline.ReasonNotUsed:     "torch was imported, and recording them was never called for: no window was open while the device was used",
	timeline.ReasonLost:        "what was recorded of them is lost, or could not be read",
	timeline.ReasonEmpty:       "torch ran none while it was recorded",
	"torch_unsupported":        "this version of torch cannot be recorded",
	"import_failed":            "the import of torch failed",
	"library":                  "the agent could not be reached from Python",
	"session_failed":           "torch's profiler could not be started",
	"save_failed":              "torch's profiler did not hand over what it had recorded",
	"busy":                     "another profiler held torch's",
	reasonUnwritten:            "the first slice of them is still being recorded (its length: --host-slice)",
	reasonSteps:                "the steps to record were not reached",
	reasonNoAgent:              "the agent did not record in this process",
	"python_unsupported":       "they are recorded with Python 3.8 and newer",
	"import_missed":            "another import hook kept us from noticing that torch was imported",
	"steps":                    "the steps to record could not be counted",
}

// unlinkedWords puts the reasons for a call or device work without an operator
// into words that follow a count.
var unlinkedWords = map[string]string{
	timeline.UnlinkedNoHost:         "with no operators recorded at all",
	timeline.UnlinkedBeforeHost:     "before operators were recorded",
	timeline.UnlinkedAfterHost:      "after operators were recorded",
	timeline.UnlinkedBetweenSlices:  "between two slices of the recording",
	timeline.UnlinkedLostSlice:      "in a slice that is lost",
	timeline.UnlinkedRemovedSlice:   "in a slice that was removed",
	timeline.UnlinkedProgramSession: "while the program's own profiler was on, or the last slice was not written",
	timeline.UnlinkedNoOperator:     "outside every operator",
	timeline.UnlinkedOtherThread:    "on threads of which no operator was seen",
	timeline.UnlinkedUnnamed:        "in operators without an id",
	timeline.UnlinkedNoCall:         "whose API call was not recorded",
}

// unlinked lists counts by reason, the largest first.
func unlinked(counts map[string]uint64) string {
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, r := range reasons {
		text, ok := unlinkedWords[r]
		if !ok {
			text = "(" + r + ")"
		}
		parts = append(parts, grouped(counts[r])+" "+text)
	}
	return strings.Join(parts, ", ")
}

func total(counts map[string]uint64) (n uint64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// hostNotes puts what is odd about the host side into words that follow a count.
var hostNotes = map[string]string{
	notedBadFile:              "files of the host side that were not taken",
	notedGarbage:              "lines of the host side's status that could not be understood",
	notedCut:                  "slices of operators that end early, taken as far as they go",
	notedRemoved:              "slices of operators removed, as --ring or --max-size asks",
	notedDoubled:              "events that two slices of operators both held, taken once",
	correlate.HostOutOfWindow: "events of the host side left out: they lie outside the recorded windows",
	correlate.HostUnfinished:  "operators still running when their slice ended, cut there",
	correlate.HostUnnamedIDs:  "API calls of operators that are not in the trace",
	correlate.HostRepeatedIDs: "external ids of several operators each, told apart by time",
	correlate.HostNotAligned:  "slices of operators with a clock that does not fit the API calls",
}

// operatorsMissing reports whether there were operators to record that are not in
// the trace, or none could be recorded. The verdict is on the device's side alone.
func operatorsMissing(o *timeline.Operators) bool {
	if o == nil || o.LostSlices == 0 && o.Seen > 0 {
		return false
	}
	switch o.Reason {
	case "", timeline.ReasonNotPython, timeline.ReasonNoBootstrap, timeline.ReasonNotUsed, timeline.ReasonEmpty, reasonSteps:
		return o.LostSlices > 0
	}
	return true
}

// printOperators says what there is of the framework's side.
func printOperators(b *bytes.Buffer, o *timeline.Operators) {
	if o == nil || o.Reason == timeline.ReasonNotPython {
		return
	}
	if o.Seen == 0 && (o.Reason != "" || o.LinkedByID == 0) {
		why, ok := noOperators[o.Reason]
		if !ok {
			why = cmp.Or(o.Reason, "none were recorded")
		}
		fmt.Fprintf(b, "  no operators: %s\n", line(why))
		return
	}
	text := "operators: " + grouped(o.Seen)
	if o.Framework != "" {
		text += " of torch " + o.Framework
	}
	if o.Slices > 1 {
		text += fmt.Sprintf(" in %d slices", o.Slices)
	}
	linked := o.LinkedByID + o.LinkedByTime
	text += fmt.Sprintf("; %s of %s API calls and %s of %s device events have one", grouped(linked), grouped(linked+total(o.CallsUnlinked)),
		grouped(o.DeviceLinked), grouped(o.DeviceLinked+total(o.DeviceUnlinked)))
	if o.LinkedByTime > 0 {
		text += fmt.Sprintf(" (%s by time)", plural(o.LinkedByTime, "calls"))
	}
	fmt.Fprintf(b, "  %s\n", line(text))
	if len(o.DeviceUnlinked) > 0 {
		fmt.Fprintf(b, "  note: device events without an operator: %s\n", line(unlinked(o.DeviceUnlinked)))
	}
	if o.Disagreed > 0 {
		fmt.Fprintf(b, "  note: for %s the external id names another operator than time does; the id counts\n", plural(o.Disagreed, "API calls"))
	}
	if o.LostSlices > 0 {
		fmt.Fprintf(b, "  note: the operators of %s are lost\n", plural(o.LostSlices, "slices"))
	}
	for _, code := range slices.Sorted(maps.Keys(o.Noted)) {
		text, ok := hostNotes[code]
		if !ok {
			text = "(" + code + ")"
		}
		fmt.Fprintf(b, "  note: %s\n", line(plural(o.Noted[code], text)))
	}
}
