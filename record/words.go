package record

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// reasons puts the reasons of a completeness record into words that follow a
// count. A reason that is not here is shown as it stands.
var reasons = map[string]string{
	tracer.DropUntimed:         "records without a start time",
	tracer.DropNegative:        "records that end before they start",
	tracer.DropTooLong:         "records longer than an hour",
	tracer.DropNoName:          "kernels whose name could not be read",
	tracer.DropLayout:          "records that are not laid out as those of the library's version",
	tracer.DropForeignExternal: "external ids of another tool",
	tracer.DropNoCallbackName:  "API calls whose name is not known",
	timeline.DropOtherClock:    "records in a clock that nothing ties to the wall clock",
	timeline.DropOutOfWindow:   "records outside the recorded window",
	timeline.DropFiltered:      "API calls left out by the level of API recording",
	timeline.DropOwnCalls:      "API calls of the recorder itself",
	tracer.RepairClamped:       "spans that ended before they started, now of no length",
	tracer.RepairIncomplete:    "spans still running at the end, cut there",
	tracer.RepairInherited:     "API calls with the id of an earlier one, now without",
	tracer.RepairUnnamed:       "kernels for which the vendor's library has no name",
}

// losses puts the codes of losses of unknown size into words. One that is not
// here is shown as it stands.
var losses = map[string]string{
	spool.LossDevice: "the work of a device that the vendor's library does not support",
	spool.LossClock:  "records since another profiler in the process took over the vendor's library",
	spool.LossMemory: "everything: there was no memory for buffers",
	spool.LossFlush:  "records that the vendor's library did not hand over when it was asked to",
	spool.LossAgent:  "the end of the recording: the agent failed",
	spool.LossStart:  "everything: the agent could not be started in the process",

	spool.LossMaxSize: "what came after the data had the size allowed (--max-size)",
}

// loss puts a code into words.
func loss(code string) string {
	if text, ok := losses[code]; ok {
		return text
	}
	if kind, ok := strings.CutSuffix(code, refused); ok {
		return fmt.Sprintf("all %s events: the vendor's library refused to record them", kind)
	}
	return code
}

// account is a completeness record in words.
type account struct {
	Lost  []string // what is known to be missing
	Maybe []string // what may be missing
	Notes []string // what was left out or mended, with nothing missing for it
}

func explain(c *timeline.Completeness) account {
	var a account
	for _, reason := range slices.Sorted(maps.Keys(c.Dropped)) {
		text := counted(c.Dropped[reason], reason)
		switch {
		case c.Dropped[reason] == 0:
		case timeline.NotALoss(reason):
			a.Notes = append(a.Notes, text)
		default:
			a.Lost = append(a.Lost, text)
		}
	}
	if b := c.Buffers; b != nil {
		if b.RecordsDropped != nil && *b.RecordsDropped > 0 {
			a.Lost = append(a.Lost, plural(*b.RecordsDropped, "records dropped by the vendor's library"))
		}
		if b.Discarded > 0 {
			a.Lost = append(a.Lost, plural(b.Discarded, fmt.Sprintf("buffers (%s) discarded because the program outran the spool", size(int64(b.BytesDiscarded)))))
		}
		if b.WriteErrors > 0 || b.BytesUnwritten > 0 {
			a.Lost = append(a.Lost, fmt.Sprintf("%s that could not be written in %s to the spool (is its disk full?)",
				size(int64(b.BytesUnwritten)), plural(b.WriteErrors, "writes")))
		}
	}
	if s := c.Spool; s != nil {
		if s.BadFrames > 0 {
			a.Lost = append(a.Lost, plural(s.BadFrames, "damaged frames of the spool"))
		}
		if s.TornBytes > 0 {
			a.Lost = append(a.Lost, size(s.TornBytes)+" at the end of the spool, written only in part")
		}
		if s.LostBytes > 0 {
			a.Lost = append(a.Lost, size(int64(s.LostBytes))+" of buffers that could not be decoded")
		}
	}
	for _, code := range c.Missing {
		a.Lost = append(a.Lost, loss(code))
	}
	switch {
	case c.Ended == timeline.EndUnavailable && slices.Contains(c.Missing, spool.LossStart): // said above
	case c.Ended == timeline.EndUnavailable:
		a.Lost = append(a.Lost, "everything: the vendor's library could not be used")
	case c.Flushed != nil && !*c.Flushed:
		a.Lost = append(a.Lost, "the last records: the vendor's library did not hand them over in time")
	case c.Ended == timeline.EndCut:
		a.Maybe = append(a.Maybe, "it ended without handing over its last records: what came after they were last fetched (every 50 ms, "+
			"as long as the program let the agent write) may be missing")
	case c.Ended == timeline.EndRunning:
		a.Maybe = append(a.Maybe, "the process was still running: its trace stops where it was read")
	case c.Ended == "":
		a.Maybe = append(a.Maybe, "nothing was recorded")
	}
	for _, reason := range slices.Sorted(maps.Keys(c.Repaired)) {
		if n := c.Repaired[reason]; n > 0 {
			a.Notes = append(a.Notes, counted(n, reason))
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(c.Unlinked)) {
		if n := c.Unlinked[reason]; n > 0 {
			a.Notes = append(a.Notes, plural(n, reason+" events whose API call was not recorded"))
		}
	}
	if n := c.Noted[orphanArrows]; n > 0 {
		a.Notes = append(a.Notes, plural(n, "ends of arrows between operators left out: the host trace lacks their other end"))
	}
	if n := c.Noted[correlate.NotedEndsAlone]; n > 0 {
		a.Notes = append(a.Notes, plural(n, "ends of NVTX ranges that began before recording did, left out"))
	}
	if n := c.Noted[correlate.NotedOpenRanges]; n > 0 {
		a.Notes = append(a.Notes, plural(n, "NVTX ranges whose end was not recorded, drawn to the window's end"))
	}
	if n := c.Noted[notedSessions]; n > 0 {
		a.Notes = append(a.Notes, plural(n, "sessions of the program's own profiler ran beside the recording; both have their records"))
	}
	if n := c.Noted[notedWindows]; n > 0 {
		a.Notes = append(a.Notes, fmt.Sprintf("recorded in %d windows; what happened between them is not in the trace", n))
	}
	if n := c.Noted[notedRing]; n > 0 {
		a.Notes = append(a.Notes, size(int64(n))+" of older data were removed, as --ring asks: the window begins behind them")
	}
	if n := c.Noted[notedMaxSize]; n > 0 {
		a.Notes = append(a.Notes, size(int64(n))+" of data came after --max-size was reached and were left out")
	}
	return a
}

func counted(n uint64, reason string) string {
	text, ok := reasons[reason]
	if !ok {
		text = "records: " + reason
	}
	return plural(n, text)
}

// plurals finds the first noun of a text that follows a count.
var plurals = regexp.MustCompile(`\b(record|text|call|span|kernel|id|event|buffer|frame|write|end|spool|slice|file|line|range|operator|session)s\b`)

// plural puts a count before a text in the plural, and its first noun into the
// singular where the count is one.
func plural(n uint64, text string) string {
	if n == 1 {
		if at := plurals.FindStringSubmatchIndex(text); at != nil {
			text = text[:at[3]] + text[at[1]:]
		}
	}
	return grouped(n) + " " + text
}
