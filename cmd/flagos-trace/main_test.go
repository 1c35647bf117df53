package main

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "rewrite docs/cli.md")

// TestDocs keeps docs/cli.md equal to the help texts.
func TestDocs(t *testing.T) {
	got := []byte(docs())
	path := filepath.Join("..", "..", "docs", "cli.md")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is stale: run go test ./cmd/flagos-trace -update", path)
	}
}

func docs() string {
	var b strings.Builder
	b.WriteString(`# Command line of flagos-trace

This page is made from the help texts: ` + "`go test ./cmd/flagos-trace -update`" + `.

## Exit status

| status | command | meaning |
|---|---|---|
| 0 | all | done; for record: the command succeeded and its trace is written |
| 1 | check | a trace breaks a rule |
| 1 | validate | a trace breaks a rule at or above --fail-on |
| 1 | repair | the trace is written, and something remains that could not be repaired |
| 1 | doctor | a recording would fail |
| 1 | occupancy | the configuration cannot be launched, or a kernel of the trace fails a gate; table: a row is refused or is none |
| 1 | diff, gate | regression: something is worse, or different |
| 2 | diff, gate | inconclusive: something could not be judged |
| 2 | all but diff, gate | the command line is wrong; for all that read traces but record, check, ctl and import also: a file is no trace, or cannot be read |
| 3 | diff, gate | incomparable: a trace is incomplete; also input that cannot be used, and a wrong command line |
| 3 | merge, ranks | clocks cannot be aligned |
| 125 | all | flagos-trace itself failed; for record: the command was not started, or it succeeded and its trace could not be written |
| 126 | record | the command was found and could not be executed |
| 127 | record | the command was not found |
| 128+n | record | signal n killed the command, or flagos-trace while it wrote the trace |
| 128+n | import, recover | signal n ended it before the trace was written |
| any other | record | the status of the command |

A command may use these numbers, too: where it matters, look for the trace, or for
"exit_code" in the file of --summary.
`)
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			return
		}
		var help bytes.Buffer
		c.InitDefaultHelpFlag()
		c.SetOut(&help)
		if err := c.Help(); err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "\n## %s\n\n```text\n%s```\n", c.CommandPath(), help.String())
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	root := newRoot()
	root.InitDefaultHelpCmd()
	walk(root)
	return b.String()
}

func TestUsageErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"nonsense", "nonsense"},
		{"--nonsense", "nonsense"},
		{"record", "no command"},
		{"record --", "no command"},
		{"record --nonsense -- true", "nonsense"},
		{"record --api some -- true", "--api some"},
		{"record --compat torch -- true", "--compat torch"},
		{"check", "requires at least 1 arg"},
		{"version now", "now"},
		{"import spool", "accepts 1 arg"},
		{"import spool --api x y", "--api x"},
		{"import nonsense", "nonsense"},
		{"import cupti", "required flag"},
		{"import cupti --api-version 1 --buffers x --clock moon", "--clock moon"},
		{"import cupti --api-version 1 --buffers x --clock ticks:", "--clock ticks:"},
		{"import cupti --api-version 1 --buffers x --clock ticks:-1", "--clock ticks:-1"},
		{"import cupti --api-version 1 --buffers x --clock ticks:NaN", "--clock ticks:NaN"},
		{"import cupti --api-version 1 --buffers x --clock fit", "--host"},
		{"import cupti --api-version -1 --buffers x", "api-version"},
	} {
		var out, errs bytes.Buffer
		if got := run(strings.Fields(c.line), &out, &errs); got != exitUsage {
			t.Errorf("%s: status %d", c.line, got)
		}
		if !strings.Contains(errs.String(), c.want) || !strings.Contains(errs.String(), "--help") {
			t.Errorf("%s: said %q, want %q", c.line, errs.String(), c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%s: stdout %q", c.line, out.String())
		}
	}
}

func TestHelpAndVersion(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", "Available Commands"},
		{"--help", "Exit status"},
		{"record --help", "127"},
		{"import", "spool"},
		{"version", "flagos-trace "},
	} {
		var out, errs bytes.Buffer
		if got := run(strings.Fields(c.line), &out, &errs); got != exitOK || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: status %d\n%s%s", c.line, got, out.String(), errs.String())
		}
	}
}

func TestCheckCommand(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, compress bool) string {
		path := filepath.Join(dir, name)
		data := []byte(text)
		if compress {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			_, err := w.Write(data)
			if err == nil {
				err = w.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			data = b.Bytes()
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const good = `{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2}]}`
	packed := file("good.json.gz", good, true)
	data, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(data)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	for _, c := range []struct {
		name  string
		files []string
		want  int
		text  string
	}{
		{"plain", []string{file("good.json", good, false)}, exitOK, "1 event, 0 flows (spans: 1 kernel)"},
		{"packed", []string{packed}, exitOK, "ok"},
		{"packed under a plain name", []string{file("packed.json", good, true)}, exitOK, "ok"},
		{"a rule", []string{packed, file("bad.json", `{"traceEvents":[{}]}`, false)}, exitFinding, "event 0: it has no ph"},
		{"syntax", []string{file("syntax.json", good+"x", false)}, exitFinding, "not strict JSON"},
		{"cut gzip", []string{file("cut.json.gz", string(data[:len(data)/2]), false)}, exitFinding, "cut.json.gz: the compressed data ends early"},
		{"cut in gzip's sum", []string{file("cut8.json.gz", string(data[:len(data)-1]), false)}, exitFinding, fmt.Sprintf("ends early, after %d bytes", len(good))},
		{"cut in gzip's head", []string{file("cut9.json.gz", string(data[:9]), false)}, exitFinding, "ends early, after 0 bytes"},
		{"damaged gzip", []string{file("damaged.json.gz", string(data[:10])+"\xff\xff\xff\xff", false)}, exitFinding, "is damaged"},
		{"garbage behind gzip", []string{file("behind.json.gz", string(data)+"garbage and more", false)}, exitFinding, "something that is not gzip follows it"},
		{"checksum", []string{file("sum.json.gz", string(flipped), false)}, exitFinding, "checksum"},
		{"cut text", []string{file("cut.json", good[:len(good)/2], false)}, exitFinding, "not strict JSON"},
		{"empty", []string{file("empty.json", "", false)}, exitFinding, "not strict JSON"},
		{"missing", []string{filepath.Join(dir, "no.json")}, exitFailure, "no.json"},
	} {
		var out, errs bytes.Buffer
		got := run(append([]string{"check"}, c.files...), &out, &errs)
		if got != c.want || !strings.Contains(out.String()+errs.String(), c.text) {
			t.Errorf("%s: status %d, want %d\n%s%s", c.name, got, c.want, out.String(), errs.String())
		}
	}
}
