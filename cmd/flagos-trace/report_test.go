package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	dir := t.TempDir()
	const pairs = "../../testdata/pairs/"
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name   string
		args   []string
		status int
		err    string
	}{
		{"a trace", []string{pairs + "basic.kineto.json.gz", "-o", at("basic.html")}, exitOK, ""},
		{"ranks", []string{pairs + "ddp.rank0.kineto.json.gz", pairs + "ddp.rank1.kineto.json.gz", "--title", "a <job>", "-o", at("ddp.html")}, exitOK, ""},
		{"two sides", []string{pairs + "basic.kineto.json.gz", "--diff", pairs + "streams.kineto.json.gz", "--no-validate", "-o", at("diff.html")}, exitOK, ""},
		{"no trace", []string{"report_test.go", "-o", at("none.html")}, exitUsage, "report_test.go"},
		{"no file", []string{at("missing.json"), "-o", at("none.html")}, exitUsage, "missing.json"},
		{"no base", []string{pairs + "basic.kineto.json.gz", "--diff", at("missing.json"), "-o", at("none.html")}, exitUsage, "missing.json"},
		{"no folder", []string{pairs + "basic.kineto.json.gz", "-o", at("none/none.html")}, exitFailure, "none.html"},
		{"no output", []string{pairs + "basic.kineto.json.gz"}, exitUsage, "output"},
		{"no rules", []string{pairs + "basic.kineto.json.gz", "--rules", at("missing.yaml"), "-o", at("none.html")}, exitUsage, "missing.yaml"},
	} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"report"}, c.args...), &out, &errs); status != c.status || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%s: status %d, not %d: %s", c.name, status, c.status, errs.String())
		}
	}
	if left, _ := filepath.Glob(at("none*")); left != nil {
		t.Errorf("there are %v", left)
	}
	for name, sides := range map[string]int{"basic.html": 1, "ddp.html": 1, "diff.html": 2} {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), `id="data">`)
		raw, _, ok := strings.Cut(rest, "</script>")
		var data struct {
			Title string            `json:"title"`
			Sides []json.RawMessage `json:"sides"`
		}
		if err := json.Unmarshal([]byte(raw), &data); err != nil || !ok || len(data.Sides) != sides {
			t.Errorf("%s: %d sides, not %d: %v", name, len(data.Sides), sides, err)
		}
		if name == "ddp.html" && (data.Title != "a <job>" || !bytes.Contains(text, []byte("<title>a &lt;job&gt;</title>"))) {
			t.Errorf("%s: title %q", name, data.Title)
		}
	}
}
