package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/gate"
)

// offCI keeps tests from writing into the summary of the job that runs them.
func offCI(t *testing.T) {
	t.Setenv("GITHUB_ACTIONS", "")
	t.Setenv("GITLAB_CI", "")
}

func TestGate(t *testing.T) {
	offCI(t)
	dir := t.TempDir()
	config := write(t, dir, "gate.yaml", "version: 1\nvalidate: {}\nstructure:\n  - base: torch-cuda\n")
	typo := write(t, dir, "typo.yaml", "version: 1\nvalidate: {failon: note}\n")
	train, comp := pair+"train.kineto.json.gz", pair+"comp.kineto.json.gz"
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"pass", []string{"--config", config, train}, 0, []string{"PASS: 2 checks passed", "validate: 5"}},
		{"regression", []string{"--config", config, comp}, 1, []string{"REGRESSION: 1 of 2 checks", "gpu_memcpy is missing"}},
		{"inconclusive", []string{"--config", write(t, dir, "i.yaml", "version: 1\nvalidate: {advisory: true}\n"), comp}, 2, []string{"INCONCLUSIVE"}},
		{"no such trace", []string{"--config", config, filepath.Join(dir, "none.json")}, 3, []string{"INCOMPARABLE", "none.json"}},
		{"without a configuration", []string{"--baseline", "torch-cuda", train}, 0, []string{"PASS: 2 checks passed"}},
		{"against a trace", []string{"--baseline", train, comp}, 1, []string{"REGRESSION"}},
		{"Markdown", []string{"--config", config, "--markdown", comp}, 1, []string{"## flagos-trace gate: regression", "### structure against torch-cuda"}},
		{"two forms", []string{"--config", config, "--format", "text,github", comp}, 1, []string{"REGRESSION: 1 of 2", "::error file="}},
		{"to standard output", []string{"--config", config, "-o", "junit=-", comp}, 1, []string{"<testsuites"}},
		{"schema", []string{"--schema"}, 0, []string{`"Result of flagos-trace gate"`}},
		{"two of one name", []string{"--config", write(t, dir, "two.yaml", "version: 1\nstructure:\n  - {}\n  - {scope: device}\n"), comp}, 3, []string{"two.yaml", "line 3", "line 4", "structure against torch-cuda"}},
		{"a key it does not know", []string{"--config", typo, comp}, 3, []string{"typo.yaml", "line 2", `"failon"`, "fail_on"}},
		{"no configuration", []string{"--config", filepath.Join(dir, "none.yaml"), comp}, 3, []string{"none.yaml", "--init"}},
		{"both", []string{"--config", config, "--baseline", "torch-cuda", comp}, 3, []string{"give one of them"}},
		{"no such format", []string{"--config", config, "--format", "moon", comp}, 3, []string{`"moon"`, "junit"}},
		{"no such output", []string{"--config", config, "-o", "moon=x", comp}, 3, []string{"moon=x"}},
		{"no file", []string{"--config", config, "-o", "junit", comp}, 3, []string{"junit=report.xml"}},
		{"two ways", []string{"--config", config, "--json", "--markdown", comp}, 3, []string{"give one"}},
		{"no such flag", []string{"--moon"}, 3, []string{"--moon"}},
		{"a folder that is not there", []string{"--config", config, "-o", "junit=" + filepath.Join(dir, "none", "x.xml"), comp}, 125, []string{"x.xml"}},
		{"init with traces", []string{"--init", comp}, 3, []string{"--init takes no traces"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := run(append([]string{"gate"}, c.args...), &out, &errs); status != c.status {
				t.Errorf("status %d, want %d: %s%s", status, c.status, out.String(), errs.String())
			}
			for _, s := range c.says {
				if !strings.Contains(out.String()+errs.String(), s) {
					t.Errorf("does not say %q:\n%s%s", s, out.String(), errs.String())
				}
			}
		})
	}
}

// TestGateInit: what --init writes works, and nothing is written over.
func TestGateInit(t *testing.T) {
	offCI(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "gate.yaml")
	var out, errs bytes.Buffer
	if status := run([]string{"gate", "--init", "--config", path}, &out, &errs); status != 0 {
		t.Fatal(errs.String())
	}
	if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, gate.Example) {
		t.Error("it is not the example")
	}
	if status := run([]string{"gate", "--init", "--config", path}, &out, &errs); status != 3 {
		t.Errorf("written over: %d", status)
	}
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(pair + "train.kineto.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "traces"), "train.json.gz", string(text))
	out.Reset()
	if status := run([]string{"gate", "--config", path}, &out, &errs); status != 0 || !strings.Contains(out.String(), "2 checks passed") {
		t.Errorf("status %d: %s%s", status, out.String(), errs.String())
	}
}

