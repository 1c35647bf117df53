package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/compare"
)

// slowed writes a copy of a trace in which device work takes a tenth longer.
func slowed(t *testing.T, from, to string) {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run([]string{"cat", from, "-o", to}, &out, &errs); status != exitOK {
		t.Fatal(errs.String())
	}
	text, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	var events []map[string]json.RawMessage
	if err := json.Unmarshal(doc["traceEvents"], &events); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		var dur float64
		if string(e["cat"]) == `"kernel"` && json.Unmarshal(e["dur"], &dur) == nil {
			e["dur"], _ = json.Marshal(float64(int64(dur*1100)) / 1000)
		}
	}
	doc["traceEvents"], _ = json.Marshal(events)
	text, _ = json.Marshal(doc)
	if err := os.WriteFile(to, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDiffPerf(t *testing.T) {
	dir := t.TempDir()
	from := "../../testdata/pairs/basic.kineto.json.gz"
	slow := filepath.Join(dir, "slow.json")
	slowed(t, from, slow)
	none := filepath.Join(dir, "none.json")
	if err := os.WriteFile(none, []byte(`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	rules := filepath.Join(dir, "rules.yaml")
	if err := os.WriteFile(rules, []byte("operators: {aten::renamed: [aten::mm]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    string
	}{
		{"itself", []string{from, from}, 0, "PASS: all times are equal"},
		{"one run", []string{from, slow, "--noise-floor", "0.2"}, 2, "INCONCLUSIVE"},
		{"one slow run", []string{from, slow, "--noise-floor", "0.001"}, 1, "REGRESSION: slower: device time"},
		{"the other way round", []string{slow, from, "--noise-floor", "0.001"}, 0, "IMPROVEMENT"},
		{"runs", []string{from, from, from, "--new", slow, slow, "--new", slow}, 1, "3 runs"},
		{"no device work", []string{from, none}, 3, "holds no device work"},
		{"tables", []string{from, from, "--by", "kernel,class", "--wide", "--top", "2"}, 0, "launch delay"},
		{"markdown", []string{from, from, "--markdown"}, 0, "## flagos-trace diff --perf: pass"},
		{"rules", []string{from, from, "--match-rules", rules}, 0, "aten::renamed"},
		{"three files", []string{from, from, from}, 3, ""},
		{"no base", []string{"--new", from, from}, 3, ""},
		{"no such table", []string{from, from, "--by", "color"}, 3, ""},
		{"no such correction", []string{from, from, "--correction", "luck"}, 3, ""},
		{"a share above 1", []string{from, from, "--min-effect", "2"}, 3, ""},
		{"no rows", []string{from, from, "--top", "0"}, 3, ""},
		{"no file", []string{from, filepath.Join(dir, "missing.json")}, 3, ""},
		{"no rules", []string{from, from, "--match-rules", slow}, 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			status := run(append([]string{"diff", "--perf"}, c.args...), &out, &errs)
			if status != c.status || !strings.Contains(out.String(), c.out) {
				t.Errorf("status %d, want %d and %q:\n%s%s", status, c.status, c.out, out.String(), errs.String())
			}
			if c.out == "" && (out.Len() > 0 || errs.Len() == 0) {
				t.Errorf("printed %q, told %q", out.String(), errs.String())
			}
		})
	}
	var out, errs bytes.Buffer
	if status := run([]string{"diff", "--perf", "--json", from, slow}, &out, &errs); status == exitOK {
		t.Error("a slower run passes")
	}
	var doc compare.Report
	if err := json.Unmarshal(out.Bytes(), &doc); err != nil || doc.Schema != compare.Schema || len(doc.Tables) != len(compare.Tables) {
		t.Errorf("JSON: %v, schema %q, %d tables", err, doc.Schema, len(doc.Tables))
	}
}
