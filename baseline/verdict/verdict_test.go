package verdict

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// sample is a result with one of everything.
func sample() *Result {
	r := New("structure", Side{Name: "torch-cuda", Kind: "baseline", Producer: "torch 2.11 (cuda)", Vendor: "cuda", Devices: []string{"NVIDIA H200"}},
		Side{Name: "new.json.gz", Kind: "trace", Producer: "Torch-FL (flagos)", Vendor: "ascend", Events: 12, Completeness: "complete"})
	for _, a := range []Assertion{
		{ID: "categories", Title: "Every category is there", Outcome: Holds, Checked: 6},
		{ID: "arg-keys", Title: "Arguments are there", Outcome: Cannot, Reason: "records have no context", Checked: 30, Broken: 1},
		{ID: "operators", Title: "Operators are there", Outcome: NotRecorded, Reason: "the new trace has no operators"},
		{ID: "names", Title: "Kernels have demangled names", Outcome: Broken, Checked: 9, Broken: 9},
		{ID: "values", Title: "Figures can be true", Outcome: Broken, Checked: 30, Broken: 9},
		{ID: "rows", Title: "Rows have names", Outcome: Broken, Checked: 2, Broken: 2},
		{ID: "flows", Title: "Arrows have both ends", Outcome: SameInBase, Checked: 4, Broken: 1},
		{ID: "metadata", Title: "Metadata is there", Outcome: NotJudged, Reason: "the base says nothing about it"},
	} {
		r.Assert(a)
	}
	r.Add(Finding{Assertion: "rows", Subject: "row:stream", Severity: Warning, What: "rows of streams have other names", Where: Nowhere, Expected: "stream #", Got: "queue\x1b[31m #", Fix: "name them"})
	for i := range 7 {
		r.Add(Finding{Assertion: "values", Subject: "constant:kernel/" + string(rune('a'+i)), Severity: Error, What: string(rune('a'+i)) + " is 32 on all 9 kernels | <b>",
			Where: Place{Category: "kernel", Name: strings.Repeat("k", 100), Key: "a", Event: 3, Offset: 400}, Expected: "values that differ", Got: "32", Fix: "write what was measured", Count: int64(i)})
	}
	r.Add(Finding{Assertion: "names", Subject: "measure:names", Severity: Error, What: "kernels have mangled names (9 of 9)", Where: Nowhere, Got: "_ZN2at", Fix: "demangle them", DeviceNS: 5000})
	r.Add(Finding{Assertion: "categories", Subject: "category:extra", Severity: Note, What: "the new side has categories that the base does not: overhead", Where: Nowhere})
	r.Cannot = append(r.Cannot, Excuse{"arg-keys", "arg:kernel/context", "ascend", "records have no context", "mspti_activity.h"})
	r.Better = append(r.Better, "ids: 3 of 9 in the base, none in the new trace")
	return r
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer, *Result) error{
		"text.golden":     func(b *bytes.Buffer, r *Result) error { return WriteText(b, r) },
		"markdown.golden": func(b *bytes.Buffer, r *Result) error { return WriteMarkdown(b, r) },
		"json.golden":     func(b *bytes.Buffer, r *Result) error { return WriteJSON(b, r) },
	} {
		r := sample()
		if err := r.Judge([]Exception{{Assertion: "rows", Subject: "row:*", Reason: "known", Expires: "2026-12-31"}}, now); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
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
			t.Errorf("%s is not as before:\n%s", name, b.String())
		}
	}
}

