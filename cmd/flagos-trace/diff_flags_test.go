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

// TestDiffUsage: what would be ignored is refused, in words that say what to do, and
// without those of the code.
func TestDiffUsage(t *testing.T) {
	dir := t.TempDir()
	from := pair + "basic.kineto.json.gz"
	base := filepath.Join(dir, "base.json")
	var out, errs bytes.Buffer
	if status := run([]string{"baseline", "create", from, "-o", base}, &out, &errs); status != exitOK {
		t.Fatal(errs.String())
	}
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("operators: [1]"), 0o600); err != nil {
		t.Fatal(err)
	}
	table := filepath.Join(dir, "table.yaml")
	if err := os.WriteFile(table, []byte("vendors: {moon: [{assertion: ids, subject: s, reason: r, source: s}]}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		want   string // in the error; "" is none
	}{
		{[]string{"--new", from, from}, 3, "--new goes with --perf"},
		{[]string{"--new", from, from, from, from}, 3, "--new goes with --perf"},
		{[]string{"--by", "kernel", from, from}, 3, "--by goes with --perf"},
		{[]string{"--top", "3", from}, 3, "--top goes with --perf"},
		{[]string{"--wide", from}, 3, "--wide goes with --perf"},
		{[]string{"--alpha", "0.1", from}, 3, "--alpha goes with --perf"},
		{[]string{"--min-effect", "0.1", from}, 3, "--min-effect goes with --perf"},
		{[]string{"--min-share", "0.1", from}, 3, "--min-share goes with --perf"},
		{[]string{"--noise-floor", "0.1", from}, 3, "--noise-floor goes with --perf"},
		{[]string{"--correction", "bh", from}, 3, "--correction goes with --perf"},
		{[]string{"--match-rules", bad, from}, 3, "--match-rules goes with --perf"},
		{[]string{"--perf=false", "--new", from, from}, 3, "--new goes with --perf"},
		{[]string{"--perf", "--scope", "device", from, from}, 3, "--scope is about structure"},
		{[]string{"--perf", "--parity", "torch-fl", from, from}, 3, "--parity is about structure"},
		{[]string{"--perf", "--exceptions", bad, from, from}, 3, "--exceptions is about structure"},
		{[]string{"--perf", "--capabilities", bad, from, from}, 3, "--capabilities is about structure"},
		{[]string{"--perf", "--vendor", "cuda", from, from}, 3, "--vendor is about structure"},
		{[]string{"--perf", "--baseline", "torch-cuda", from}, 3, "with --perf give a trace as BASE"},
		{[]string{"--vendor", "moon", from, from}, 3, `--vendor is "moon", which nobody knows; there are amd, ascend,`},
		{[]string{"--vendor", "cuda", from, from}, 0, ""},
		{[]string{"--vendor", "npu", from, from}, 0, ""},
		{[]string{"--vendor", "moon", "--capabilities", table, from, from}, 0, ""},
		{[]string{"-", "-"}, 3, "- is given more than once: standard input can be read once"},
		{[]string{"--baseline", "-", "-"}, 3, "- is given more than once"},
		{[]string{"--perf", "-", "-"}, 3, "- is given more than once"},
		{[]string{"--perf", "-", from, "--new", "-", from}, 3, "- is given more than once"},
		{[]string{"--perf", base, from}, 3, base + " is a baseline, which holds the structure of traces and no times: give the trace"},
		{[]string{"--perf", from, "--new", from, base}, 3, base + " is a baseline"},
		{[]string{"--perf", "torch-cuda", from}, 3, "torch-cuda is an embedded baseline"},
		{[]string{"--perf", "--alpha", "x", from, from}, 3, `--alpha is "x"; it is a number`},
		{[]string{"--perf", "--min-share", "101%", from, from}, 3, `--min-share is "101%"; it is a number`},
		{[]string{"--perf", "--top", "1.5", from, from}, 3, `--top is "1.5"; it is a whole number`},
		{[]string{"--perf", "--wide=maybe", from, from}, 3, `--wide is "maybe"; it is true or false`},
		{[]string{"--perf", "--alpha", "0", from, from}, 3, "--alpha is 0; it lies between 0 and 1"},
		{[]string{"--perf", "--alpha", "1", from, from}, 3, "--alpha is 1;"},
		{[]string{"--perf", "--alpha", "NaN", from, from}, 3, "--alpha is NaN;"},
		{[]string{"--perf", "--noise-floor", "-0.1", from, from}, 3, "--noise-floor is -0.1;"},
		{[]string{"--perf", "--by", "", from, from}, 3, "--by is empty"},
		{[]string{"--perf", "--match-rules", bad, from, from}, 3, bad + ": bad rules: line 1"},
		{[]string{"--perf", "--match-rules", bad + "x", from, from}, 3, ": open " + bad + "x: "},
		{[]string{"--perf", from + "x", from}, 3, ": open " + from + "x: "},
		{[]string{"--perf", dir, from}, 3, "is a directory"},
	} {
		var out, errs bytes.Buffer
		status := run(append([]string{"diff"}, c.args...), &out, &errs)
		if status != c.status || !strings.Contains(errs.String(), c.want) || (c.want == "") != (errs.Len() == 0) {
			t.Errorf("%q: status %d, want %d and %q:\n%s", c.args, status, c.status, c.want, errs.String())
		}
		for _, word := range []string{"strconv", "chrome:", "compare:", "unmarshal", "map["} {
			if strings.Contains(errs.String(), word) {
				t.Errorf("%q: %q is left in %s", c.args, word, errs.String())
			}
		}
	}
}

// TestDiffPerfUnusable: what pipelines read names a file where a run cannot be read, and
// the file that it is if that is one of the new side.
func TestDiffPerfUnusable(t *testing.T) {
	from := pair + "basic.kineto.json.gz"
	for _, c := range []struct {
		args      []string
		file      string
		base, now int
	}{
		{[]string{from, "none.json"}, "none.json", 1, 1},
		{[]string{"none.json", from}, from, 1, 1},
		{[]string{from, from, "--new", from, "none.json"}, "none.json", 2, 2},
	} {
		js := filepath.Join(t.TempDir(), "perf.json")
		var out, errs bytes.Buffer
		status := run(append([]string{"diff", "--perf", "-o", "github=-", "-o", "json=" + js}, c.args...), &out, &errs)
		if status != 3 || !strings.HasPrefix(out.String(), "::error file="+strings.TrimPrefix(filepath.ToSlash(filepath.Clean(c.file)), "./")+",") {
			t.Errorf("%q: status %d: %s", c.args, status, out.String())
		}
		text, err := os.ReadFile(js)
		if err != nil {
			t.Fatal(err)
		}
		var r compare.Report
		if err := json.Unmarshal(text, &r); err != nil || len(r.Base) != c.base || len(r.New) != c.now || !strings.Contains(r.Why, "none.json") {
			t.Errorf("%q: %v: %d and %d runs, %s", c.args, err, len(r.Base), len(r.New), r.Why)
		}
	}
	// Several runs of a side are no name of a file.
	slow := filepath.Join(t.TempDir(), "slow.json")
	slowed(t, from, slow)
	var out, errs bytes.Buffer
	run([]string{"diff", "--perf", from, "--new", slow, slow, "--format", "github", "--noise-floor", "0.001"}, &out, &errs)
	if want := "::error file=" + strings.NewReplacer(":", "%3A", ",", "%2C").Replace(filepath.ToSlash(slow)) + ","; !strings.Contains(out.String(), want) {
		t.Errorf("%s%s\nhas no %s", out.String(), errs.String(), want)
	}
}
