package doctor

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Status is what a finding means for a recording.
type Status string

// Statuses, the best first.
const (
	Skip Status = "skip" // could not be looked at, or does not apply
	OK   Status = "ok"
	Warn Status = "warn" // a recording works; something about it may not be as wished
	Fail Status = "fail" // a recording will not work
)

// rank orders statuses by how bad they are.
func (s Status) rank() int { return slices.Index([]Status{Skip, OK, Warn, Fail}, s) }

// Finding is one thing that was looked at.
type Finding struct {
	// ID names what was looked at, in words joined by dots: "probe.library". It
	// stays the same from version to version.
	ID     string `json:"id"`
	Group  string `json:"group"`
	Status Status `json:"status"`
	Seen   string `json:"seen"`          // what was found
	Fix    string `json:"fix,omitempty"` // what to do; there is one for every warn and fail
}

// Recording is one recording that was made, in short.
type Recording struct {
	Program string `json:"program"` // what kind of program was recorded
	// Completeness is the record of its trace, absent if there is none.
	Completeness *timeline.Completeness `json:"completeness,omitempty"`
}

// Report is the outcome of an examination.
type Report struct {
	Tool    string `json:"tool"`
	Verdict Status `json:"verdict"` // Fail, Warn or OK: the worst of all findings
	// Summary is the verdict in a sentence.
	Summary    string      `json:"summary"`
	Findings   []Finding   `json:"findings"`
	Recordings []Recording `json:"recordings,omitempty"`
}

// Worst returns the findings that are warnings or worse, the worst first and
// otherwise in order.
func (r *Report) Worst() []Finding {
	var list []Finding
	for _, f := range r.Findings {
		if f.Status.rank() >= Warn.rank() {
			list = append(list, f)
		}
	}
	slices.SortStableFunc(list, func(a, b Finding) int { return cmp.Compare(b.Status.rank(), a.Status.rank()) })
	return list
}

// count returns how many findings have a status.
func (r *Report) count(s Status) (n int) {
	for _, f := range r.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// judge sets the verdict. proven is whether a recording was made and read.
func (r *Report) judge(proven bool) {
	warnings := ""
	if n := r.count(Warn); n > 0 {
		warnings = "; " + counted(n, "warning")
	}
	switch n := r.count(Fail); {
	case n > 0:
		r.Verdict = Fail
		r.Summary = "a recording would fail here: " + counted(n, "problem") + warnings
	case proven:
		r.Verdict = OK
		r.Summary = "a recording works here: one was made" + warnings
	default:
		r.Verdict = OK
		r.Summary = "nothing was found that would make a recording fail; none was tried" + warnings
	}
	if r.Verdict == OK && warnings != "" {
		r.Verdict = Warn
	}
}
