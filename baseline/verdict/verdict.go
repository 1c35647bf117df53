package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/capability"
)

// Verdict is the outcome of a comparison.
type Verdict string

// Verdicts, the best first.
const (
	Pass         Verdict = "pass"
	Improvement  Verdict = "improvement"  // something is better, and nothing is worse
	Inconclusive Verdict = "inconclusive" // nothing is worse, and not everything could be judged
	Regression   Verdict = "regression"   // something is worse, or different where it must not be
	Incomparable Verdict = "incomparable" // one side does not hold all that happened
)

// Exit statuses of commands that end with a verdict. Incomparable is also that of
// input that cannot be used.
const (
	ExitPass         = 0
	ExitRegression   = 1
	ExitInconclusive = 2
	ExitIncomparable = 3
)

// ExitStatus is the status a command ends with.
func (v Verdict) ExitStatus() int {
	switch v {
	case Pass, Improvement:
		return ExitPass
	case Regression:
		return ExitRegression
	case Inconclusive:
		return ExitInconclusive
	}
	return ExitIncomparable
}

// Severity says how much a finding weighs. An error or a warning is a difference;
// a note is none.
type Severity string

// Severities.
const (
	Error   Severity = "error"   // figures made of this trace are wrong, or a part is missing
	Warning Severity = "warning" // readers have to know it
	Note    Severity = "note"    // different, and no worse
)

func (s Severity) rank() int { return slices.Index([]Severity{Error, Warning, Note}, s) }

// Outcome is what became of an assertion.
type Outcome string

// Outcomes. Only Holds is a pass.
const (
	Holds       Outcome = "holds"
	Broken      Outcome = "broken"
	SameInBase  Outcome = "same in base" // broken on both sides alike
	Accepted    Outcome = "accepted"     // broken, and every finding is an accepted exception
	NotRecorded Outcome = "not recorded" // nothing to judge was recorded
	Cannot      Outcome = "cannot"       // the vendor's library cannot deliver what was asserted
	NotJudged   Outcome = "not judged"   // the base says nothing about it, or it is out of scope
)

// Place is where a finding is. What does not apply is empty; Event and Offset are
// -1 then.
type Place struct {
	Category string `json:"category,omitempty"`
	Operator string `json:"operator,omitempty"`
	Name     string `json:"name,omitempty"` // of the event
	Key      string `json:"key,omitempty"`  // of the argument, or top-level member
	// Event is the index in the timeline of the file, Offset the byte offset in its
	// text after decompression.
	Event  int64 `json:"event"`
	Offset int64 `json:"offset"`
}

// Nowhere is the place of what is missing.
var Nowhere = Place{Event: -1, Offset: -1}

// Finding is one difference.
type Finding struct {
	Assertion string   `json:"assertion"`
	Subject   string   `json:"subject"` // what it is about, such as "arg:kernel/grid"; with Assertion its identity
	Severity  Severity `json:"severity"`
	What      string   `json:"what"` // in a sentence
	Where     Place    `json:"where"`
	Expected  string   `json:"expected,omitempty"`
	Got       string   `json:"got,omitempty"`
	Fix       string   `json:"fix,omitempty"`
	// Count is how many events or names it is about, of Of; 0 where that is no count.
	Count int64 `json:"count,omitempty"`
	Of    int64 `json:"of,omitempty"`
	// DeviceNS is the device time concerned, ns.
	DeviceNS int64 `json:"device_ns,omitempty"`
}

// Exception is a finding that somebody has accepted.
type Exception struct {
	Assertion string `json:"assertion"`
	// Subject is that of the finding; * stands for anything, and an empty one for all.
	Subject string `json:"subject,omitempty"`
	Reason  string `json:"reason"`
	// Expires is the last day (2006-01-02) on which it counts; "" is for ever.
	Expires string `json:"expires,omitempty"`
}

// Until returns the moment from which on the exception does not count.
func (e Exception) Until() (time.Time, bool, error) {
	if e.Expires == "" {
		return time.Time{}, false, nil
	}
	t, err := time.Parse(time.DateOnly, e.Expires)
	if err != nil {
		return time.Time{}, false, fmt.Errorf("exception for %s %q: expires is %q; it is a day such as 2026-12-31", e.Assertion, e.Subject, e.Expires)
	}
	return t.AddDate(0, 0, 1), true, nil
}