// TestGateJSON: the JSON has what its schema requires, and nothing else, whatever the
// verdict.
func TestGateJSON(t *testing.T) {
	offCI(t)
	dir := t.TempDir()
	base := pair + "basic.kineto.json.gz"
	abs, err := filepath.Abs(base)
	if err != nil {
		t.Fatal(err)
	}
	config := write(t, dir, "gate.yaml", "version: 1\nvalidate: {fail_on: note}\noccupancy: {min: 50, min_share: 0}\nstructure:\n  - {}\n  - {parity: torch-fl, name: parity, advisory: true}\n"+
		"performance:\n  - base: "+abs+"\n    budgets: [{operator: '*', max_time: 1ns}]\n")
	var schema map[string]any
	var out, errs bytes.Buffer
	run([]string{"gate", "--schema"}, &out, &errs)
	if err := json.Unmarshal(out.Bytes(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, trace := range []string{base, pair + "comp.kineto.json.gz", filepath.Join(dir, "none.json")} {
		out.Reset()
		run([]string{"gate", "--config", config, "--json", trace}, &out, &errs)
		var v any
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatal(err, errs.String())
		}
		conforms(t, schema, schema, v, "")
		var r verdict.Report
		if err := json.Unmarshal(out.Bytes(), &r); err != nil || len(r.Checks) != 5 {
			t.Errorf("%v, %d checks", err, len(r.Checks))
		}
	}
}

// TestDiffOutputs: diff and diff --perf write any forms at once, and also where a side
// cannot be read.
func TestDiffOutputs(t *testing.T) {
	offCI(t)
	basic, comp := pair+"basic.kineto.json.gz", pair+"comp.kineto.json.gz"
	for _, c := range []struct {
		name   string
		args   []string
		status int
		out    string
	}{
		{"structure", []string{basic, comp}, 1, "REGRESSION"},
		{"itself", []string{basic, basic}, 0, "PASS"},
		{"times", []string{"--perf", basic, basic}, 0, "PASS"},
		{"no such file", []string{basic, "none.json"}, 3, ""},
		{"no such run", []string{"--perf", basic, "none.json"}, 3, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			args := append([]string{"diff", "--format", "text"}, c.args...)
			for _, f := range verdict.Formats {
				args = append(args, "-o", f+"="+filepath.Join(dir, f))
			}
			var out, errs bytes.Buffer
			if status := run(args, &out, &errs); status != c.status || !strings.HasPrefix(out.String(), c.out) || c.out == "" && out.Len() > 0 {
				t.Errorf("status %d: %s%s", status, out.String(), errs.String())
			}
			for _, f := range verdict.Formats {
				text, err := os.ReadFile(filepath.Join(dir, f))
				if err != nil || len(text) == 0 {
					t.Errorf("%s: %v", f, err)
				}
				var v any
				switch f {
				case "json", "sarif", "gitlab":
					err = json.Unmarshal(text, &v)
				case "junit":
					var x struct {
						Failures int `xml:"failures,attr"`
						Errors   int `xml:"errors,attr"`
					}
					if err = xml.Unmarshal(text, &x); (x.Failures+x.Errors > 0) != (c.status > 0) {
						t.Errorf("%+v", x)
					}
				}
				if err != nil {
					t.Errorf("%s: %v", f, err)
				}
			}
		})
	}
}

// TestJobSummary: in a job of GitHub's the Markdown is added to what is in the summary,
// unless it is printed, or not wanted, or there is no room.
func TestJobSummary(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "summary.md", "before\n")
	t.Setenv("GITHUB_STEP_SUMMARY", path)
	basic := pair + "basic.kineto.json.gz"
	added := func(ci string, args ...string) string {
		t.Helper()
		t.Setenv("GITHUB_ACTIONS", ci)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		run(args, &out, &errs)
		after, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(after, before) {
			t.Fatalf("what was there is gone: %v", err)
		}
		return string(after[len(before):])
	}
	if s := added("true", "gate", "--baseline", "torch-cuda", basic); !strings.HasPrefix(s, "## flagos-trace gate: ") {
		t.Errorf("added %q", s)
	}
	if s := added("true", "diff", basic, basic); !strings.HasPrefix(s, "## flagos-trace diff: pass") {
		t.Errorf("added %q", s)
	}
	for _, c := range [][]string{{"", "diff", basic, basic}, {"true", "diff", "--markdown", basic, basic}, {"true", "diff", "--no-job-summary", basic, basic}} {
		if s := added(c[0], c[1:]...); s != "" {
			t.Errorf("%q: added %q", c, s)
		}
	}
	write(t, dir, "summary.md", strings.Repeat("x", maxSummary-200))
	if s := added("true", "diff", basic, basic); len(s) > 150 || !strings.Contains(s, "1 pass") {
		t.Errorf("added %q", s)
	}
}
