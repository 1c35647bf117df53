package chrome

import "fmt"

// Severity says how much a finding weighs.
type Severity uint8

// Severities.
const (
	Note    Severity = iota // unusual, and harmless
	Warning                 // something had to be mended or guessed
	Error                   // something is lost
)

var severityNames = [...]string{"note", "warning", "error"}

// String returns "note", "warning" or "error".
func (s Severity) String() string {
	if int(s) < len(severityNames) {
		return severityNames[s]
	}
	return "error"
}

// Finding is one thing about a trace that a careful reader would mention.
type Finding struct {
	Rule     string // one of the Rule constants
	Severity Severity
	Offset   int64 // in the text of the document, after decompression, bytes
	Event    int64 // index in the timeline's Events; -1 where there is none
	Text     string
}

// String returns the finding in one line.
func (f Finding) String() string {
	return fmt.Sprintf("byte %d: %s: %s [%s]", f.Offset, f.Severity, f.Text, f.Rule)
}

// Rules that reading itself checks.
const (
	RuleTruncated      = "truncated"        // the text ends inside an event or member
	RuleUnclosed       = "unclosed"         // a closing bracket is missing at the end
	RuleCompressed     = "compressed-data"  // the compressed data ends early or is damaged
	RuleTrailing       = "trailing-data"    // there is text behind the document
	RuleComma          = "comma"            // a comma too many or missing
	RuleLost           = "unreadable-event" // text that is no event was skipped
	RuleQuote          = "unescaped-quote"  // a quote inside a string was not escaped
	RuleControl        = "control-character"
	RuleUTF8           = "bad-utf8"
	RuleEscape         = "bad-escape"    // a backslash that escapes nothing
	RuleNumber         = "bad-number"    // NaN, Infinity and what else is no JSON number
	RuleDuplicateKey   = "duplicate-key" // the last one counts
	RuleMember         = "bad-member"    // a top-level member that cannot be understood
	RuleNoEvents       = "no-events"     // no traceEvents
	RulePhase          = "unknown-phase"
	RuleTime           = "bad-time"     // ts or dur missing, no number, or out of range
	RuleDuration       = "bad-duration" // negative, or missing
	RuleTimeText       = "time-as-text" // ts or dur quoted
	RuleTimeRounded    = "time-rounded" // more digits than nanoseconds
	RuleIDText         = "id-as-text"   // a number as pid, tid quoted
	RuleID             = "bad-id"       // an arrow without id; an id that is no number
	RuleEndName        = "end-name"     // an end closes a begin of another name
	RuleEndOrder       = "end-order"    // an end closes a begin that is not the innermost
	RuleNoBegin        = "end-no-begin" // an end without begin
	RuleNoEnd          = "begin-no-end" // a begin without end
	RuleRenamed        = "row-renamed"  // a row or process named twice
	RuleByteOrderMark  = "byte-order-mark"
	RuleArgs           = "bad-args" // args that are no object
	RuleExternalID     = "bad-external-id"
	RuleCorrelationBad = "bad-correlation"
)

var ruleSeverity = map[string]Severity{
	RuleTruncated: Error, RuleCompressed: Error, RuleLost: Error, RuleMember: Error, RuleTime: Error, RulePhase: Warning,
	RuleUnclosed: Warning, RuleTrailing: Warning, RuleComma: Warning, RuleQuote: Warning, RuleControl: Warning, RuleUTF8: Warning,
	RuleEscape: Warning, RuleNumber: Warning, RuleDuplicateKey: Warning, RuleNoEvents: Error, RuleDuration: Warning,
	RuleID: Warning, RuleEndName: Warning, RuleEndOrder: Warning, RuleNoBegin: Warning, RuleNoEnd: Warning,
	RuleRenamed: Note, RuleTimeText: Note, RuleTimeRounded: Note, RuleIDText: Note, RuleByteOrderMark: Note,
	RuleArgs: Warning, RuleExternalID: Warning, RuleCorrelationBad: Warning,
}

// findings collects findings: the first of each rule in full, all of them as
// counts.
type findings struct {
	limit  int
	list   []Finding
	counts map[string]uint64
}

func (f *findings) add(rule string, offset, event int64, text string) {
	if f.counts == nil {
		f.counts = map[string]uint64{}
	}
	f.counts[rule]++
	if f.counts[rule] <= uint64(f.limit) {
		f.list = append(f.list, Finding{rule, ruleSeverity[rule], offset, event, text})
	}
}
