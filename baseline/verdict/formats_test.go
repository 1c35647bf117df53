package verdict

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// hostile are names as a trace may have them, to end whatever they are written into.
const hostile = "a]]>&\"'<b>|`\\|\r\n::error file=x::y%0A,z\x00\x1b[31m\u2028 \xff @all ##[command]"

// gateSample is a report with one of every verdict and one of everything.
func gateSample(t *testing.T) *Report {
	t.Helper()
	full := sample()
	if err := full.Judge([]Exception{{Assertion: "rows", Subject: "row:*", Reason: "known", Expires: "2026-12-31"}}, now); err != nil {
		t.Fatal(err)
	}
	good := New("performance", Side{Name: "base.json", Kind: "trace"}, Side{Name: "./new dir/new.json", Kind: "trace"})
	good.Assert(Assertion{ID: "perf-device-time", Title: "device time did not become longer", Outcome: Holds})
	good.Decide()
	faster := New("performance", Side{Name: "base.json", Kind: "trace"}, Side{Name: "new.json", Kind: "trace"})
	faster.Assert(Assertion{ID: "perf-device-time", Title: "device time did not become longer", Outcome: Holds})
	faster.Better = append(faster.Better, "device time -9 %")
	faster.Decide()
	unsure := New("performance", Side{Name: "base.json", Kind: "trace"}, Side{Name: "/abs/new.json", Kind: "trace"})
	unsure.Assert(Assertion{ID: "perf-device-time", Title: "device time did not become longer", Outcome: NotRecorded, Reason: "too few runs"})
	unsure.Decide()
	evil := New("structure", Side{Name: hostile, Kind: "trace"}, Side{Name: hostile, Kind: "trace", Producer: hostile, Devices: []string{hostile}})
	evil.Assert(Assertion{ID: "values", Title: hostile, Outcome: Broken})
	for range 2 {
		evil.Add(Finding{Assertion: "values", Subject: hostile, Severity: Warning, What: hostile, Expected: hostile, Got: hostile, Fix: hostile,
			Where: Place{Category: hostile, Name: hostile, Event: 1, Offset: 2}})
	}
	evil.Decide()
	return NewReport("gate.yaml", []Check{
		{Name: "structure", Result: full}, {Name: "speed", Result: good}, {Name: "faster", Result: faster}, {Name: "unsure", Result: unsure},
		{Name: "advice", Advisory: true, Result: evil}, {Name: "hostile " + hostile, Result: evil},
		{Name: "gone", Result: Unusable("structure", Side{Name: "b", Kind: "baseline"}, Side{Name: "c.json", Kind: "trace"}, os.ErrNotExist)},
	})
}

func TestReportGoldens(t *testing.T) {
	for _, format := range Formats {
		var b bytes.Buffer
		if err := gateSample(t).Write(&b, format, "1.2.3"); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "gate."+format+".golden")
		if *update {
			if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b.Bytes(), want) {
			t.Errorf("%s is not as before:\n%s", path, b.String())
		}
	}
	if err := gateSample(t).Write(io.Discard, "moon", ""); err == nil {
		t.Error("moon is a format")
	}
}

// TestReport: the worst verdict is that of the whole.
func TestReport(t *testing.T) {
	check := func(v Verdict, advisory bool) Check {
		return Check{Name: string(v), Advisory: advisory, Result: &Result{Verdict: v, Why: "so"}}
	}
	for _, c := range []struct {
		checks []Check
		want   Verdict
	}{
		{nil, Inconclusive},
		{[]Check{check(Pass, false)}, Pass},
		{[]Check{check(Pass, false), check(Improvement, false)}, Improvement},
		{[]Check{check(Regression, true), check(Improvement, false)}, Improvement},
		{[]Check{check(Regression, true)}, Inconclusive},
		{[]Check{check(Inconclusive, false), check(Improvement, false)}, Inconclusive},
		{[]Check{check(Regression, false), check(Inconclusive, false)}, Regression},
		{[]Check{check(Incomparable, false), check(Regression, false)}, Incomparable},
	} {
		if r := NewReport("", c.checks); r.Verdict != c.want || r.Why == "" {
			t.Errorf("%v: %s (%s), want %s", c.checks, r.Verdict, r.Why, c.want)
		}
	}
}

