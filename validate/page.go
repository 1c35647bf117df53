package validate

import (
	"fmt"
	"slices"
	"strings"
)

// Page is docs/rules.md, made of the table of rules.
func Page() string {
	var b strings.Builder
	b.WriteString(`# The rules of flagos-trace validate

<!-- Made by go test ./validate -update from the table of rules. -->

` + "`flagos-trace validate trace.json`" + ` reads a trace of any producer and says which of these rules it breaks.

- **error**: tools refuse the file, drop events, or draw what cannot have been.
- **warning**: figures or pictures made from the trace are probably wrong in places.
- **note**: normal for the producer, or of no consequence, and worth knowing.

A rule that a producer cannot keep is not checked for its traces; the report says so, with the reason.

| rule | severity | a trace that keeps it |
|---|---|---|
`)
	for i := range rules {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", rules[i].ID, rules[i].ID, rules[i].Severity, rules[i].Title)
	}
	for i := range rules {
		r := &rules[i]
		level := strings.ToUpper(r.Severity.String()[:1]) + r.Severity.String()[1:]
		fmt.Fprintf(&b, "\n## %s\n\n**%s.** %s, for %s.\n\n%s\n\n%s\n", r.ID, r.Title, level, r.Applies, wrap(r.Why), wrap("Fix: "+r.Fix))
		if r.Torch != "" {
			fmt.Fprintf(&b, "\nThe same rule in torch's own trace validator: `%s`.\n", r.Torch)
		}
		if len(r.Cannot)+len(r.unless) > 0 {
			b.WriteString("\nNot applicable:\n")
			var families []Family
			for f := range r.Cannot {
				families = append(families, f)
			}
			slices.Sort(families)
			b.WriteString("\n")
			for _, f := range families {
				fmt.Fprintf(&b, "- to %s: %s\n", f, r.Cannot[f])
			}
			for _, c := range r.unless {
				fmt.Fprintf(&b, "- where %s\n", c.reason)
			}
		}
	}
	return b.String()
}

// wrap breaks text into lines of at most 150 characters.
func wrap(text string) string {
	const width = 150
	var b strings.Builder
	line := 0
	for _, word := range strings.Fields(text) {
		switch {
		case line == 0:
		case line+1+len(word) > width:
			b.WriteByte('\n')
			line = 0
		default:
			b.WriteByte(' ')
			line++
		}
		b.WriteString(word)
		line += len(word)
	}
	return b.String()
}