// covers reports whether the exception is about a finding.
func (e Exception) covers(f *Finding) bool {
	return e.Assertion == f.Assertion && (e.Subject == "" || Match(e.Subject, f.Subject))
}

// Match reports whether a pattern, in which * stands for any text, fits a text.
func Match(pattern, text string) bool { return capability.Match(pattern, text) }

// Assertion is something that was asked of the new trace.
type Assertion struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Outcome Outcome `json:"outcome"`
	// Reason says why it is neither held nor broken.
	Reason string `json:"reason,omitempty"`
	// OutOfScope: it was left out of the comparison, so that the verdict does not hang
	// on it.
	OutOfScope bool `json:"out_of_scope,omitempty"`
	// Checked counts what was looked at, Broken what was not as it should be.
	Checked int64 `json:"checked,omitempty"`
	Broken  int64 `json:"broken,omitempty"`
}

// Excuse is something the vendor's library cannot deliver.
type Excuse struct {
	Assertion string `json:"assertion"`
	Subject   string `json:"subject"`
	Vendor    string `json:"vendor"`
	Reason    string `json:"reason"`
	Source    string `json:"source,omitempty"`
}

// AcceptedFinding is a finding that an exception covers.
type AcceptedFinding struct {
	Finding   Finding   `json:"finding"`
	Exception Exception `json:"exception"`
}

// Side is one of the two things compared.
type Side struct {
	Name     string   `json:"name"`           // file, or name of an embedded baseline; the first of several runs
	Runs     int      `json:"runs,omitempty"` // how many there are, where there are several
	Kind     string   `json:"kind"`           // "trace", "baseline", or "rules"
	Producer string   `json:"producer,omitempty"`
	Vendor   string   `json:"vendor,omitempty"`
	Devices  []string `json:"devices,omitempty"`
	Events   int64    `json:"events,omitempty"`
	// Completeness is the verdict of the trace's completeness record; "" without one.
	Completeness string `json:"completeness,omitempty"`
}

// Result is a comparison's outcome.
type Result struct {
	Schema  string  `json:"schema"` // SchemaName
	Format  string  `json:"format"` // "flagos-trace-diff"
	Version int     `json:"version"`
	What    string  `json:"what"` // "structure", "parity", "performance", "rules", "occupancy"
	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why"` // in a sentence
	Base    Side    `json:"base"`
	New     Side    `json:"new"`

	Assertions []Assertion       `json:"assertions"`
	Findings   []Finding         `json:"findings"` // worst first
	Accepted   []AcceptedFinding `json:"accepted"`
	Cannot     []Excuse          `json:"cannot"`
	// Better are what the new side has or keeps and the base does not.
	Better []string `json:"better"`
	// Incomparable says what keeps the two from being compared.
	Incomparable []string `json:"incomparable"`

	rank map[string]int
}

// SchemaName names the form of the JSON, as all documents of this program do. It
// changes where a field changes its meaning or goes away. Format and Version say the
// same for programs that were written before it was there.
const (
	SchemaName = "flagos-trace.diff/1"
	Format     = "flagos-trace-diff"
	Version    = 1
)

// New returns an empty result.
func New(what string, base, now Side) *Result {
	return &Result{Schema: SchemaName, Format: Format, Version: Version, What: what, Base: base, New: now,
		Assertions: []Assertion{}, Findings: []Finding{}, Accepted: []AcceptedFinding{}, Cannot: []Excuse{},
		Better: []string{}, Incomparable: []string{}, rank: map[string]int{}}
}

// Assert adds an assertion's outcome. The order of calls is the order in which
// findings of one severity are told: causes before what follows from them.
func (r *Result) Assert(a Assertion) {
	if _, ok := r.rank[a.ID]; !ok {
		r.rank[a.ID] = len(r.rank)
	}
	r.Assertions = append(r.Assertions, a)
}

// Add adds a finding.
func (r *Result) Add(f Finding) { r.Findings = append(r.Findings, f) }