// TestJudge: which verdict, and which exit status, follows from what.
func TestJudge(t *testing.T) {
	f := func(s Severity) Finding {
		return Finding{Assertion: "a", Subject: "arg:kernel/x", Severity: s, What: "w", Where: Nowhere}
	}
	holds, notRecorded := Assertion{ID: "b", Outcome: Holds}, Assertion{ID: "c", Outcome: NotRecorded}
	for _, c := range []struct {
		name       string
		fill       func(r *Result)
		exceptions []Exception
		want       Verdict
		status     int
	}{
		{"all holds", func(r *Result) { r.Assert(holds) }, nil, Pass, 0},
		{"broken alike", func(r *Result) { r.Assert(Assertion{ID: "b", Outcome: SameInBase}) }, nil, Pass, 0},
		{"only what cannot be", func(r *Result) { r.Assert(Assertion{ID: "b", Outcome: Cannot}) }, nil, Inconclusive, 2},
		{"nothing", func(r *Result) {}, nil, Inconclusive, 2},
		{"a note", func(r *Result) { r.Assert(holds); r.Add(f(Note)) }, nil, Pass, 0},
		{"a warning", func(r *Result) { r.Assert(holds); r.Add(f(Warning)) }, nil, Regression, 1},
		{"better", func(r *Result) { r.Assert(holds); r.Better = []string{"x"} }, nil, Improvement, 0},
		{"better and worse", func(r *Result) { r.Assert(holds); r.Better = []string{"x"}; r.Add(f(Error)) }, nil, Regression, 1},
		{"not recorded", func(r *Result) { r.Assert(holds); r.Assert(notRecorded) }, nil, Inconclusive, 2},
		{"not recorded, and worse", func(r *Result) { r.Assert(notRecorded); r.Add(f(Error)) }, nil, Regression, 1},
		{"not recorded, but out of scope", func(r *Result) {
			r.Assert(holds)
			r.Assert(Assertion{ID: "c", Outcome: NotRecorded, OutOfScope: true})
		}, nil, Pass, 0},
		{"incomparable", func(r *Result) { r.Add(f(Error)); r.Incomparable = []string{"x"} }, nil, Incomparable, 3},
		{"accepted", func(r *Result) { r.Assert(holds); r.Assert(Assertion{ID: "a", Outcome: Broken}); r.Add(f(Error)) },
			[]Exception{{Assertion: "a", Subject: "arg:*", Reason: "r", Expires: "2026-12-01"}}, Pass, 0},
		{"accepted until yesterday", func(r *Result) { r.Assert(holds); r.Add(f(Error)) },
			[]Exception{{Assertion: "a", Subject: "arg:*", Reason: "r", Expires: "2026-11-30"}}, Regression, 1},
		{"another is accepted", func(r *Result) { r.Assert(holds); r.Add(f(Error)) },
			[]Exception{{Assertion: "a", Subject: "arg:*/y", Reason: "r"}, {Assertion: "b", Reason: "r"}}, Regression, 1},
	} {
		r := New("structure", Side{}, Side{})
		c.fill(r)
		if err := r.Judge(c.exceptions, now); err != nil {
			t.Fatal(err)
		}
		if r.Verdict != c.want || r.Verdict.ExitStatus() != c.status || r.Why == "" {
			t.Errorf("%s: %s (%s), status %d", c.name, r.Verdict, r.Why, r.Verdict.ExitStatus())
		}
	}
	r := New("structure", Side{}, Side{})
	r.Add(f(Error))
	if err := r.Judge([]Exception{{Assertion: "a", Reason: "r", Expires: "soon"}}, now); err == nil {
		t.Error("an exception until soon is understood")
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"*", "", true}, {"*", "abc", true}, {"a*c", "abc", true}, {"a*c", "ac", true}, {"a*c", "acb", false}, {"a", "ab", false},
		{"arg:*/context", "arg:kernel/context", true}, {"*a*b*", "xxaybz", true}, {"ab", "a", false}, {"**", "x", true},
	} {
		if Match(c.pattern, c.text) != c.want {
			t.Errorf("Match(%q, %q) is not %v", c.pattern, c.text, c.want)
		}
	}
}

func TestReadExceptions(t *testing.T) {
	list, err := ReadExceptions([]byte("- {assertion: a, subject: 'arg:kernel/*', reason: because, expires: 2027-01-31}\n- {assertion: b, reason: so}\n"))
	if err != nil || len(list) != 2 || list[0].Expires != "2027-01-31" || list[1].Subject != "" {
		t.Errorf("%+v, %v", list, err)
	}
	for _, none := range []string{"", "# none is left\n", "[]"} {
		if list, err := ReadExceptions([]byte(none)); err != nil || len(list) != 0 {
			t.Errorf("%q: %+v, %v", none, list, err)
		}
	}
	for _, bad := range []string{"x", "- {assertion: a}", "- {reason: r}", "- {assertion: a, reason: r, expires: tomorrow}", "- {assertion: a, reason: r, until: 2027-01-01}", "{"} {
		if _, err := ReadExceptions([]byte(bad)); !errors.Is(err, ErrExceptions) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSchemaIsJSON(t *testing.T) {
	if !json.Valid(Schema) {
		t.Error("it is not")
	}
}

// TestUnjudged: the verdict gives the reasons of the assertions, not one of its own.
func TestUnjudged(t *testing.T) {
	not := func(reason string, ids ...string) (list []Assertion) {
		for _, id := range ids {
			list = append(list, Assertion{ID: id, Outcome: NotRecorded, Reason: reason})
		}
		return list
	}
	for _, c := range []struct {
		list []Assertion
		want string
	}{
		{not("too few", "a"), "1 assertion could not be judged: a (too few)"},
		{not("", "a"), "1 assertion could not be judged: a"},
		{not("too few", "a", "b"), "2 assertions could not be judged: a, b (too few)"},
		{slices.Concat(not("too few", "a"), not("no kernels", "b"), not("too few", "c")), "3 assertions could not be judged: a, c (too few); b (no kernels)"},
		{not("so", "a", "b", "c", "d", "e"), "5 assertions could not be judged: a, b, c, and 2 more (so)"},
		{slices.Concat(not("p", "a"), not("q", "b"), not("r", "c"), not("s", "d")), "4 assertions could not be judged: a (p); b (q); and 2 reasons more"},
	} {
		r := New("structure", Side{}, Side{})
		for _, a := range c.list {
			r.Assert(a)
		}
		if r.Decide(); r.Verdict != Inconclusive || r.Why != c.want {
			t.Errorf("%s: %s, want %s", r.Verdict, r.Why, c.want)
		}
	}
}
