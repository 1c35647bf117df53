package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

const (
	overlapping = `{"traceEvents": [
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":7,"ts":10.5,"dur":5,"args":{"stream":7}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":7,"ts":12.5,"dur":5,"args":{"stream":7}}]`
	harmless = `[{"ph":"B","name":"a","pid":1,"tid":1,"ts":1}, {"ph":"E","name":"a","pid":1,"tid":1,"ts":2}]`
)

func TestRepairCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	broken := write("broken.json", overlapping+"}")
	open := write("open.json", overlapping)
	cut := write("cut.json", overlapping[:len(overlapping)-10])
	clean := write("clean.json", harmless)
	none := write("none.json", "hello")
	to := filepath.Join(dir, "out.json")
	repair := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := run(append([]string{"repair"}, args...), &out, &errs)
		return status, out.String(), errs.String()
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{broken, "-o", to}, exitOK, "1  spans that overlapped others of their row moved to a sub-row [moved_to_sub_row]"},
		{[]string{to, "-o", to}, exitOK, "nothing to repair"},
		{[]string{open, "-o", to}, exitOK, "[unclosed]"},
		{[]string{cut, "-o", to}, exitFinding, "not repaired:\n        1  the file ends early"},
		{[]string{broken, "--dry-run"}, exitOK, "nothing written"},
		{[]string{broken, "--dry-run", "--skip", "overlaps,durations"}, exitOK, "nothing to repair"},
		{[]string{broken, "--dry-run", "--only", "durations"}, exitFinding, "[overlaps]"},
		{[]string{broken, "--dry-run", "--cut", "3"}, exitOK, "[durations_cut]"},
		{[]string{none, "-o", to}, exitUsage, "malformed"},
		{[]string{filepath.Join(dir, "missing"), "-o", to}, exitUsage, "no such file"},
		{[]string{broken}, exitUsage, "output"},
		{[]string{broken, "--dry-run", "-o", to}, exitUsage, "dry-run"},
		{[]string{broken, "-o", to, "--only", "everything"}, exitUsage, "no repair"},
		{[]string{broken, "-o", to, "--cut", "-1"}, exitUsage, "--cut"},
		{[]string{broken, "-o", "-", "--json"}, exitUsage, "standard output"},
		{[]string{broken, "-o", filepath.Join(dir, "no", "folder.json")}, exitFailure, "folder"},
	} {
		status, out, errs := repair(c.args...)
		if status != c.status || !strings.Contains(errs, c.says) || out != "" {
			t.Errorf("%v: status %d, %s%s", c.args, status, out, errs)
		}
	}
	var account struct {
		File                string
		Repaired, Remaining map[string]uint64
	}
	_, out, _ := repair(broken, "--dry-run", "--json")
	if err := json.Unmarshal([]byte(out), &account); err != nil || account.File != broken || account.Repaired["moved_to_sub_row"] != 1 || len(account.Remaining) > 0 {
		t.Errorf("%v: %s", err, out)
	}

	// What needs no repair is the same text in each form; what was repaired stays.
	from := clean
	for _, name := range []string{"a.json.gz", "b.json.zst", "c.json.zst", "d.json"} {
		to := filepath.Join(dir, name)
		if status, _, errs := repair(from, "-o", to); status != exitOK {
			t.Fatalf("%s: status %d, %s", name, status, errs)
		}
		from = to
	}
	if text, err := os.ReadFile(from); err != nil || string(text) != harmless {
		t.Errorf("%v: %s", err, text)
	}
	first, second := filepath.Join(dir, "first.json"), filepath.Join(dir, "second.json")
	repair(broken, "-o", first)
	repair(first, "-o", second)
	x, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	if y, err := os.ReadFile(second); err != nil || !bytes.Equal(x, y) {
		t.Errorf("%v: %s\n%s", err, x, y)
	}
	docs, err := chrome.ReadFile(first, chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if c := docs[0].Trace.Completeness; c == nil || c.Recorded() || c.Repaired["moved_to_sub_row"] != 1 || !strings.HasPrefix(c.RepairedBy, "flagos-trace ") {
		t.Errorf("the record is %+v", c)
	}
}