// TestJUnit: it is XML, its counts are those of its cases, and each suite fails if its
// check does.
func TestJUnit(t *testing.T) {
	r := gateSample(t)
	var b bytes.Buffer
	if err := r.WriteJUnit(&b); err != nil {
		t.Fatal(err)
	}
	var doc junitSuites
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Suites) != len(r.Checks) {
		t.Fatalf("%d suites", len(doc.Suites))
	}
	for i, s := range doc.Suites {
		n := [4]int{}
		for _, c := range s.Cases {
			n[0]++
			switch {
			case c.Failure != nil:
				n[1]++
			case c.Error != nil:
				n[2]++
			case c.Skipped != nil:
				n[3]++
			}
		}
		if n != [4]int{s.Tests, s.Failures, s.Errors, s.Skipped} {
			t.Errorf("%s: counted %v, says %+v", s.Name, n, s)
		}
		fails := r.Checks[i].Result.Verdict.ExitStatus() != ExitPass && !r.Checks[i].Advisory
		if fails != (n[1]+n[2] > 0) {
			t.Errorf("%s: %s, %d failures and %d errors", s.Name, r.Checks[i].Result.Verdict, n[1], n[2])
		}
	}
}

// TestSARIF: results name rules that are there, and fingerprints are of one result
// each, and the same again.
func TestSARIF(t *testing.T) {
	var b, again bytes.Buffer
	if err := gateSample(t).WriteSARIF(&b, "1"); err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Runs []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID              string
				RuleIndex           int
				Kind, Level         string
				PartialFingerprints map[string]string
				Locations           []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	if err := json.Unmarshal(b.Bytes(), &doc); err != nil || len(doc.Runs) != 1 {
		t.Fatal(err)
	}
	seen, kinds := map[string]bool{}, map[string]int{}
	for _, r := range doc.Runs[0].Results {
		kinds[r.Kind]++
		if doc.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || len(r.Locations) != 1 || (r.Kind != "fail") != (r.Level == "none") {
			t.Errorf("%+v", r)
		}
		if uri := r.Locations[0].PhysicalLocation.ArtifactLocation.URI; strings.ContainsAny(uri, " <>\"\x00\n") {
			t.Errorf("URI %q", uri)
		}
		if p := r.PartialFingerprints["flagosTraceFinding/v1"]; r.Kind == "fail" && (p == "" || seen[p]) {
			t.Errorf("fingerprint %q of %+v", p, r)
		} else {
			seen[p] = true
		}
	}
	if kinds["fail"] == 0 || kinds["open"] == 0 || kinds["notApplicable"] == 0 {
		t.Errorf("kinds %v", kinds)
	}
	if err := gateSample(t).WriteSARIF(&again, "1"); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
		t.Error("it is another the second time")
	}
}

// TestGitHub: each line is one command with what is escaped escaped, and of one level
// no more than are shown.
func TestGitHub(t *testing.T) {
	r := gateSample(t)
	for i := range 30 {
		r.Checks[0].Result.Findings = append(r.Checks[0].Result.Findings, Finding{Assertion: "many", Subject: string(rune('a' + i)), Severity: Error, What: "x", Where: Nowhere})
	}
	var b bytes.Buffer
	if err := r.WriteGitHub(&b); err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, line := range strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n") {
		level, rest, ok := strings.Cut(strings.TrimPrefix(line, "::"), " ")
		properties, text, whole := strings.Cut(rest, "::")
		if !ok || !whole || !strings.HasPrefix(line, "::") || text == "" || strings.ContainsAny(line, "\r\x00\x1b") {
			t.Fatalf("%q", line)
		}
		for _, p := range strings.Split(properties, ",") {
			if key, value, ok := strings.Cut(p, "="); !ok || key != "title" && key != "file" || strings.Contains(value, ":") {
				t.Errorf("property %q in %q", p, line)
			}
		}
		n[level]++
	}
	if n["error"] != githubMost || n["warning"] == 0 || n["notice"] == 0 || len(n) != 3 {
		t.Errorf("%v", n)
	}
	// No name has a line's end left in it, so what reads as one was in the name.
	if strings.Contains(b.String(), "%0A") || !strings.Contains(b.String(), "%250A") {
		t.Error("a %0A of a name is read as a new line")
	}
}

