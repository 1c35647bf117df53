package verdict

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The form of JUnit's reports that Jenkins, GitLab and GitHub's actions read. There is
// no standard; this is what they have in common.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Props    []junitProp `xml:"properties>property"`
	Cases    []junitCase `xml:"testcase"`
	Out      string      `xml:"system-out,omitempty"`
}

type junitProp struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name    string     `xml:"name,attr"`
	Class   string     `xml:"classname,attr"`
	Failure *junitText `xml:"failure"`
	Error   *junitText `xml:"error"`
	Skipped *junitText `xml:"skipped"`
	Out     string     `xml:"system-out,omitempty"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes a report as JUnit XML: a suite a check, a case an assertion, and a
// case "verdict", which fails if and only if the check's verdict is neither pass nor
// improvement. What was not recorded is an error if the verdict hangs on it; what
// cannot be judged, or is accepted, is skipped.
func (r *Report) WriteJUnit(w io.Writer) error {
	all := junitSuites{Name: "flagos-trace"}
	for i := range r.Checks {
		s := r.Checks[i].junit()
		all.Tests, all.Failures, all.Errors, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Errors+s.Errors, all.Skipped+s.Skipped
		all.Suites = append(all.Suites, s)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, xml.Header+string(text)+"\n")
	return err
}

func (c *Check) junit() junitSuite {
	r := c.Result
	s := junitSuite{Name: printable(c.Name), Props: []junitProp{
		{"verdict", string(r.Verdict)}, {"why", printable(r.Why)}, {"base", printable(r.Base.line())}, {"new", printable(r.New.line())},
	}}
	class := "flagos-trace." + r.What + "." + strings.ReplaceAll(s.Name, ".", "_")
	of := map[string][]string{}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Severity != Note {
			of[f.Assertion] = append(of[f.Assertion], f.block())
		}
	}
	add := func(k junitCase) {
		k.Class = class
		if c.Advisory {
			for _, t := range []*junitText{k.Failure, k.Error} {
				if t != nil {
					k.Skipped = &junitText{Message: "advisory: " + t.Message}
					k.Out = t.Text
				}
			}
			k.Failure, k.Error = nil, nil
		}
		s.Tests++
		switch {
		case k.Failure != nil:
			s.Failures++
		case k.Error != nil:
			s.Errors++
		case k.Skipped != nil:
			s.Skipped++
		}
		s.Cases = append(s.Cases, k)
	}
	for i := range r.Assertions {
		a := &r.Assertions[i]
		k := junitCase{Name: printable(a.ID + ": " + a.Title)}
		found := of[a.ID]
		delete(of, a.ID)
		reason := printable(a.Reason)
		switch {
		case a.Outcome == Broken:
			k.Failure = &junitText{Message: fmt.Sprintf("%s: %s", printable(a.Title), plural(len(found), "difference")), Type: "broken", Text: strings.Join(found, "\n\n")}
		case a.Outcome == NotRecorded && !a.OutOfScope && r.Verdict.ExitStatus() != ExitPass:
			k.Error = &junitText{Message: reason, Type: string(a.Outcome)}
		case a.Outcome == Holds:
		case a.Outcome == SameInBase:
			k.Out = "broken in the base alike"
		default:
			k.Skipped = &junitText{Message: strings.TrimSuffix(string(a.Outcome)+": "+reason, ": ")}
		}
		add(k)
	}
	k := junitCase{Name: "verdict"}
	switch r.Verdict.ExitStatus() {
	case ExitPass:
		k.Out = string(r.Verdict) + ": " + printable(r.Why)
	case ExitRegression:
		k.Failure = &junitText{Message: string(r.Verdict) + ": " + printable(r.Why), Type: string(r.Verdict)}
		for _, id := range sortedKeys(of) { // of assertions that were not listed
			k.Failure.Text += strings.Join(of[id], "\n\n")
		}
	default:
		k.Error = &junitText{Message: string(r.Verdict) + ": " + printable(r.Why), Type: string(r.Verdict), Text: printable(strings.Join(r.Incomparable, "; "))}
	}
	add(k)
	var out []string
	for _, l := range [][]string{r.acceptedLines(), r.cannotLines(), clip(r.Better), r.noteLines()} {
		for _, t := range l {
			out = append(out, printable(t))
		}
	}
	s.Out = strings.Join(out, "\n")
	return s
}

// block is a finding in a few lines.
func (f *Finding) block() string {
	lines := []string{string(f.Severity) + ": " + printable(f.What)}
	for _, t := range []string{f.values(), f.Where.line()} {
		if t != "" {
			lines = append(lines, printable(t))
		}
	}
	if f.Fix != "" {
		lines = append(lines, "fix: "+printable(f.Fix))
	}
	return strings.Join(lines, "\n")
}
