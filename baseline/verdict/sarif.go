package verdict

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/sarif"
)

// WriteSARIF writes a report as one SARIF 2.1.0 log: a rule an assertion, a result a
// finding. Accepted findings are suppressed, what a vendor cannot deliver is not
// applicable, and what was not recorded is open. What cannot be compared is a
// notification, and a result of the rule "comparable". Findings of advisory checks are notes.
func (r *Report) WriteSARIF(w io.Writer, version string) error {
	run := sarif.Run{Tool: sarif.Tool{Driver: sarif.Driver{Name: "flagos-trace", Version: version, Rules: []sarif.Rule{}}}, Results: []sarif.Result{}}
	call := sarif.Invocation{Successful: r.Verdict != Incomparable, ExitCode: r.Verdict.ExitStatus()}
	index := map[string]int{}
	rule := func(id, title string, level Severity) int {
		i, ok := index[id]
		if !ok {
			if title == "" {
				title = id
			}
			i = len(index)
			index[id] = i
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarif.Rule{ID: id, Short: sarif.Text{Text: title}, Default: sarif.Config{Level: string(level)}})
		}
		return i
	}
	prints := fingerprints{}
	for i := range r.Checks {
		c := &r.Checks[i]
		at := func(p *Place) []sarif.Location {
			l := sarif.Location{Physical: sarif.Physical{Artifact: sarif.Artifact{URI: sarif.URI(r.file(c))}}}
			if p != nil && p.Offset >= 0 {
				l.Physical.Region = &sarif.Region{ByteOffset: p.Offset, ByteLength: 1}
			}
			if p != nil && p.Event >= 0 {
				l.Logical = []sarif.Logical{{Name: printable(p.Name), Path: fmt.Sprintf("traceEvents/%d", p.Event)}}
			}
			return []sarif.Location{l}
		}
		result := func(f *Finding) sarif.Result {
			level := string(f.Severity)
			if c.Advisory {
				level = string(Note)
			}
			return sarif.Result{RuleID: f.Assertion, RuleIndex: rule(f.Assertion, c.Result.title(f.Assertion), f.Severity), Kind: sarif.Fail, Level: level,
				Message: sarif.Text{Text: f.sentence()}, Locations: at(&f.Where), Fingerprints: map[string]string{"flagosTraceFinding/v1": prints.of(c, f)}}
		}
		for _, a := range c.Result.Assertions {
			n := rule(a.ID, a.Title, Error)
			if a.Outcome == NotRecorded {
				run.Results = append(run.Results, sarif.Result{RuleID: a.ID, RuleIndex: n, Kind: sarif.Open, Level: "none",
					Message: sarif.Text{Text: strings.TrimSuffix("not recorded: "+printable(a.Reason), ": ")}, Locations: at(nil)})
			}
		}
		for k := range c.Result.Findings {
			run.Results = append(run.Results, result(&c.Result.Findings[k]))
		}
		for k := range c.Result.Accepted {
			a := &c.Result.Accepted[k]
			x := result(&a.Finding)
			x.Suppressions = []sarif.Suppression{{Kind: "external", Justification: printable(a.Exception.Reason)}}
			run.Results = append(run.Results, x)
		}
		for _, e := range c.Result.Cannot {
			run.Results = append(run.Results, sarif.Result{RuleID: e.Assertion, RuleIndex: rule(e.Assertion, c.Result.title(e.Assertion), Error), Kind: sarif.NotApplicable,
				Level: "none", Message: sarif.Text{Text: printable(e.Subject + " on " + e.Vendor + ": " + e.Reason)}, Locations: at(nil)})
		}
		for _, s := range c.Result.Incomparable {
			text := sarif.Text{Text: printable(c.Name + ": " + s)}
			call.Notifications = append(call.Notifications, sarif.Notification{Level: "error", Message: text})
			f := incomparable(s)
			run.Results = append(run.Results, result(&f))
		}
	}
	run.Invocations = []sarif.Invocation{call}
	return sarif.Write(w, run)
}

// incomparable is what keeps sides from being compared as a finding.
func incomparable(text string) Finding {
	return Finding{Assertion: "comparable", Subject: "sides", Severity: Error, What: text, Where: Nowhere}
}

// sentence is a finding in one line.
func (f *Finding) sentence() string {
	s := printable(f.What)
	if v := f.values(); v != "" {
		s += "; " + printable(v)
	}
	if f.Fix != "" {
		s += ". Fix: " + printable(f.Fix)
	}
	return s
}

// fingerprints gives findings their identities over time: the same finding of the
// same check has the same in every run, and no two of a report have the same.
type fingerprints map[string]int

func (p fingerprints) of(c *Check, f *Finding) string {
	text := strings.Join([]string{c.Name, f.Assertion, f.Subject, c.Result.New.Name}, "\x00")
	n := p[text]
	p[text]++
	if n > 0 {
		text += fmt.Sprintf("\x00%d", n)
	}
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:16])
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