// TestGitLab: what GitLab requires is there, and no fingerprint twice.
func TestGitLab(t *testing.T) {
	var b bytes.Buffer
	if err := gateSample(t).WriteGitLab(&b); err != nil {
		t.Fatal(err)
	}
	var list []gitlabIssue
	if err := json.Unmarshal(b.Bytes(), &list); err != nil || len(list) == 0 {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, x := range list {
		if x.Description == "" || x.Check == "" || x.Fingerprint == "" || seen[x.Fingerprint] || x.Location.Path == "" || strings.HasPrefix(x.Location.Path, "./") || x.Location.Lines.Begin != 1 ||
			!strings.Contains("info minor major critical blocker", x.Severity) {
			t.Errorf("%+v", x)
		}
		seen[x.Fingerprint] = true
	}
	b.Reset()
	if err := (&Report{}).WriteGitLab(&b); err != nil || strings.TrimSpace(b.String()) != "[]" {
		t.Errorf("without findings: %s", b.String())
	}
	// A finding keeps its identity when figures change.
	c := Check{Name: "a", Result: &Result{New: Side{Name: "n"}}}
	f, g := Finding{Assertion: "x", Subject: "s", What: "1 of 2"}, Finding{Assertion: "x", Subject: "s", What: "3 of 4", Count: 3}
	if (fingerprints{}).of(&c, &f) != (fingerprints{}).of(&c, &g) {
		t.Error("figures change the fingerprint")
	}
}

// TestMarkdownCells: names of a trace stay in their cell.
func TestMarkdownCells(t *testing.T) {
	var b bytes.Buffer
	if err := gateSample(t).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	columns := 0
	for _, line := range strings.Split(b.String(), "\n") {
		if strings.Contains(line, "<b>") || strings.Contains(line, "@all") {
			t.Errorf("markup in %q", line)
		}
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.NewReplacer(`\\`, "", `\|`, "").Replace(line), "|")
		if columns > 0 && n != columns {
			t.Errorf("%d bars, not %d, in %q", n, columns, line)
		}
		columns = n
	}
}

func TestAdjust(t *testing.T) {
	broken := func() *Result {
		r := New("structure", Side{}, Side{})
		r.Assert(Assertion{ID: "a", Outcome: Broken})
		r.Assert(Assertion{ID: "b", Outcome: Broken})
		r.Assert(Assertion{ID: "c", Outcome: Holds})
		r.Add(Finding{Assertion: "a", Severity: Error})
		r.Add(Finding{Assertion: "b", Severity: Warning})
		r.Decide()
		return r
	}
	for _, c := range []struct {
		s       Settings
		want    Verdict
		first   string
		unknown int
	}{
		{Settings{}, Regression, "a", 0},
		{Settings{Ignore: []string{"a", "b"}}, Pass, "", 0},
		{Settings{Ignore: []string{"a"}}, Regression, "b", 0},
		{Settings{Severity: map[string]Severity{"a": Note, "b": Note}}, Pass, "a", 0},
		{Settings{Severity: map[string]Severity{"*": Note, "b": Error}}, Regression, "b", 0},
		{Settings{Severity: map[string]Severity{"a": Warning, "b": Error}}, Regression, "b", 0},
		{Settings{Ignore: []string{"moon"}, Severity: map[string]Severity{"sun*": Note}}, Regression, "a", 2},
		{Settings{Ignore: []string{"*"}}, Inconclusive, "", 0},
	} {
		r := broken()
		unknown := r.Adjust(c.s)
		first := ""
		if len(r.Findings) > 0 {
			first = r.Findings[0].Assertion
		}
		if r.Verdict != c.want || first != c.first || len(unknown) != c.unknown {
			t.Errorf("%+v: %s, first %q, unknown %v", c.s, r.Verdict, first, unknown)
		}
	}
}

