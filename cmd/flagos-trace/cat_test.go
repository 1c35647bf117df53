package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestCat: a trace is the same in each form that cat writes, and what is odd about
// it is told.
func TestCat(t *testing.T) {
	dir := t.TempDir()
	from := "../../testdata/pairs/basic.kineto.json.gz"
	for _, name := range []string{"a.json", "b.json.zst", "c.json.gz", "d.json"} {
		to := filepath.Join(dir, name)
		var out, errs bytes.Buffer
		if status := run([]string{"cat", from, "-o", to}, &out, &errs); status != exitOK || out.Len() > 0 {
			t.Fatalf("%s: status %d, %s%s", name, status, out.String(), errs.String())
		}
		if !strings.Contains(errs.String(), "by torch 2.7 or newer (cuda)") {
			t.Errorf("%s: told %s", name, errs.String())
		}
		from = to
	}
	a, err := os.ReadFile(filepath.Join(dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	if d, err := os.ReadFile(from); err != nil || !bytes.Equal(a, d) {
		t.Errorf("%d bytes at first, %d in the end, %v", len(a), len(d), err)
	}
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte(`[{"ph":"X","name":"a"b","ts":1,"dur":2},`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if status := run([]string{"cat", broken, "-o", filepath.Join(dir, "mended.json")}, &out, &errs); status != exitOK {
		t.Errorf("status %d: %s", status, errs.String())
	}
	for _, rule := range []string{chrome.RuleQuote, chrome.RuleUnclosed} {
		if !strings.Contains(errs.String(), "["+rule+"], the first of 1") {
			t.Errorf("%s is not told: %s", rule, errs.String())
		}
	}
	for _, bad := range [][]string{{"cat", "none.json", "-o", filepath.Join(dir, "x")}, {"cat", from, "-o", filepath.Join(dir, "x"), "--member", "y"}} {
		if status := run(bad, &out, &errs); status != exitUsage {
			t.Errorf("%v: status %d", bad, status)
		}
	}
}
