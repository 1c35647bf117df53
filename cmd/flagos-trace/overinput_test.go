package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestNotOverInput: what is made of a trace does not replace it, by whatever name.
func TestNotOverInput(t *testing.T) {
	dir := t.TempDir()
	other := "../../testdata/pairs/basic.kineto.json.gz"
	whole, err := os.ReadFile(other)
	if err != nil {
		t.Fatal(err)
	}
	trace, link := filepath.Join(dir, "trace.json.gz"), filepath.Join(dir, "link")
	if err := os.WriteFile(trace, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(trace, link); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"pprof", trace, "-o", trace},
		{"pprof", "--folded", other, link, "-o", trace},
		{"export", "-f", "csv", trace, "-o", link},
		{"export", "-f", "perfetto", trace, "-o", trace},
		{"report", trace, "-o", trace},
		{"report", other, "--diff", trace, "-o", link},
	} {
		var out, errs bytes.Buffer
		if status := run(line, &out, &errs); status != exitUsage || !strings.Contains(errs.String(), "which is read") {
			t.Errorf("%q: status %d: %s", line, status, errs.String())
		}
		if now, err := os.ReadFile(trace); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("%q: the trace is not what it was: %v", line, err)
		}
	}
}
