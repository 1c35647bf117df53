package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

var day = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// pairs is the folder of recordings.
func pairs(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../testdata/pairs")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestRun: what configurations come to, check by check.
func TestRun(t *testing.T) {
	p := pairs(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"accept.yaml": "- {assertion: categories, subject: 'category:gpu_memcpy', reason: it copies nothing}\n",
		"cut.json":    `{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{}},{"ph":"X","na`,
		"none.json":   "no trace",
		"moon.yaml":   "vendors: {moon: [{assertion: ids, subject: s, reason: r, source: s}]}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, config string
		traces       []string
		want         verdict.Verdict
		checks       []string // verdict and a part of why or of a finding
	}{
		{"itself", "structure: [{base: P/basic.kineto.json.gz}]\nvalidate:\nnew: P/basic.kineto.json.gz\n", nil, "pass", []string{"pass ", "pass assertions held"}},
		{"against the embedded", "structure: [{}]\nnew: P/comp.kineto.json.gz\n", nil, "regression", []string{"regression gpu_memcpy is missing"}},
		{"accepted", "structure: [{exceptions: accept.yaml}]\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"accepted here", "structure: [{accept: [{assertion: categories, reason: so}]}]\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"expired", "structure: [{accept: [{assertion: categories, reason: so, expires: 2026-11-30}]}]\nnew: P/comp.kineto.json.gz\n", nil, "regression", []string{"regression accepted until"}},
		{"ignored", "structure: [{ignore: [cat*]}]\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"a note", "structure: [{severity: {categories: note}}]\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"ignored, misspelled", "structure: [{ignore: [catagories]}]\nnew: P/comp.kineto.json.gz\n", nil, "incomparable", []string{"incomparable catagories"}},
		{"advisory", "structure: [{advisory: true}]\nvalidate:\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass ", "regression "}},
		{"only advice", "structure: [{advisory: true}]\nnew: P/comp.kineto.json.gz\n", nil, "inconclusive", []string{"regression "}},
		{"a vendor of a table", "structure: [{base: P/basic.kineto.json.gz, vendor: moon, capabilities: moon.yaml}]\nnew: P/basic.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"a vendor that is not in it", "structure: [{base: P/basic.kineto.json.gz, vendor: sun, capabilities: moon.yaml}]\nnew: P/basic.kineto.json.gz\n", nil, "incomparable", []string{"incomparable vendor is \"sun\", which nobody knows"}},
		{"several traces", "structure: [{base: P/basic.kineto.json.gz}]\nnew: ['P/[bc]*.kineto.json.gz']\n", nil, "regression", []string{"pass ", "regression "}},
		{"named here", "validate:\nnew: nothing.json\n", []string{p + "/comp.kineto.json.gz"}, "pass", []string{"pass "}},
		{"parity", "structure: [{parity: torch-fl}]\nnew: P/train.kineto.json.gz\n", nil, "regression", []string{"regression some arrows have one end"}},
		{"parity but for one", "structure: [{parity: torch-fl, ignore: [torch-fl/2-flows]}]\nnew: P/train.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"no trace", "validate:\n", nil, "incomparable", []string{"incomparable no trace to judge"}},
		{"nothing matches", "validate:\nnew: '*.moon'\n", nil, "incomparable", []string{"incomparable no file matches"}},
		{"standard input", "validate:\n", []string{"-"}, "incomparable", []string{"incomparable standard input"}},
		{"no such base", "structure: [{base: torch-moon}]\nnew: P/comp.kineto.json.gz\n", nil, "incomparable", []string{"incomparable torch-moon"}},
		{"one is unusable", "structure: [{base: P/comp.kineto.json.gz}]\nnew: [P/comp.kineto.json.gz, none.json]\n", nil, "incomparable", []string{"pass ", "incomparable none.json"}},
		{"cut", "structure: [{base: P/comp.kineto.json.gz}]\nvalidate: {}\nnew: cut.json\n", nil, "incomparable", []string{"regression ", "incomparable cannot be read"}},
		{"times of itself", "performance: [{base: P/basic.kineto.json.gz}]\nnew: P/basic.kineto.json.gz\n", nil, "pass", []string{"pass all times are equal"}},
		{"times of another", "performance: [{base: P/basic.kineto.json.gz, noise_floor: 0.001, metrics: [device-time]}]\nnew: P/train.kineto.json.gz\n", nil, "regression", []string{"regression "}},
		{"an operator's time", "performance: [{base: P/basic.kineto.json.gz, budgets: [{operator: 'aten::*', max_time: 1ns}]}]\nnew: P/basic.kineto.json.gz\n", nil, "regression", []string{"regression beyond its budget"}},
		{"a budget is kept", "performance: [{base: P/basic.kineto.json.gz, budgets: [{category: kernel, max_increase: 0.1, max_time: 1h}]}]\nnew: P/basic.kineto.json.gz\n", nil, "pass", []string{"pass all times are equal"}},
		{"a budget of nothing", "performance: [{base: P/basic.kineto.json.gz, budgets: [{operator: aten::moon, max_time: 1h}]}]\nnew: P/basic.kineto.json.gz\n", nil, "inconclusive", []string{"inconclusive "}},
		{"a budget may fail", "performance: [{base: P/basic.kineto.json.gz, severity: {'perf-budget/*': note}, budgets: [{operator: 'aten::*', max_time: 1ns}]}]\nnew: P/basic.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"rules", "validate: {fail_on: note}\nnew: P/comp.kineto.json.gz\n", nil, "regression", []string{"regression "}},
		{"a rule of none", "validate: {fail_on: note, rules: [overlap-host]}\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"occupancy", "occupancy: {min: 1}\nnew: P/comp.kineto.json.gz\n", nil, "pass", []string{"pass "}},
		{"low occupancy", "occupancy: {min: 100, min_share: 0}\nnew: P/comp.kineto.json.gz\n", nil, "regression", []string{"regression %"}},
		{"no ratchet", "occupancy: {ratchet: none.json}\nnew: P/comp.kineto.json.gz\n", nil, "incomparable", []string{"incomparable none.json"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(dir, "gate.yaml")
			if err := os.WriteFile(path, []byte("version: 1\n"+strings.ReplaceAll(c.config, "P/", p+"/")), 0o600); err != nil {
				t.Fatal(err)
			}
			config, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			r := config.Run(c.traces, day)
			if r.Verdict != c.want || r.Why == "" || len(r.Checks) != len(c.checks) {
				t.Errorf("%s (%s), %d checks", r.Verdict, r.Why, len(r.Checks))
			}
			for i, want := range c.checks {
				if i >= len(r.Checks) {
					break
				}
				k := &r.Checks[i]
				v, part, _ := strings.Cut(want, " ")
				text := k.Result.Why
				for _, f := range k.Result.Findings {
					text += "\n" + f.What
				}
				if string(k.Result.Verdict) != v || !strings.Contains(text, part) {
					t.Errorf("%s: %s, want %s: %s", k.Name, k.Result.Verdict, want, text)
				}
			}
		})
	}
}
