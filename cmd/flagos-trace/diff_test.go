package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

const pair = "../../testdata/pairs/"

// write makes a file in a folder of the test.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestDiff: each exit status, and what each form says.
func TestDiff(t *testing.T) {
	dir := t.TempDir()
	basic, comp, train := pair+"basic.kineto.json.gz", pair+"comp.kineto.json.gz", pair+"train.kineto.json.gz"
	broken := write(t, dir, "broken.json", "no trace")
	cut := write(t, dir, "cut.json", `{"traceEvents": [{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{}},{"ph":"X","na`)
	accept := write(t, dir, "accept.yaml", "- {assertion: categories, subject: 'category:gpu_memcpy', reason: it copies nothing, expires: 2999-01-01}\n")
	expired := write(t, dir, "expired.yaml", "- {assertion: categories, subject: 'category:gpu_memcpy', reason: it copies nothing, expires: 2020-01-01}\n")
	bare := write(t, dir, "bare.json", `{"deviceProperties": [], "traceEvents": [{"ph":"X","cat":"user_annotation","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}`)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"itself", []string{basic, basic}, 0, []string{"PASS: 23 assertions held, 1 broken as in the base", "same in base: kernels-dominate"}},
		{"against the embedded baseline", []string{train}, 0, []string{"PASS", "base  torch-cuda"}},
		{"by name", []string{"--baseline", "torch-cuda", train}, 0, []string{"PASS"}},
		{"another program", []string{basic, comp}, 1, []string{"REGRESSION", "error categories", "category gpu_memcpy is missing", "aten::_softmax is not there"}},
		{"a category without work", []string{comp}, 1, []string{"REGRESSION: 1 difference in 1 assertion"}},
		{"accepted", []string{"--exceptions", accept, comp}, 0, []string{"PASS", "Accepted exceptions:", "it copies nothing, until 2999-01-01", "accepted:     categories"}},
		{"accepted once", []string{"--exceptions", expired, comp}, 1, []string{"it was accepted until 2020-01-01: it copies nothing"}},
		{"parity", []string{"--parity", "torch-fl", train}, 1, []string{"error torch-fl/2-flows", "2 starts without a finish, 224 finishes without a start, 1936 whole"}},
		{"Markdown", []string{"--markdown", basic, comp}, 1, []string{"## flagos-trace diff: regression", "| error | `categories` |"}},
		{"schema", []string{"--schema"}, 0, []string{`"title": "Result of flagos-trace diff"`}},
		{"nothing that could be judged", []string{bare, bare}, 0, []string{"PASS"}},
		{"a part is lost", []string{basic, cut}, 3, []string{"INCOMPARABLE", "cannot be read"}},
		{"no trace", []string{basic, broken}, 3, []string{"broken.json"}},
		{"no file", []string{basic, filepath.Join(dir, "none.json")}, 3, []string{"none.json"}},
		{"no such baseline", []string{"--baseline", "torch-moon", basic}, 3, []string{`no embedded baseline named "torch-moon"`}},
		{"no such flag", []string{"--moon", basic}, 3, []string{"--moon"}},
		{"no such scope", []string{"--scope", "moon", basic}, 3, []string{"--scope"}},
		{"no such parity", []string{"--parity", "moon", basic}, 3, []string{"--parity"}},
		{"no arguments", nil, 3, []string{"accepts between 1 and 2 arg"}},
		{"two bases", []string{"--baseline", "torch-cuda", basic, basic}, 3, []string{"twice"}},
		{"bad exceptions", []string{"--exceptions", broken, basic}, 3, []string{"bad file of exceptions"}},
		{"bad capabilities", []string{"--capabilities", broken, basic}, 3, []string{"bad table of capabilities"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if status := run(append([]string{"diff"}, c.args...), &out, &errs); status != c.status {
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

// TestDiffJSON: the JSON has what its schema requires, and nothing else.
func TestDiffJSON(t *testing.T) {
	var schema map[string]any
	if err := json.Unmarshal(verdict.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{pair + "basic.kineto.json.gz", pair + "basic.kineto.json.gz"}, {pair + "basic.kineto.json.gz", pair + "comp.kineto.json.gz"},
		{pair + "ddp.rank0.kineto.json.gz"}, {"--parity", "torch-fl", pair + "graph.kineto.json.gz"},
	} {
		var out, errs bytes.Buffer
		run(append([]string{"diff", "--json"}, args...), &out, &errs)
		var v any
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatal(err, errs.String())
		}
		conforms(t, schema, schema, v, "")
	}
}

// conforms checks a value against the parts of JSON Schema that are used; a member
// that the schema does not know is an error, too.
func conforms(t *testing.T, root, schema map[string]any, v any, path string) {
	t.Helper()
	if ref, ok := schema["$ref"].(string); ok {
		schema = root["$defs"].(map[string]any)[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if want, ok := schema["const"]; ok && want != v {
		t.Errorf("%s is %v, not %v", path, v, want)
	}
	if list, ok := schema["enum"].([]any); ok && !slices.Contains(list, v) {
		t.Errorf("%s is %v, which is not in %v", path, v, list)
	}
	kind := map[string]bool{}
	switch x := v.(type) {
	case map[string]any:
		kind["object"] = true
		properties, _ := schema["properties"].(map[string]any)
		for _, key := range anys(schema["required"]) {
			if _, ok := x[key.(string)]; !ok {
				t.Errorf("%s lacks %s", path, key)
			}
		}
		for key, member := range x {
			if p, ok := properties[key].(map[string]any); ok {
				conforms(t, root, p, member, path+"/"+key)
			} else {
				t.Errorf("%s/%s is not in the schema", path, key)
			}
		}
	case []any:
		kind["array"] = true
		for _, item := range x {
			conforms(t, root, schema["items"].(map[string]any), item, path+"/*")
		}
	case string:
		kind["string"] = true
	case bool:
		kind["boolean"] = true
	case float64:
		kind["number"], kind["integer"] = true, x == float64(int64(x))
	}
	if want, ok := schema["type"].(string); ok && !kind[want] {
		t.Errorf("%s is no %s", path, want)
	}
}

func anys(v any) []any {
	list, _ := v.([]any)
	return list
}

// TestBaseline: what create makes of runs is shown, listed, and held against.
func TestBaseline(t *testing.T) {
	dir := t.TempDir()
	one, two, out := filepath.Join(dir, "one.json"), filepath.Join(dir, "two.json"), &bytes.Buffer{}
	accept := write(t, dir, "accept.yaml", "- {assertion: operators, reason: another program}\n")
	write(t, dir, "note.json", `{"format": "flagos-trace-baseline", "version": 99}`)
	write(t, dir, "other.json", `{"a": 1}`)
	must := func(status int, args ...string) string {
		t.Helper()
		out.Reset()
		if got := run(args, out, out); got != status {
			t.Fatalf("%v: status %d, want %d: %s", args, got, status, out.String())
		}
		return out.String()
	}
	must(0, "baseline", "create", pair+"basic.kineto.json.gz", "-o", one, "--name", "basic", "--note", "one run", "--exceptions", accept)
	must(0, "baseline", "create", pair+"basic.kineto.json.gz", pair+"comp.kineto.json.gz", "-o", two)
	first, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	must(0, "baseline", "create", pair+"basic.kineto.json.gz", "-o", one, "--name", "basic", "--note", "one run", "--exceptions", accept)
	if again, _ := os.ReadFile(one); !bytes.Equal(first, again) {
		t.Error("made again, the baseline is another")
	}
	if s := must(0, "baseline", "show", one); !strings.Contains(s, "registers per thread!*") || !strings.Contains(s, "basic.kineto.json.gz; torch 2.7 or newer (cuda); NVIDIA H200") || !strings.Contains(s, "another program") {
		t.Error(s)
	}
	if s := must(0, "baseline", "show", "--json", one); s != string(first) {
		t.Error("--json shows something else than the file")
	}
	if s := must(0, "baseline", "list", dir); !strings.Contains(s, "torch-cuda") || !strings.Contains(s, "one.json") || !strings.Contains(s, "made of 2 sources") ||
		!strings.Contains(s, "note.json") || !strings.Contains(s, "version 99") || strings.Contains(s, "other.json") {
		t.Error(s)
	}
	must(0, "diff", one, pair+"basic.kineto.json.gz")
	must(0, "diff", two, pair+"basic.kineto.json.gz")
	must(0, "diff", two, pair+"comp.kineto.json.gz")
	must(1, "diff", one, pair+"comp.kineto.json.gz")
	must(0, "diff", one, one)
	if s := must(3, "diff", pair+"basic.kineto.json.gz", one); !strings.Contains(s, "is a baseline, and the base, "+pair+"basic.kineto.json.gz, is a trace: a trace is held against a baseline; swap them") {
		t.Error(s)
	}
	twin := filepath.Join(dir, "twin.json.gz")
	if text, err := os.ReadFile(pair + "basic.kineto.json.gz"); err != nil || os.WriteFile(twin, text, 0o600) != nil {
		t.Fatal(err)
	}
	if s := must(exitUsage, "baseline", "create", pair+"basic.kineto.json.gz", twin, "-o", two); !strings.Contains(s, "hold the same, so they are one run") {
		t.Error(s)
	}
	must(exitUsage, "baseline", "show", pair+"basic.kineto.json.gz")
	must(exitUsage, "baseline", "show", filepath.Join(dir, "note.json"))
	must(exitUsage, "baseline", "create", filepath.Join(dir, "none.json"), "-o", one)
	must(2, "baseline", "create", one)
	must(2, "baseline", "create", "--counts", pair+"basic.kineto.json.gz", pair+"comp.kineto.json.gz", "-o", two)
	if s := must(0, "baseline", "create", "--counts", pair+"basic.kineto.json.gz", "-o", "-"); !strings.Contains(s, `"device_ns"`) || !strings.Contains(s, `"counts"`) {
		t.Error("no counts")
	}
}

// TestMember: one trace of an archive is compared, or made a baseline of, by name.
func TestMember(t *testing.T) {
	dir := t.TempDir()
	archive := filepath.Join(dir, "ranks.zip")
	f, err := os.Create(archive)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range []string{"basic", "comp"} {
		text, err := os.ReadFile(pair + name + ".kineto.json.gz")
		if err != nil {
			t.Fatal(err)
		}
		w, err := z.Create(name + ".json.gz")
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	out := &bytes.Buffer{}
	basic := pair + "basic.kineto.json.gz"
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"diff", archive, basic}, 3, "more than one trace: name one with --member"},
		{[]string{"diff", "--member", "basic.json.gz", archive, basic}, 0, "PASS"},
		{[]string{"diff", "--member", "comp.json.gz", archive, basic}, 1, "REGRESSION"},
		{[]string{"diff", "--member", "moon.json", archive, basic}, 3, `no trace "moon.json"`},
		{[]string{"diff", "--perf", "--member", "basic.json.gz", archive, basic}, 0, "PASS"},
		{[]string{"diff", "--perf", archive, basic}, 3, "--member"},
		{[]string{"baseline", "create", archive, "-o", filepath.Join(dir, "b.json")}, exitUsage, "--member"},
		{[]string{"baseline", "create", "--member", "basic.json.gz", archive, "-o", filepath.Join(dir, "b.json")}, 0, ""},
		{[]string{"diff", filepath.Join(dir, "b.json"), basic}, 0, "PASS"},
	} {
		out.Reset()
		if status := run(c.args, out, out); status != c.status || !strings.Contains(out.String(), c.says) {
			t.Errorf("%q: status %d: %s", c.args, status, out.String())
		}
	}
}
