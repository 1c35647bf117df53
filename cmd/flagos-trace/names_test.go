package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// evil is a name that would act in whatever shows it.
const evil = "x\n::error::pwned %0A a:b,c\x00\x1b[31m\u009b2J\u202eab\u2066\u2028|<b>@all`"

// evilTrace is a trace in which everything that has a name is called so.
func evilTrace(t *testing.T, path, more string) string {
	t.Helper()
	var events []map[string]any
	for i, name := range []string{evil + more, "aten::mm"} {
		event := func(cat, name string, at, dur int, args map[string]any) {
			args["External id"] = i + 1
			args["key"+evil] = 1
			pid, tid := 1, 1
			if cat == "kernel" {
				pid, tid = 0, 7
			}
			events = append(events, map[string]any{"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": 20*i + at, "dur": dur, "args": args})
		}
		event("cpu_op", name, 0, 10, map[string]any{})
		event("cuda_runtime", "cudaLaunchKernel", 1, 2, map[string]any{"correlation": i + 1, "cbid": 211})
		event("kernel", name, 5, 4, map[string]any{"correlation": i + 1, "device": 0, "stream": 7, "grid": []int{1, 1, 1}, "block": []int{1, 1, 1}})
		event("cat"+evil, name, 0, 1, map[string]any{})
	}
	events = append(events, map[string]any{"ph": "M", "name": "process_name", "pid": 1, "args": map[string]any{"name": "row" + evil}})
	text, err := json.Marshal(map[string]any{"traceEvents": events, "deviceProperties": []any{map[string]any{"id": 0, "name": "GPU" + evil}}, "member" + evil: 1})
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// plainText says what in a text would act: a hidden character, or a line of its own.
func plainText(text string) error {
	for i, r := range text {
		if r != '\n' && (unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar) {
			return fmt.Errorf("%U at %d", r, i)
		}
	}
	if i := strings.Index("\n"+text, "\n::error::pwned"); i >= 0 {
		return fmt.Errorf("a command: %.60q", text[i:])
	}
	return nil
}

// TestEvilNames: names of traces and files do nothing in any form of diff, gate and
// baseline, and each form is what it is called.
func TestEvilNames(t *testing.T) {
	offCI(t)
	dir := t.TempDir()
	t.Chdir(dir)
	base, now := evilTrace(t, "base.json", ""), evilTrace(t, "sub, dir"+strings.ReplaceAll(strings.ReplaceAll(evil, "\x00", ""), "/", ""), "other")
	for _, args := range [][]string{
		{"diff", base, now}, {"diff", "--perf", base, now}, {"diff", "--perf", "--by", "all", "--wide", base, now}, {"diff", "--parity", "torch-fl", now},
		{"gate", "--baseline", base, now}, {"gate", "--baseline", base, filepath.Join(dir, base)},
	} {
		for _, format := range verdict.Formats {
			var out, errs bytes.Buffer
			run(append(args, "--format", format), &out, &errs)
			text := out.String()
			if err := plainText(text + errs.String()); err != nil {
				t.Errorf("%q: %s: %v", args, format, err)
			}
			var v any
			var err error
			switch format {
			case "json", "sarif", "gitlab":
				err = json.Unmarshal(out.Bytes(), &v)
			case "junit":
				for d := xml.NewDecoder(&out); err == nil; {
					_, err = d.Token()
				}
				if err == io.EOF {
					err = nil
				}
			case "github":
				for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
					if line != "" && !strings.HasPrefix(line, "::error ") && !strings.HasPrefix(line, "::warning ") && !strings.HasPrefix(line, "::notice ") {
						err = fmt.Errorf("line %q", line)
					}
				}
			}
			if err != nil || text == "" {
				t.Errorf("%q: %s: %v\n%s", args, format, err, errs.String())
			}
			if format == "sarif" {
				for _, part := range strings.Split(text, `"uri": "`)[1:] {
					uri, _, _ := strings.Cut(part, `"`)
					if u, err := url.Parse(uri); err != nil || u.Scheme != "" && u.Scheme != "file" {
						t.Errorf("%q: URI %q, %v", args, uri, err)
					}
				}
			}
		}
	}
	file := "b.json"
	for _, args := range [][]string{
		{"baseline", "create", base, "-o", file, "--name", evil, "--note", evil, "--exceptions", write(t, dir, "accepted.yaml", "- {assertion: rows, reason: \"x\\n::error::pwned\\u202e\"}\n")},
		{"baseline", "show", file}, {"baseline", "show", "--json", file}, {"baseline", "list", "."}, {"diff", file, now},
	} {
		var out, errs bytes.Buffer
		status := run(args, &out, &errs)
		if err := plainText(out.String() + errs.String()); err != nil || status > 1 {
			t.Errorf("%q: status %d, %v", args, status, err)
		}
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = plainText(string(text))
	}
	if err != nil {
		t.Error(err)
	}
}