// TestLongNames: a name that fills pages is cut in every form but the JSON, and no byte of
// what is cut is made another.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("k\xff", 100_000)
	r := New("structure", Side{Name: long, Kind: "trace"}, Side{Name: "new.json", Kind: "trace", Devices: []string{long}})
	r.Assert(Assertion{ID: "values", Title: "t", Outcome: Broken})
	r.Add(Finding{Assertion: "values", Subject: long, Severity: Error, What: long, Expected: long, Got: long, Fix: long, Where: Place{Name: long, Event: 1, Offset: 2}})
	r.Add(Finding{Assertion: "values", Subject: long, Severity: Note, What: long, Where: Nowhere})
	r.Better = append(r.Better, long)
	r.Decide()
	report := NewReport("gate.yaml", []Check{{Name: "a", Result: r}, {Name: "b", Result: Unusable("structure", Side{Name: "b"}, Side{Name: "c.json"}, errors.New(long))}})
	for _, format := range Formats {
		var b bytes.Buffer
		if err := report.Write(&b, format, "1"); err != nil {
			t.Fatal(err)
		}
		if format != "json" && b.Len() > 300_000 {
			t.Errorf("%s: %d bytes", format, b.Len())
		}
		if format != "json" && strings.Contains(b.String(), "\ufffd") {
			t.Errorf("%s: a byte that is not UTF-8 is U+FFFD", format)
		}
	}
	if got := first("a\xffbcd", 3); got != "a\xffb..." {
		t.Errorf("%q", got)
	}
}

// TestHidden: no form has a character in it that acts instead of being seen.
func TestHidden(t *testing.T) {
	const name = "x\n::error::pwned\u009b2J\u202e\u2066\u2028\x7f"
	r := New("structure", Side{Name: name, Kind: "trace"}, Side{Name: name, Kind: "trace", Producer: name})
	r.Assert(Assertion{ID: "values/" + name, Title: name, Outcome: Broken})
	r.Assert(Assertion{ID: "more/" + name, Title: name, Outcome: NotRecorded, Reason: name})
	r.Add(Finding{Assertion: "values/" + name, Subject: name, Severity: Error, What: name, Got: name, Where: Place{Name: name, Event: 1, Offset: 2}})
	r.Decide()
	report := NewReport(name, []Check{{Name: name, Result: r}})
	for _, format := range Formats {
		var b bytes.Buffer
		if err := report.Write(&b, format, "1"); err != nil {
			t.Fatal(err)
		}
		for i, c := range b.String() {
			if c != '\n' && plain.Hidden(c) {
				t.Errorf("%s: %U at %d", format, c, i)
			}
		}
		if format != "github" && strings.Contains(b.String(), "\n::error") {
			t.Errorf("%s: a command:\n%s", format, b.String())
		}
	}
}

// TestCleanPath: what lies below the working directory is named from there.
func TestCleanPath(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"-": "stdin", "./a/b.json": "a/b.json", "../b.json": "../b.json",
		filepath.Join(here, "a", "b.json"): "a/b.json",
		filepath.Dir(here) + "/b.json":     filepath.ToSlash(filepath.Dir(here)) + "/b.json",
		here + "more/b.json":               filepath.ToSlash(here) + "more/b.json",
	} {
		if got := cleanPath(name); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
