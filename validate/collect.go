package validate

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// Finding is one breach of a rule.
type Finding struct {
	Rule     string
	Severity Severity
	Text     string // what is wrong here
	Offset   int64  // byte in the text, after decompression
	Event    int    // index among the events, -1 for the document
	// Of the event, as they stand in the document; empty where there is none.
	Phase, Name, Category, PID, TID string
}

// collector gathers findings by rule. Different rules may be written at once.
type collector struct {
	t      *trace
	max    int // kept of each rule
	counts [numRules]int
	found  [numRules][]Finding
}

func (c *collector) wants(rule ruleID) bool {
	c.counts[rule]++
	return len(c.found[rule]) < c.max
}

// at notes a finding about the document.
func (c *collector) at(rule ruleID, offset int64, format string, args ...any) {
	if c.wants(rule) {
		c.found[rule] = append(c.found[rule], Finding{Offset: offset, Event: -1, Text: sprintf(format, args...)})
	}
}

// event notes a finding about a record.
func (c *collector) event(rule ruleID, rec uint32, format string, args ...any) {
	if c.wants(rule) {
		c.found[rule] = append(c.found[rule], c.t.finding(rec, sprintf(format, args...)))
	}
}

// early takes over a finding that was made while reading.
func (c *collector) early(f early, rec int64) {
	if !c.wants(f.rule) {
		return
	}
	found := Finding{Offset: f.offset, Event: -1, Text: f.detail}
	if rec >= 0 {
		found = c.t.finding(uint32(rec), f.detail)
		found.Offset = f.offset
	}
	c.found[f.rule] = append(c.found[f.rule], found)
}

func (t *trace) finding(rec uint32, text string) Finding {
	r := t.table.at(rec)
	row := t.rows.text(r.row)
	f := Finding{Text: text, Offset: r.offset, Event: int(r.index), Name: t.nameText(r.name),
		Category: string(t.cats.text(uint32(r.cat))), PID: string(pidOf(row)), TID: string(tidOf(row))}
	if r.ph != 0 {
		f.Phase = string(rune(r.ph))
	}
	return f
}

// sorted returns the findings of a rule by place.
func (c *collector) sorted(rule ruleID) []Finding {
	found := c.found[rule]
	for i := range found {
		found[i].Rule, found[i].Severity = rules[rule].ID, rules[rule].Severity
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	return found
}

// name quotes the name of a record, cut to a readable length.
func (t *trace) name(r *record) string {
	s := t.nameText(r.name)
	if len(s) > 80 {
		cut := 77
		for cut > 0 && s[cut]&0xc0 == 0x80 {
			cut--
		}
		s = s[:cut] + "..."
	}
	return sprintf("%q", s)
}

// micro prints ns as microseconds.
func micro(ns int64) string {
	sign := ""
	u := uint64(ns)
	if ns < 0 {
		sign, u = "-", -u
	}
	if u%1000 == 0 {
		return sprintf("%s%d µs", sign, u/1000)
	}
	return sprintf("%s%d.%03d µs", sign, u/1000, u%1000)
}

func (t *trace) member(key string) chrome.Value { return t.members[key] }