// TestBaselineFiles: what is in a folder, or is given, and is no baseline.
func TestBaselineFiles(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	one := filepath.Join(dir, "one[1].json")
	must := func(status int, says string, args ...string) {
		t.Helper()
		var b bytes.Buffer
		if got := run(append([]string{"baseline"}, args...), &b, &b); got != status || !strings.Contains(b.String(), says) {
			t.Errorf("%q: status %d, want %d and %q: %s", args, got, status, says, b.String())
		}
	}
	basic := pair + "basic.kineto.json.gz"
	must(exitOK, "", "create", basic, "-o", one)
	whole, err := os.ReadFile(one)
	if err != nil {
		t.Fatal(err)
	}
	cut := write(t, dir, "cut.json", string(whole[:2000]))
	link := filepath.Join(dir, "link.gz")
	if abs, err := filepath.Abs(basic); err != nil || os.Symlink(abs, link) != nil || os.Mkdir(filepath.Join(dir, "folder.json"), 0o700) != nil || syscall.Mkfifo(filepath.Join(dir, "pipe.json"), 0o600) != nil {
		t.Fatal(err)
	}
	must(exitOK, "one[1].json", "list", dir)
	must(exitOK, "cut.json: baseline: not a baseline file: byte 2000: unexpected end", "list", dir)
	must(exitUsage, "none", "list", filepath.Join(dir, "none"))
	must(exitUsage, "byte 2000: unexpected end", "show", cut)
	must(exitUsage, "standard input will not do", "show", "-")
	must(exitUsage, "one file", "create", basic, link, "-o", out)
	must(exitUsage, "can be read once", "create", "-", "-", "-o", out)
	must(exitUsage, "there is no key \"reson\" here; there are assertion, subject, reason, expires", "create", basic, "-o", out, "--exceptions", write(t, dir, "e.yaml", "- {assertion: x, reson: y}\n"))
	must(exitUsage, "longer than", "create", basic, "-o", out, "--exceptions", "/dev/zero")
	must(exitUsage, `there is no assertion "moon"`, "create", basic, "-o", out, "--exceptions", write(t, dir, "moon.yaml", "- {assertion: moon, reason: y}\n"))
	must(exitFailure, "no space left", "create", basic, "-o", "/dev/full")
	must(exitFailure, "folder", "create", basic, "-o", dir)
}

// TestGivenTwice: patterns that overlap do not double sums unsaid.
func TestGivenTwice(t *testing.T) {
	dir := t.TempDir()
	trace, link := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json")
	if err := os.WriteFile(trace, []byte(summaryTrace), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(trace, link); err != nil {
		t.Fatal(err)
	}
	for _, line := range [][]string{
		{"summary"}, {"pprof", "-o", filepath.Join(dir, "p")}, {"export", "-q", "-f", "csv", "-o", filepath.Join(dir, "e")}, {"report", "-o", filepath.Join(dir, "r")},
	} {
		var out, errs bytes.Buffer
		if status := run(append(line, trace, link), &out, &errs); status != exitOK || errs.String() != link+" is given more than once: its times count as often\n" {
			t.Errorf("%q: status %d: %s", line, status, errs.String())
		}
		errs.Reset()
		if status := run(append(line, trace), &out, &errs); status != exitOK || errs.Len() > 0 {
			t.Errorf("%q of one: status %d: %s", line, status, errs.String())
		}
	}
}
