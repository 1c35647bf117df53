package repair

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// mended are the findings of reading that are gone from what is written.
var mended = []string{
	chrome.RuleTruncated, chrome.RuleUnclosed, chrome.RuleCompressed, chrome.RuleTrailing, chrome.RuleComma, chrome.RuleLost,
	chrome.RuleQuote, chrome.RuleControl, chrome.RuleUTF8, chrome.RuleEscape, chrome.RuleNumber, chrome.RuleNoEvents,
	chrome.RuleDuration, chrome.RuleTime, chrome.RuleTimeText, chrome.RuleTimeRounded, chrome.RuleIDText, chrome.RuleID,
	chrome.RuleEndName, chrome.RuleEndOrder, chrome.RuleNoBegin, chrome.RuleNoEnd, chrome.RuleRenamed, chrome.RuleByteOrderMark,
}

// losses are the findings of reading that stand for events that are gone.
var losses = []string{chrome.RuleLost, chrome.RuleTime}

// missingTruncated is the loss of what stood behind the end of a cut file.
const missingTruncated = "file_truncated"

// text counts what reading mended, and mends what it keeps: keys that stand twice.
func (r *repairer) text() {
	count := r.doc.FindingCounts
	for _, rule := range mended {
		r.repaired(key(rule), int(count[rule]))
	}
	if n := count[chrome.RuleDuplicateKey]; n > 0 {
		r.repaired(key(chrome.RuleDuplicateKey), int(n))
		r.duplicates()
	}
	if n := int(count[chrome.RuleMember]) - r.membersKept(); n > 0 {
		r.repaired(key(chrome.RuleMember), n)
		r.remains(RemainingMembers, n)
	}
	for _, rule := range losses {
		n := count[rule]
		if rule == chrome.RuleTime {
			n = r.timesLost(n)
		}
		if n > 0 {
			r.lost[key(rule)] = n
		}
		r.remains(RemainingLost, int(n))
	}
	if n := int(count[chrome.RulePhase]) - r.phasesKept(); n > 0 {
		r.repaired(key(chrome.RulePhase), n)
		r.lost[key(chrome.RulePhase)] = uint64(n)
		r.remains(RemainingLost, n)
	}
	r.remains(RemainingTruncated, int(count[chrome.RuleTruncated]+count[chrome.RuleCompressed]))
}

// key is a rule's name as it stands in completeness records.
func key(rule string) string { return strings.ReplaceAll(rule, "-", "_") }

// joined counts the begin events that became spans. That is how a timeline has
// them, and no repair: it is told where something else was repaired.
func (r *repairer) joined() int {
	begins := uint64(0)
	for c, n := range r.doc.Counts {
		if c.Phase == 'B' {
			begins += n
		}
	}
	return int(begins)
}

// timesLost is the number of events that are left out for want of a time, of n
// findings about times: those that belong to an event of the timeline are not.
func (r *repairer) timesLost(n uint64) uint64 {
	for i := range r.doc.Findings {
		if f := &r.doc.Findings[i]; f.Rule == chrome.RuleTime && f.Event >= 0 && n > 0 {
			n--
		}
	}
	return n
}

// phasesKept counts the events of unknown phases, which stay.
func (r *repairer) phasesKept() int {
	n := 0
	for c, k := range r.doc.Counts {
		if !chrome.KnownPhase(c.Phase) {
			n += int(k)
		}
	}
	return n
}

// membersKept counts the findings about members that stay as they are.
func (r *repairer) membersKept() int {
	n := 0
	for i := range r.t.Metadata {
		switch r.t.Metadata[i].Key {
		case baseKey:
			if !r.t.Source.HasBase {
				n++
			}
		case chrome.KeyCompleteness:
			if r.t.Completeness == nil {
				n++
			}
		}
	}
	return n
}

// duplicates leaves of arguments and fields with one key the last, which is the
// one that counts for readers.
func (r *repairer) duplicates() {
	t := r.t
	args := map[uint32]uint32{}
	fields := map[uint32]uint32{}
	for i := range uint32(t.Events.Len()) {
		s := t.Source.Events.At(i)
		if s.Args != 0 {
			id, ok := args[s.Args]
			if !ok {
				id = s.Args
				if text, twice := unique(t.Args.At(s.Args)); twice {
					id = t.Args.Add(text)
					args[s.Args] = id
				}
			}
			if e := t.Events.At(i); id != s.Args && e.Detail == s.Args && (e.Kind.String() == "host" || e.Kind.String() == "other") {
				e.Detail = id
			}
			s.Args = id
		}
		s.Fields = r.uniqueText(fields, s.Fields)
	}
	for i := range uint32(t.Source.Flows.Len()) {
		s := t.Source.Flows.At(i)
		s.Fields = r.uniqueText(fields, s.Fields)
	}
}

func (r *repairer) uniqueText(known map[uint32]uint32, id uint32) uint32 {
	if id == 0 {
		return 0
	}
	to, ok := known[id]
	if !ok {
		to = id
		if text, twice := unique([]byte(r.t.Strings.At(id))); twice {
			to = r.t.Strings.IDBytes(text)
		}
		known[id] = to
	}
	return to
}

// unique returns members of an object with each key once, the last of it.
func unique(members []byte) (out []byte, twice bool) {
	last := map[string]int{}
	for m := chrome.WalkMembers(members); m.Next(); {
		if _, ok := last[string(m.Key)]; ok {
			twice = true
		}
		last[string(m.Key)] = m.Start
	}
	if !twice {
		return members, false
	}
	for m := chrome.WalkMembers(members); m.Next(); {
		if last[string(m.Key)] != m.Start {
			continue
		}
		if len(out) > 0 {
			out = append(out, ", "...)
		}
		out = append(out, members[m.Start:m.End]...)
	}
	return out, true
}
