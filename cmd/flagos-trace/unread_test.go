package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnread: what is made of half a file says so, also where it is told to be quiet.
func TestUnread(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile("../../testdata/pairs/basic.kineto.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	half, text := filepath.Join(dir, "half.json.gz"), filepath.Join(dir, "half.json")
	if err := os.WriteFile(half, whole[:len(whole)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(text, []byte(`[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":5},{"ph":`), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for file, says := range map[string]string{half: "compressed data ends early", text: "it is truncated"} {
		for _, line := range [][]string{
			{"pprof", "-o", at("p.pb.gz")},
			{"pprof", "--folded", "-o", at("p.txt")},
			{"export", "-q", "-f", "csv", "-o", at("e.csv")},
			{"export", "-q", "-f", "parquet", "--overwrite", "-o", at("e")},
			{"export", "-q", "-f", "perfetto", "-o", at("e.pftrace")},
		} {
			var out, errs bytes.Buffer
			if status := run(append(line, file), &out, &errs); status != exitOK || !strings.Contains(errs.String(), file+": a part of the trace is missing: ") || !strings.Contains(errs.String(), says) {
				t.Errorf("%q: status %d: %s", line, status, errs.String())
			}
		}
	}
}
