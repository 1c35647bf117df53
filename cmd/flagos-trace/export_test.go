package main

import (
	"bytes"
	"encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

func TestExport(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	const pairs = "../../testdata/pairs/"
	const basic, rank0, rank1 = pairs + "basic.kineto.json.gz", pairs + "ddp.rank0.kineto.json.gz", pairs + "ddp.rank1.kineto.json.gz"
	for _, c := range []struct {
		name   string
		line   []string
		status int
		err    string
	}{
		{"parquet", []string{"-f", "parquet", rank0, "-o", at("lake")}, exitOK, "lake: "},
		{"another rank", []string{"-f", "parquet", rank1, "-o", at("lake"), "--no-args", "-q"}, exitOK, ""},
		{"a rank that is there", []string{"-f", "parquet", rank1, "-o", at("lake")}, exitFailure, "--overwrite"},
		{"overwritten", []string{"-f", "parquet", rank1, "-o", at("lake"), "--overwrite"}, exitOK, "rows"},
		{"parquet into a file", []string{"-f", "parquet", rank1, "-o", "export_test.go"}, exitFailure, "name a folder"},
		{"csv", []string{"-f", "csv", rank0, rank1, "-o", at("both.csv")}, exitOK, "both.csv: 2080 rows"},
		{"compressed", []string{"-f", "csv", basic, "-o", at("basic.csv.gz")}, exitOK, "rows"},
		{"perfetto", []string{"-f", "perfetto", basic, "-o", at("basic.pftrace")}, exitOK, "spans"},
		{"perfetto of two", []string{"-f", "perfetto", rank0, rank1, "-o", at("none")}, exitUsage, "flagos-trace merge"},
		{"no such form", []string{"-f", "xlsx", rank0, "-o", at("none")}, exitUsage, "parquet, csv, perfetto"},
		{"no form", []string{rank0, "-o", at("none")}, exitUsage, "format"},
		{"no output", []string{"-f", "csv", rank0}, exitUsage, "output"},
		{"overwriting a file", []string{"-f", "csv", rank0, "--overwrite", "-o", at("none")}, exitUsage, "--overwrite"},
		{"a member of no archive", []string{"-f", "csv", rank0, "--member", "a", "-o", at("none")}, exitUsage, "--member"},
		{"no trace", []string{"-f", "csv", "export_test.go", "-o", at("none")}, exitUsage, "export_test.go"},
		{"no trace for parquet", []string{"-f", "parquet", rank0, "export_test.go", "-o", at("none")}, exitUsage, "export_test.go"},
		{"no trace for perfetto", []string{"-f", "perfetto", at("missing"), "-o", at("none")}, exitUsage, "missing"},
		{"no folder", []string{"-f", "perfetto", basic, "-o", at("none/none")}, exitFailure, "none/none"},
		{"no rules", []string{"-f", "csv", basic, "--rules", at("missing"), "-o", at("none")}, exitUsage, "missing"},
	} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"export"}, c.line...), &out, &errs); status != c.status || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%s: status %d, not %d: %s", c.name, status, c.status, errs.String())
		}
		if c.err == "" && errs.Len() > 0 {
			t.Errorf("%s: not quiet: %s", c.name, errs.String())
		}
	}
	files, _ := filepath.Glob(at("lake/rank=*/step=*/part.parquet"))
	if len(files) != 2 {
		t.Errorf("there are %v", files)
	}
	if left, _ := filepath.Glob(at(".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, _ := filepath.Glob(at("none*")); len(left) > 0 {
		t.Errorf("there are %v", left)
	}
	text, err := os.ReadFile(at("both.csv"))
	if err != nil {
		t.Fatal(err)
	}
	if rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll(); err != nil || len(rows) != 2081 || rows[0][0] != "trace" {
		t.Errorf("%d rows: %v", len(rows), err)
	}
	f, err := os.Open(at("basic.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := gzip.NewReader(f); err != nil {
		t.Error(err)
	}
}

// TestExportFull: an output that takes nothing is a failure.
func TestExportFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	for _, format := range []string{"csv", "perfetto"} {
		var out, errs bytes.Buffer
		if status := run([]string{"export", "-f", format, "../../testdata/pairs/basic.kineto.json.gz", "-o", "/dev/full"}, &out, &errs); status != exitFailure || !strings.Contains(errs.String(), "/dev/full") {
			t.Errorf("%s: status %d: %s", format, status, errs.String())
		}
	}
}
