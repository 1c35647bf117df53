package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// TestOutputNotInput has results written over what was read: nothing is written.
func TestOutputNotInput(t *testing.T) {
	dir := t.TempDir()
	const text = `{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2}]}`
	base, now, link := filepath.Join(dir, "base.json"), filepath.Join(dir, "new.json"), filepath.Join(dir, "link.json")
	for _, name := range []string{base, now} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(now, link); err != nil {
		t.Fatal(err)
	}
	config := write(t, dir, "gate.yaml", "version: 1\nvalidate:\nstructure: [{base: base.json, exceptions: e.yaml}]\nnew: ['ne*.json']\n")
	accepted := write(t, dir, "e.yaml", "- {assertion: rows, reason: so}\n")
	for _, args := range [][]string{
		{"gate", "--config", config, "-o", "json=" + now},
		{"gate", "--config", config, "-o", "json=" + link},
		{"gate", "--config", config, "-o", "json=" + base},
		{"gate", "--config", config, "-o", "json=" + config},
		{"gate", "--config", config, "-o", "json=" + accepted},
		{"diff", base, now, "-o", "json=" + now},
		{"diff", base, now, "-o", "markdown=" + link},
		{"diff", "--baseline", base, now, "-o", "json=" + base},
		{"diff", "--perf", base, now, "-o", "json=" + now},
		{"diff", "--perf", base, "--new", now, "-o", "json=" + now},
		{"diff", base, now, "-o", "junit=" + filepath.Join(dir, "x"), "-o", "sarif=" + filepath.Join(dir, "x")},
		{"diff", base, now, "-o", "junit=" + filepath.Join(dir, "x"), "-o", "sarif=" + dir + "/./x"},
		{"gate", "--baseline", base, now, "-o", "junit=" + now},
		{"gate", "--baseline", base, now, "-o", "junit=" + base},
		{"baseline", "create", now, "-o", now},
	} {
		var out, errs bytes.Buffer
		want := verdict.ExitIncomparable
		if args[0] == "baseline" {
			want = exitUsage
		}
		if got := run(args, &out, &errs); got != want {
			t.Errorf("%q: status %d, want %d: %s%s", args, got, want, out.String(), errs.String())
		}
	}
	for _, name := range []string{base, now} {
		if got, err := os.ReadFile(name); err != nil || string(got) != text {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
}
