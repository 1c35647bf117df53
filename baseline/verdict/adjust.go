package verdict

import (
	"fmt"
	"strings"
)

// Settings change how much assertions weigh. Keys are ids, in which * stands for any
// text.
type Settings struct {
	// Ignore are assertions that are not asked.
	Ignore []string
	// Severity replaces that of findings, but of notes, by assertion.
	Severity map[string]Severity
}

// Adjust applies settings to a result that was judged, and judges it again. It returns
// the patterns that fit no assertion of the result.
func (r *Result) Adjust(s Settings) (unknown []string) {
	known := func(pattern string) bool {
		for i := range r.Assertions {
			if Match(pattern, r.Assertions[i].ID) {
				return true
			}
		}
		return false
	}
	ignored := func(id string) bool {
		for _, p := range s.Ignore {
			if Match(p, id) {
				return true
			}
		}
		return false
	}
	for _, p := range s.Ignore {
		if !known(p) {
			unknown = append(unknown, p)
		}
	}
	for p := range s.Severity {
		if !known(p) {
			unknown = append(unknown, p)
		}
	}
	if len(s.Ignore)+len(s.Severity) == 0 {
		return nil
	}
	kept, counts := []Finding{}, map[string]int{}
	for _, f := range r.Findings {
		if ignored(f.Assertion) {
			continue
		}
		if f.Severity != Note {
			f.Severity = s.severity(f.Assertion, f.Severity)
		}
		if f.Severity != Note {
			counts[f.Assertion]++
		}
		kept = append(kept, f)
	}
	r.Findings = kept
	for i := range r.Assertions {
		a := &r.Assertions[i]
		switch {
		case ignored(a.ID):
			a.Outcome, a.Reason = NotJudged, "ignored by the configuration"
		case a.Outcome == Broken && counts[a.ID] == 0:
			a.Outcome, a.Reason = NotJudged, "the configuration makes it a note"
		case a.Outcome == NotRecorded && s.severity(a.ID, Error) == Note:
			a.Outcome, a.Reason = NotJudged, a.Reason+"; the configuration makes it a note"
		}
	}
	r.sort()
	r.decide()
	return unknown
}

// severity is that which settings give to an assertion's findings; the pattern that
// fits and says the most counts.
func (s *Settings) severity(id string, is Severity) Severity {
	most := -1
	for _, p := range sortedKeys(s.Severity) {
		to := s.Severity[p]
		if said := len(p) - strings.Count(p, "*"); Match(p, id) && said > most {
			most, is = said, to
		}
	}
	return is
}

// Rank says whether it is a severity, and how much it weighs: 0 is the most.
func (s Severity) Rank() (int, error) {
	if r := s.rank(); r >= 0 {
		return r, nil
	}
	return 0, fmt.Errorf("severity is %q; it is error, warning or note", string(s))
}

// Decide sets the verdict from the assertions and findings as they are now.
func (r *Result) Decide() {
	r.sort()
	r.decide()
}
