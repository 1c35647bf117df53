package baseline

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/repair"
)

// followsRepair are the notes, and what is better, that a repair brings about: names
// that were missing or mangled are there.
var followsRepair = []struct{ assertion, subject, repair string }{
	{"api-names", "call:extra", "calls_named"},
	{"api-names", "", "calls_named"},
	{"operator-work", "work:kernels", "names_demangled"},
	{"names", "", "names_demangled"},
	{"flows", "", "flows_paired"},
	{"flows", "", "flows_removed"},
}

// TestRepaired: against its repaired form a trace passes, without a word but for what
// names that were repaired bring about.
func TestRepaired(t *testing.T) {
	n := 0
	for _, path := range traceFiles(t) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if testing.Short() && info.Size() > 1<<19 {
			continue
		}
		docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
		if err != nil {
			continue // TestItself says so
		}
		name := filepath.Base(path)
		base := look(t, name, docs[0])
		if len(base.Lost) > 0 || base.Events == 0 {
			continue
		}
		n++
		report, err := repair.Document(docs[0], repair.Options{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := chrome.Read(bytes.NewReader(written(t, docs[0].Trace, chrome.Options{})), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		follows := func(assertion, subject string) bool {
			return slices.ContainsFunc(followsRepair, func(f struct{ assertion, subject, repair string }) bool {
				return f.assertion == assertion && f.subject == subject && report.Repaired[f.repair] > 0
			})
		}
		r := compared(t, base, look(t, name, again), Options{})
		if r.Verdict.ExitStatus() != verdict.ExitPass && !(r.Verdict == verdict.Inconclusive && nothingJudged(r)) {
			t.Errorf("%s: %s: %s", name, r.Verdict, r.Why)
		}
		for _, f := range r.Findings {
			if f.Severity != verdict.Note || !follows(f.Assertion, f.Subject) {
				t.Errorf("%s: %s %s %s: %s (%s; %s), of %v", name, f.Severity, f.Assertion, f.Subject, f.What, f.Expected, f.Got, report.Repaired)
			}
		}
		for _, b := range r.Better {
			if assertion, _, _ := strings.Cut(b, ":"); !follows(assertion, "") {
				t.Errorf("%s: better: %s, of %v", name, b, report.Repaired)
			}
		}
	}
	t.Logf("%d traces", n)
}
