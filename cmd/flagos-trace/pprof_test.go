package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"github.com/klauspost/compress/gzip"

	"github.com/flagos-ai/flagos-trace/internal/version"
)

func TestPprof(t *testing.T) {
	dir := t.TempDir()
	const pairs = "../../testdata/pairs/"
	empty := filepath.Join(dir, "empty.json")
	if err := os.WriteFile(empty, []byte(`{"traceEvents":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	host := filepath.Join(dir, "host.json")
	if err := os.WriteFile(host, []byte(`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"mm","pid":1,"tid":1,"ts":1,"dur":5}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		name   string
		args   []string
		status int
		err    string
	}{
		{"a trace", []string{pairs + "basic.kineto.json.gz", "-o", at("basic.pb.gz")}, exitOK, ""},
		{"not compressed", []string{pairs + "basic.kineto.json.gz", "-o", at("basic.pb")}, exitOK, ""},
		{"ranks", []string{pairs + "ddp.rank0.kineto.json.gz", pairs + "ddp.rank1.kineto.json.gz", "--hide", "python,other", "-o", at("ddp.pb.gz")}, exitOK, ""},
		{"no ranks", []string{pairs + "basic.kineto.json.gz", pairs + "train.kineto.json.gz", "-o", at("two.pb.gz")}, exitOK, ""},
		{"folded", []string{pairs + "basic.kineto.json.gz", "--folded", "-o", at("basic.txt")}, exitOK, ""},
		{"folded and compressed", []string{pairs + "basic.kineto.json.gz", "--folded", "--value", "cpu_time", "-o", at("basic.txt.gz")}, exitOK, ""},
		{"no device work", []string{host, "--folded", "-o", at("host.txt")}, exitOK, ""},
		{"nothing of a value", []string{host, "--folded", "--value", "bytes", "-o", at("nobytes.txt")}, exitOK, "nothing has bytes"},
		{"nothing in it", []string{empty, "-o", at("empty.pb.gz")}, exitUsage, "neither device work nor spans"},
		{"no trace", []string{"pprof_test.go", "-o", at("none.pb.gz")}, exitUsage, "pprof_test.go"},
		{"no file", []string{at("missing.json"), "-o", at("none.pb.gz")}, exitUsage, "missing.json"},
		{"no folder", []string{pairs + "basic.kineto.json.gz", "-o", at("none/none.pb.gz")}, exitFailure, "none.pb.gz"},
		{"no output", []string{pairs + "basic.kineto.json.gz"}, exitUsage, "output"},
		{"no such value", []string{pairs + "basic.kineto.json.gz", "--folded", "--value", "joy", "-o", at("none")}, exitUsage, "--value joy"},
		{"a value of a profile", []string{pairs + "basic.kineto.json.gz", "--value", "bytes", "-o", at("none")}, exitUsage, "--folded"},
		{"no such frame", []string{pairs + "basic.kineto.json.gz", "--hide", "rust", "-o", at("none")}, exitUsage, "--hide rust"},
	} {
		var out, errs bytes.Buffer
		if status := run(append([]string{"pprof"}, c.args...), &out, &errs); status != c.status || !strings.Contains(errs.String(), c.err) {
			t.Errorf("%s: status %d, not %d: %s", c.name, status, c.status, errs.String())
		}
	}
	if left, _ := filepath.Glob(at("none*")); left != nil {
		t.Errorf("there are %v", left)
	}
	parse := func(name string) *profile.Profile {
		text, err := os.ReadFile(at(name))
		if err != nil {
			t.Fatal(err)
		}
		if gz := text[0] == 0x1f; gz != strings.HasSuffix(name, ".gz") {
			t.Errorf("%s: compressed: %v", name, gz)
		}
		p, err := profile.ParseData(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return p
	}
	if text, err := os.ReadFile(at("host.txt")); err != nil || string(text) != "mm 5000\n" {
		t.Errorf("without device work: %q, %v", text, err)
	}
	if a, b := parse("basic.pb.gz"), parse("basic.pb"); a.String() != b.String() {
		t.Error("the two forms of the profile differ")
	} else if len(a.Comments) != 2 || !strings.Contains(a.Comments[0], "basic.kineto.json.gz, by torch") {
		t.Errorf("comments %q", a.Comments)
	}
	ranks, traces := map[int64]bool{}, map[string]bool{}
	for _, s := range parse("ddp.pb.gz").Sample {
		ranks[s.NumLabel["rank"][0]] = true
	}
	for _, s := range parse("two.pb.gz").Sample {
		traces[s.Label["trace"][0]] = true
	}
	if len(ranks) != 2 || len(traces) != 2 {
		t.Errorf("ranks %v, traces %v", ranks, traces)
	}
	text, err := os.ReadFile(at("basic.txt"))
	if err != nil || !bytes.Contains(text, []byte(";cudaLaunchKernel;")) {
		t.Errorf("folded: %v\n%s", err, text)
	}
	f, err := os.Open(at("basic.txt.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := gzip.NewReader(f); err != nil {
		t.Error(err)
	}
}

// TestPprofDocs runs the commands of docs/pprof.md and compares what they print.
func TestPprofDocs(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "docs", "pprof.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, rank := range []string{"0", "1"} {
		if err := os.Symlink(filepath.Join(root, "testdata", "pairs", "ddp.rank"+rank+".kineto.json.gz"), filepath.Join(dir, "rank"+rank+".json.gz")); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	slowed(t, "rank0.json.gz", "new.json")
	var quiet bytes.Buffer
	if status := run([]string{"cat", "-q", "new.json", "-o", "new.json.gz"}, &quiet, &quiet); status != exitOK {
		t.Fatal(quiet.String())
	}
	const fence = "```console\n"
	var got strings.Builder
	rest := string(text)
	for {
		before, after, ok := strings.Cut(rest, fence)
		got.WriteString(before)
		if !ok {
			break
		}
		block, after, _ := strings.Cut(after, "```\n")
		rest = after
		got.WriteString(fence)
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ ")
			if !ok {
				continue
			}
			got.WriteString(line)
			args := strings.Fields(command)
			if args[0] != "flagos-trace" {
				cmd := exec.Command(args[0], args[1:]...)
				cmd.Env = append(os.Environ(), "TZ=UTC")
				cmd.Dir = root // go wants a module; profiles are named from the folder
				for i, a := range args {
					if base, ok := strings.CutPrefix(a, "-diff_base="); ok {
						cmd.Args[i] = "-diff_base=" + filepath.Join(dir, base)
					} else if strings.HasSuffix(a, ".pb.gz") {
						cmd.Args[i] = filepath.Join(dir, a)
					}
				}
				out, err := cmd.Output()
				if err != nil {
					t.Fatalf("%s: %v", command, err)
				}
				got.Write(bytes.ReplaceAll(out, []byte("flagos-trace "+version.String()+"\n"), []byte("flagos-trace devel\n")))
				continue
			}
			out, err := os.Create("out")
			if err != nil {
				t.Fatal(err)
			}
			for i, a := range args {
				if a == "-" {
					args[i] = "out"
				}
			}
			var errs bytes.Buffer
			if status := run(args[1:], &errs, &errs); status != exitOK {
				t.Fatalf("%s: status %d: %s", command, status, errs.String())
			}
			out.Close()
			printed, err := os.ReadFile("out")
			if err != nil {
				t.Fatal(err)
			}
			got.Write(printed)
		}
		got.WriteString("```\n")
	}
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(text) {
		t.Errorf("%s is stale: run go test ./cmd/flagos-trace -run TestPprofDocs -update. It should be:\n%s", path, got.String())
	}
}
