package verdict

import (
	"fmt"
	"io"
	"strings"
)

// githubMost is how many annotations of one level GitHub shows of one step.
const githubMost = 10

// WriteGitHub writes a report as workflow commands, which GitHub shows as annotations:
// errors, then warnings, of both the first nine and how many more there are, and one
// line for each check that did not pass. Names of a trace cannot end a command or
// begin another.
func (r *Report) WriteGitHub(w io.Writer) error {
	lines := map[Severity][]string{}
	add := func(s Severity, c *Check, title, text string) {
		lines[s] = append(lines[s], githubLine(string(s), r.file(c), c.Name+": "+title, text))
	}
	for i := range r.Checks {
		c := &r.Checks[i]
		level := func(s Severity) Severity {
			if c.Advisory {
				return Note
			}
			return s
		}
		for _, s := range c.Result.Incomparable {
			add(level(Error), c, "incomparable", s)
		}
		if c.Result.Verdict == Inconclusive {
			add(level(Warning), c, "inconclusive", c.Result.Why)
		}
		for k := range c.Result.Findings {
			if f := &c.Result.Findings[k]; f.Severity != Note {
				add(level(f.Severity), c, f.Assertion, f.sentence())
			}
		}
	}
	var b strings.Builder
	for _, s := range []Severity{Error, Warning, Note} {
		list := lines[s]
		for i, l := range list {
			if i == githubMost-1 && len(list) > githubMost {
				b.WriteString(githubLine(string(s), "", "flagos-trace", fmt.Sprintf("and %d more; the other formats have all", len(list)-i)))
				break
			}
			b.WriteString(l)
		}
	}
	if len(r.Checks) > 0 {
		b.WriteString(githubLine("notice", "", "flagos-trace", string(r.Verdict)+": "+r.Why))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// githubLine is a workflow command. Source: actions/toolkit, packages/core, command.ts
// (which characters are escaped, and how).
func githubLine(level, file, title, text string) string {
	if level == string(Note) {
		level = "notice"
	}
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	s := "::" + level + " "
	if file != "" && file != "-" && file != "." {
		s += "file=" + property.Replace(printable(cleanPath(file))) + ","
	}
	return s + "title=" + property.Replace(printable(first(title, 200))) + "::" + data.Replace(printable(text)) + "\n"
}
