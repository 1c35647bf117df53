package verdict

import (
	"fmt"
	"io"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Shown is how many findings of one assertion WriteText and WriteMarkdown print; all
// are in the JSON.
const Shown = 5

// WriteText writes a page for a terminal: the verdict, the findings with the worst
// first, and what else happened to assertions, a line each.
func WriteText(w io.Writer, r *Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", strings.ToUpper(string(r.Verdict)), printable(r.Why))
	fmt.Fprintf(&b, "  base  %s\n  new   %s\n", printable(r.Base.line()), printable(r.New.line()))
	for _, s := range r.further() {
		fmt.Fprintf(&b, "\n  incomparable: %s\n", printable(s))
	}
	for _, g := range groups(r) {
		fmt.Fprintf(&b, "\n%s %s: %s\n", g[0].Severity, printable(g[0].Assertion), printable(r.title(g[0].Assertion)))
		fix := ""
		for i := range g[:min(len(g), Shown)] {
			f := &g[i]
			if fix != "" && f.Fix != fix {
				fmt.Fprintf(&b, "    fix: %s\n", printable(fix))
			}
			fix = f.Fix
			fmt.Fprintf(&b, "  - %s\n", printable(f.What))
			if s := f.values(); s != "" {
				fmt.Fprintf(&b, "    %s\n", printable(s))
			}
			if s := f.Where.line(); s != "" {
				fmt.Fprintf(&b, "    at %s\n", printable(s))
			}
		}
		if len(g) > Shown {
			fmt.Fprintf(&b, "  and %d more; --json has all\n", len(g)-Shown)
		}
		if fix != "" {
			fmt.Fprintf(&b, "    fix: %s\n", printable(fix))
		}
	}
	lines := func(title string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "\n%s\n", title)
			for _, s := range list {
				fmt.Fprintf(&b, "  %s\n", printable(s))
			}
		}
	}
	lines("Accepted exceptions:", r.acceptedLines())
	lines("What the vendor's library cannot deliver, or is not known to (no pass):", r.cannotLines())
	lines("Better than the base:", clip(r.Better))
	lines("Notes:", r.noteLines())
	b.WriteString("\n")
	for _, o := range []Outcome{Broken, NotRecorded, Cannot, Accepted, SameInBase, NotJudged, Holds} {
		if s := r.outcomeLine(o); s != "" {
			fmt.Fprintf(&b, "%-13s %s\n", string(o)+":", plain.Text(s, false)) // all of it
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteMarkdown writes the same for the summary page of a CI job.
func WriteMarkdown(w io.Writer, r *Result) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## flagos-trace diff: %s\n\n%s\n\n", r.Verdict, markdown(r.Why))
	fmt.Fprintf(&b, "| | |\n|---|---|\n| base | %s |\n| new | %s |\n", markdown(r.Base.line()), markdown(r.New.line()))
	for _, s := range r.further() {
		fmt.Fprintf(&b, "\n**Incomparable**: %s\n", markdown(s))
	}
	for i, g := range groups(r) {
		if i == 0 {
			b.WriteString("\n| severity | assertion | what | expected | got | fix |\n|---|---|---|---|---|---|\n")
		}
		for i := range g[:min(len(g), Shown)] {
			f := &g[i]
			what := f.What
			if at := f.Where.line(); at != "" {
				what += " (at " + at + ")"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.Severity, code(f.Assertion), markdown(what), markdown(f.Expected), markdown(f.Got), markdown(f.Fix))
		}
		if len(g) > Shown {
			fmt.Fprintf(&b, "| | | and %d more | | | |\n", len(g)-Shown)
		}
	}
	lines := func(title string, list []string) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "\n**%s**\n\n", title)
			for _, s := range list {
				fmt.Fprintf(&b, "- %s\n", markdown(s))
			}
		}
	}
	lines("Accepted exceptions", r.acceptedLines())
	lines("What the vendor's library cannot deliver, or is not known to (no pass)", r.cannotLines())
	lines("Better than the base", clip(r.Better))
	lines("Notes", r.noteLines())
	b.WriteString("\n| outcome | assertions |\n|---|---|\n")
	for _, o := range []Outcome{Broken, NotRecorded, Cannot, Accepted, SameInBase, NotJudged, Holds} {
		if s := r.outcomeLine(o); s != "" {
			fmt.Fprintf(&b, "| %s | %s |\n", o, escape(plain.Text(s, false)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// further are the reasons why nothing can be compared that the verdict's sentence does
// not give.
func (r *Result) further() (out []string) {
	for _, s := range r.Incomparable {
		if s != r.Why {
			out = append(out, s)
		}
	}
	return out
}

// groups are the findings that are no notes, by assertion and severity, in order.
func groups(r *Result) (out [][]Finding) {
	for i := 0; i < len(r.Findings); {
		k := i
		for k < len(r.Findings) && r.Findings[k].Assertion == r.Findings[i].Assertion && r.Findings[k].Severity == r.Findings[i].Severity {
			k++
		}
		if r.Findings[i].Severity != Note {
			out = append(out, r.Findings[i:k])
		}
		i = k
	}
	return out
}

// title is that of an assertion.
func (r *Result) title(id string) string {
	for i := range r.Assertions {
		if r.Assertions[i].ID == id {
			return r.Assertions[i].Title
		}
	}
	return ""
}

func (s *Side) line() string {
	parts := []string{}
	add := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	if s.Runs > 1 {
		add(fmt.Sprintf("the first of %d runs", s.Runs))
	}
	add(s.Producer)
	if s.Kind == "baseline" {
		add("baseline")
	}
	if s.Events > 0 {
		add(plural(int(s.Events), "event"))
	}
	add(strings.Join(s.Devices, ", "))
	if s.Completeness != "" {
		add("completeness: " + s.Completeness)
	}
	if len(parts) == 0 {
		return s.Name
	}
	return s.Name + " (" + strings.Join(parts, "; ") + ")"
}

// values are what was expected and got, unless the finding's sentence says it.
func (f *Finding) values() string {
	if f.Got == "none" || f.Got == "nothing" {
		return ""
	}
	var parts []string
	if f.Expected != "" {
		parts = append(parts, "expected "+f.Expected)
	}
	if f.Got != "" {
		parts = append(parts, "got "+f.Got)
	}
	return strings.Join(parts, "; ")
}

func (p *Place) line() string {
	var parts []string
	for _, s := range []struct{ what, value string }{{"category ", p.Category}, {"operator ", p.Operator}, {"", p.Name}, {"key ", p.Key}} {
		if s.value != "" {
			parts = append(parts, s.what+shorten(s.value))
		}
	}
	if p.Event >= 0 {
		parts = append(parts, fmt.Sprintf("event %d", p.Event))
	}
	if p.Offset >= 0 {
		parts = append(parts, fmt.Sprintf("byte %d", p.Offset))
	}
	if p.Event < 0 && p.Offset < 0 {
		return "" // the finding's sentence has it
	}
	return strings.Join(parts, ", ")
}

// shorten cuts the names of kernels, which may fill a page.
func shorten(s string) string { return first(s, 80) }

// first is the beginning of a text, with dots where there is more.
func first(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "..."
		}
		n++
	}
	return s
}

func (r *Result) acceptedLines() (out []string) {
	for _, a := range r.Accepted {
		s := a.Finding.Assertion + ": " + a.Finding.What + " - " + a.Exception.Reason
		if a.Exception.Expires != "" {
			s += ", until " + a.Exception.Expires
		}
		out = append(out, s)
	}
	return out
}

func (r *Result) cannotLines() (out []string) {
	for _, e := range r.Cannot {
		s := e.Assertion + ": " + e.Subject + " on " + e.Vendor + ": " + e.Reason
		if e.Source != "" {
			s += " [" + e.Source + "]"
		}
		out = append(out, s)
	}
	return out
}

func (r *Result) noteLines() (out []string) {
	for _, f := range r.Findings {
		if f.Severity == Note {
			s := f.Assertion + ": " + f.What
			if v := f.values(); v != "" {
				s += "; " + v
			}
			out = append(out, s)
		}
	}
	return clip(out)
}

// clip keeps a list short enough for a page.
func clip(list []string) []string {
	const most = 8
	if len(list) <= most {
		return list
	}
	return append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
}

// outcomeLine lists the assertions of one outcome, with the reason where there is
// one.
func (r *Result) outcomeLine(o Outcome) string {
	var parts []string
	for _, a := range r.Assertions {
		if a.Outcome != o {
			continue
		}
		s := a.ID
		if o != Holds && o != Broken && a.Reason != "" {
			s += " (" + a.Reason + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// longest is the most that is told of one thing, in characters: names of kernels fill a
// page, and a name of a megabyte would fill whatever reads it. The JSON has all.
const longest = 4000

// printable is text of a trace on one line that does nothing but be read.
func printable(s string) string { return plain.Text(first(s, longest), false) }

// markdown keeps text of a trace from being markup.
func markdown(s string) string { return escape(printable(s)) }

// code is text in the type of code, within a cell of a table.
func code(s string) string {
	return "`" + strings.NewReplacer("`", "'", "|", "\\|").Replace(printable(s)) + "`"
}

func escape(s string) string {
	return strings.NewReplacer("\\", "\\\\", "|", "\\|", "@", "@<!-- -->", "<", "&lt;", ">", "&gt;", "`", "'", "*", "\\*", "_", "\\_", "[", "\\[").Replace(s)
}
