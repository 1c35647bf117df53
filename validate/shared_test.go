package validate

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func runFile(t testing.TB, path string, opt Options) *Report {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Run(f, opt)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return r
}

// summary is a report in a form for goldens: counts by rule, the first finding of
// each, and what does not apply.
func summary(r *Report) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Producer.Family)
	if r.Producer.Since != "" {
		fmt.Fprintf(&b, ", from %s on", r.Producer.Since)
	}
	fmt.Fprintf(&b, "; %d events, %d bytes\n", r.Events, r.Bytes)
	for _, c := range r.Counts {
		fmt.Fprintf(&b, "  %-7s %s %d\n", c.Severity, c.Rule, c.N)
		for _, f := range r.Findings {
			if f.Rule == c.Rule {
				fmt.Fprintf(&b, "            event %d, byte %d: %s\n", f.Event, f.Offset, f.Text)
				break
			}
		}
	}
	var not []string
	for _, n := range r.NotApplicable {
		not = append(not, n.Rule)
	}
	fmt.Fprintf(&b, "  not applicable: %s\n", strings.Join(not, " "))
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; look at it and run go test -update:\n%s", path, firstDifference(got, string(want)))
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d: got  %s\n         want %s", i+1, g[i], w[min(i, len(w)-1)])
		}
	}
	return "the golden is longer"
}

// TestOtherProducers reads traces of many producers, where they are at hand.
func TestOtherProducers(t *testing.T) {
	sharedTraces := testrig.Shared(t, "traces")
	var files []string
	err := filepath.WalkDir(sharedTraces, func(path string, d fs.DirEntry, err error) error {
		if err == nil && (strings.HasSuffix(path, ".json") || strings.HasSuffix(path, ".json.gz")) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	sort.Strings(files)
	var b strings.Builder
	for _, path := range files {
		name, _ := filepath.Rel(sharedTraces, path)
		fmt.Fprintf(&b, "%s: %s", filepath.ToSlash(name), summary(runFile(t, path, Options{})))
	}
	golden(t, "testdata/producers.golden", b.String())
}
