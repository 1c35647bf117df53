package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/validate"
)

// TestValidateOwn: the traces made of recorded spools break no rule, of any
// severity.
func TestValidateOwn(t *testing.T) {
	for _, name := range []string{"basic", "graph"} {
		data, err := os.Open(filepath.Join("..", "..", "testdata", "spools", name+".spool.gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer data.Close()
		z, err := gzip.NewReader(data)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "1.1.spool")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		tr, err := record.CollectSpool(path, record.CollectOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := chrome.Write(&out, tr, chrome.Options{TraceName: name}); err != nil {
			t.Fatal(err)
		}
		r, err := validate.Run(&out, validate.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.Findings {
			t.Errorf("%s: %s %s at event %d %q: %s", name, f.Severity, f.Rule, f.Event, f.Name, f.Text)
		}
		if r.Producer.Family != validate.Flagos || r.Events == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// archive writes a zip archive.
func archive(t *testing.T, path string, members map[string]string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := zip.NewWriter(f)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(members[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestValidateCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const ev = `{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1.5, "dur": 1}`
	clean := write("clean.json", "["+ev+"]")
	warned := write("open.json", "["+ev)
	broken := write("broken.json", "["+ev+",]")
	none := write("none.json", "hello")
	ranks := filepath.Join(dir, "ranks.zip")
	archive(t, ranks, map[string]string{"rank0.json": "[" + ev + "]", "rank1.json": "[" + ev + ",]"})
	names := write("names.yaml", "kinds: {kernel: [my_kernel]}")
	own := write("own.json", `[`+strings.Replace(ev, `"ph"`, `"cat": "my_kernel", "ph"`, 1)+`]`)
	validate := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := run(append([]string{"validate"}, args...), &out, &errs)
		return status, out.String(), errs.String()
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{clean}, exitOK, "0 errors, 0 warnings, 0 notes"},
		{[]string{warned}, exitOK, "warning json-unclosed: 1 finding"},
		{[]string{"--fail-on", "warning", warned}, exitFinding, "json-unclosed"},
		{[]string{"--fail-on", "note", clean}, exitOK, ""},
		{[]string{broken}, exitFinding, "error json-trailing-comma: 1 finding\n  byte 67: "},
		{[]string{"--fail-on", "never", broken}, exitOK, "Fix: "},
		{[]string{"--no-rule", "json-trailing-comma", broken}, exitOK, "0 errors"},
		{[]string{"--rule", "json-utf8", broken}, exitOK, "0 errors"},
		{[]string{ranks}, exitFinding, "ranks.zip/rank0.json: a Chrome trace"},
		{[]string{ranks}, exitFinding, "ranks.zip/rank1.json: a Chrome trace"},
		{[]string{ranks, none}, exitUsage, "error json-trailing-comma"},
		{[]string{own}, exitOK, "0 errors, 0 warnings, 0 notes"},
		{[]string{"--rules", names, own}, exitOK, "warning arg-missing: 1 finding"},
		{[]string{"--rules", clean, own}, exitUsage, ""},
		{[]string{none}, exitUsage, ""},
		{[]string{broken, none}, exitUsage, "json-trailing-comma"},
		{[]string{filepath.Join(dir, "missing")}, exitUsage, ""},
		{[]string{"--rule", "nonsense", clean}, exitUsage, ""},
		{[]string{"--fail-on", "sometimes", clean}, exitUsage, ""},
		{[]string{}, exitUsage, ""},
		{[]string{"--list"}, exitOK, "kernel-before-launch"},
	} {
		status, out, errs := validate(c.args...)
		if status != c.status || !strings.Contains(out, c.says) {
			t.Errorf("%v: status %d, %s%s", c.args, status, out, errs)
		}
	}
	var docs []struct {
		File     string
		Findings []struct {
			Rule   string
			Offset int
		}
	}
	_, out, _ := validate("--json", broken, clean)
	if err := json.Unmarshal([]byte(out), &docs); err != nil || len(docs) != 2 || docs[0].Findings[0].Rule != "json-trailing-comma" || docs[0].Findings[0].Offset != 67 {
		t.Errorf("%v: %s", err, out)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Kind      string
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ ByteOffset int }
					}
				}
			}
		}
	}
	_, out, _ = validate("--sarif", broken)
	if err := json.Unmarshal([]byte(out), &log); err != nil || log.Version != "2.1.0" || len(log.Runs) != 1 {
		t.Fatalf("%v: %s", err, out)
	}
	fails := 0
	for _, r := range log.Runs[0].Results {
		if log.Runs[0].Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || len(r.Locations) != 1 || !strings.HasPrefix(r.Locations[0].PhysicalLocation.ArtifactLocation.URI, "file:///") {
			t.Errorf("%+v", r)
		}
		if r.Kind == "fail" {
			fails++
			if r.Level != "error" || r.Locations[0].PhysicalLocation.Region.ByteOffset != 67 {
				t.Errorf("%+v", r)
			}
		}
	}
	if fails != 1 {
		t.Errorf("%d results: %s", fails, out)
	}
}