// Judge sorts the findings, takes out the accepted ones, and sets the verdict. An
// exception that expired before now counts no more and is named in the finding.
// The error is about an exception that cannot be understood.
func (r *Result) Judge(exceptions []Exception, now time.Time) error {
	kept := r.Findings[:0]
	left, taken := map[string]int{}, map[string]int{}
	for _, f := range r.Findings {
		accepted := false
		for _, e := range exceptions {
			if !e.covers(&f) || f.Severity == Note {
				continue
			}
			until, ends, err := e.Until()
			if err != nil {
				return err
			}
			if ends && !now.Before(until) {
				f.What += fmt.Sprintf(" (it was accepted until %s: %s)", e.Expires, e.Reason)
				continue
			}
			r.Accepted = append(r.Accepted, AcceptedFinding{f, e})
			accepted = true
			taken[f.Assertion]++
			break
		}
		if !accepted {
			kept = append(kept, f)
			if f.Severity != Note {
				left[f.Assertion]++
			}
		}
	}
	r.Findings = kept
	for i := range r.Assertions {
		if a := &r.Assertions[i]; a.Outcome == Broken && left[a.ID] == 0 && taken[a.ID] > 0 {
			a.Outcome = Accepted
		}
	}
	r.sort()
	r.decide()
	return nil
}

// sort brings the findings into the order in which they are told.
func (r *Result) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity.rank(), b.Severity.rank()), cmp.Compare(r.rank[a.Assertion], r.rank[b.Assertion]),
			cmp.Compare(b.DeviceNS, a.DeviceNS), cmp.Compare(b.Count, a.Count))
	})
}

func (r *Result) decide() {
	differences := 0
	for _, f := range r.Findings {
		if f.Severity != Note {
			differences++
		}
	}
	n := r.Outcomes()
	for _, a := range r.Assertions {
		if a.Outcome == NotRecorded && a.OutOfScope {
			n[NotRecorded]--
		}
	}
	switch {
	case len(r.Incomparable) > 0:
		r.Verdict, r.Why = Incomparable, r.Incomparable[0]
	case differences > 0:
		r.Verdict, r.Why = Regression, plural(differences, "difference")+" in "+plural(n[Broken], "assertion")
	case n[NotRecorded] > 0:
		r.Verdict, r.Why = Inconclusive, plural(n[NotRecorded], "assertion")+" could not be judged: "+r.unjudged()
	case n[Holds]+n[SameInBase] == 0:
		r.Verdict, r.Why = Inconclusive, "nothing could be judged"
	case len(r.Better) > 0:
		r.Verdict, r.Why = Improvement, plural(len(r.Better), "thing")+" better than in the base, and nothing worse"
	default:
		r.Verdict, r.Why = Pass, plural(n[Holds], "assertion")+" held"
		if n[SameInBase] > 0 {
			r.Why += fmt.Sprintf(", %d broken as in the base", n[SameInBase])
		}
	}
}

// unjudged names the assertions that could not be judged with their reasons, those of
// one reason together. The first are told, for a verdict's sentence is one line.
func (r *Result) unjudged() string {
	ids, reasons := map[string][]string{}, []string{}
	for _, a := range r.Assertions {
		if a.Outcome != NotRecorded || a.OutOfScope {
			continue
		}
		if ids[a.Reason] == nil {
			reasons = append(reasons, a.Reason)
		}
		ids[a.Reason] = append(ids[a.Reason], a.ID)
	}
	var parts []string
	for i, reason := range reasons {
		if i == 2 && len(reasons) > 3 {
			parts = append(parts, fmt.Sprintf("and %d reasons more", len(reasons)-i))
			break
		}
		list := ids[reason]
		if more := len(list) - 3; more > 0 {
			list = append(list[:3:3], fmt.Sprintf("and %d more", more))
		}
		part := strings.Join(list, ", ")
		if reason != "" {
			part += " (" + reason + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Outcomes counts the assertions by outcome.
func (r *Result) Outcomes() map[Outcome]int {
	n := map[Outcome]int{}
	for _, a := range r.Assertions {
		n[a.Outcome]++
	}
	return n
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
