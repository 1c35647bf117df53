package validate

import (
	"fmt"
	"io"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Document is a report and the name of what was read.
type Document struct {
	File   string
	Report *Report
}

// WriteText writes a report for people: what was read, each rule that was broken
// with its first findings, and the rules that do not apply.
func WriteText(w io.Writer, d Document) error {
	r := d.Report
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", printable(d.File), r.Producer.Name)
	if r.Producer.Since != "" {
		fmt.Fprintf(&b, ", not before %s", r.Producer.Since)
	}
	fmt.Fprintf(&b, "; %s", plural(r.Events, "event"))
	if r.Lost > 0 {
		fmt.Fprintf(&b, " and %d that could not be read", r.Lost)
	}
	b.WriteString("\n")
	next := r.Findings
	for _, c := range r.Counts {
		rule := ruleOf(c.Rule)
		fmt.Fprintf(&b, "\n%s %s: %s\n", c.Severity, c.Rule, plural(c.N, "finding"))
		n := 0
		for ; len(next) > 0 && next[0].Rule == c.Rule; next = next[1:] {
			fmt.Fprintf(&b, "  %s%s\n", place(&next[0]), printable(next[0].Text))
			n++
		}
		if n < c.N {
			fmt.Fprintf(&b, "  and %d more\n", c.N-n)
		}
		fmt.Fprintf(&b, "  Why: %s\n  Fix: %s\n", rule.Why, rule.Fix)
	}
	if len(r.NotApplicable) > 0 {
		b.WriteString("\nNot applicable:\n")
		for _, n := range r.NotApplicable {
			fmt.Fprintf(&b, "  %s: %s\n", n.Rule, n.Reason)
		}
	}
	b.WriteString("\n" + total(r) + "\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// place says where a finding is.
func place(f *Finding) string {
	if f.Event < 0 {
		if f.Offset == 0 {
			return ""
		}
		return fmt.Sprintf("byte %d: ", f.Offset)
	}
	row := ""
	if f.PID != "" || f.TID != "" {
		row = fmt.Sprintf(", pid %s tid %s", f.PID, f.TID)
	}
	category := ""
	if f.Category != "" {
		category = ", " + f.Category
	}
	return printable(fmt.Sprintf("event %d (byte %d%s%s): ", f.Event, f.Offset, category, row))
}

func total(r *Report) string {
	var n [Error + 1]int
	for _, c := range r.Counts {
		n[c.Severity] += c.N
	}
	return fmt.Sprintf("%s, %s, %s", plural(n[Error], "error"), plural(n[Warning], "warning"), plural(n[Note], "note"))
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// printable is text of a trace on one line that does nothing but be read.
func printable(s string) string { return plain.Text(s, false) }

func ruleOf(id string) *Rule {
	for i := range rules {
		if rules[i].ID == id {
			return &rules[i]
		}
	}
	return &Rule{ID: id}
}

type jsonReport struct {
	File          string              `json:"file"`
	Producer      jsonProducer        `json:"producer"`
	Bytes         int64               `json:"bytes"`
	Events        int                 `json:"events"`
	Lost          int                 `json:"lost"`
	Counts        []jsonCount         `json:"counts"`
	Findings      []jsonFinding       `json:"findings"`
	NotApplicable []jsonNotApplicable `json:"not_applicable"`
}

type jsonProducer struct {
	Family Family `json:"family"`
	Name   string `json:"name"`
	Since  string `json:"since,omitempty"`
}

type jsonCount struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	N        int    `json:"count"`
	Title    string `json:"title"`
	Why      string `json:"why"`
	Fix      string `json:"fix"`
}

type jsonFinding struct {
	Rule     string     `json:"rule"`
	Severity string     `json:"severity"`
	Text     string     `json:"text"`
	Offset   int64      `json:"offset"`
	Event    *jsonEvent `json:"event,omitempty"`
}

type jsonEvent struct {
	Index    int    `json:"index"`
	Phase    string `json:"ph,omitempty"`
	Name     string `json:"name,omitempty"`
	Category string `json:"cat,omitempty"`
	PID      string `json:"pid,omitempty"`
	TID      string `json:"tid,omitempty"`
}

type jsonNotApplicable struct {
	Rule   string `json:"rule"`
	Reason string `json:"reason"`
}

// WriteJSON writes reports as a JSON array, an object a file.
func WriteJSON(w io.Writer, docs []Document) error {
	out := []jsonReport{}
	for _, d := range docs {
		r := d.Report
		j := jsonReport{File: d.File, Producer: jsonProducer{r.Producer.Family, r.Producer.Name, r.Producer.Since}, Bytes: r.Bytes,
			Events: r.Events, Lost: r.Lost, Counts: []jsonCount{}, Findings: []jsonFinding{}, NotApplicable: []jsonNotApplicable{}}
		for _, c := range r.Counts {
			rule := ruleOf(c.Rule)
			j.Counts = append(j.Counts, jsonCount{c.Rule, c.Severity.String(), c.N, rule.Title, rule.Why, rule.Fix})
		}
		for i := range r.Findings {
			f := &r.Findings[i]
			x := jsonFinding{Rule: f.Rule, Severity: f.Severity.String(), Text: f.Text, Offset: f.Offset}
			if f.Event >= 0 {
				x.Event = &jsonEvent{f.Event, f.Phase, f.Name, f.Category, f.PID, f.TID}
			}
			j.Findings = append(j.Findings, x)
		}
		for _, n := range r.NotApplicable {
			j.NotApplicable = append(j.NotApplicable, jsonNotApplicable(n))
		}
		out = append(out, j)
	}
	return encode(w, out)
}

func encode(w io.Writer, v any) error { return plain.JSON(w, v, "  ") }
