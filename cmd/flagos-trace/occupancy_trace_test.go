package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const trainTrace = "../../testdata/pairs/train.kineto.json.gz"

// occupancyTrace runs the command line and returns what came of it.
func occupancyTrace(args ...string) (status int, out, errs string) {
	var o, e bytes.Buffer
	status = run(append([]string{"occupancy"}, args...), &o, &e)
	return status, o.String(), e.String()
}

func TestOccupancyTrace(t *testing.T) {
	dir := t.TempDir()
	text := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	packed, err := os.ReadFile(trainTrace)
	if err != nil {
		t.Fatal(err)
	}
	cut := text("cut.json.gz", string(packed[:len(packed)/2]))
	const launch = `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 2, "args": {"device": 0, "registers per thread": 32, "shared memory": 0, "grid": [9, 1, 1], "block": [64, 1, 1]}}`
	bare := text("bare.json", "["+launch+"]")
	nothing := text("nothing.json", "[]")
	broken := text("broken.json", "{")
	for _, c := range []struct {
		line, want string // in stdout or stderr
		status     int
	}{
		{"--trace " + trainTrace, "1708 kernels in 72 configurations", exitOK},
		{"--trace " + trainTrace + " --top 3", "and 69 more configurations", exitOK},
		{"--trace " + trainTrace + " --kernel nvjet --top 1", "nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT", exitOK},
		{"--trace " + trainTrace + " --kernel Nvjet", "no kernel matches --kernel Nvjet", exitUsage},
		{"--trace " + trainTrace + " --min 10", "", exitOK},
		{"--trace " + trainTrace + " --min 20", "below the minimum: nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT: theoretical occupancy 18.8 % is below 20 %", exitFinding},
		{"--trace " + trainTrace + " --min 20 --min-share 50", "", exitOK},
		{"--trace " + trainTrace + " --min-achieved 5 --min-share 0.5", "estimated achieved occupancy", exitFinding},
		{"--trace " + cut, "cut.json.gz: ", exitUsage},
		{"--trace " + nothing, "no kernel in the trace", exitUsage},
		{"--trace " + broken, "broken.json: ", exitUsage},
		{"--trace " + filepath.Join(dir, "missing.json"), "no such file", exitUsage},
		{"--trace " + dir, "is a directory", exitUsage},
		{"--trace " + bare, "not calculable: the trace has no deviceProperties", exitOK},
		{"--trace " + bare + " --min 1", "there is nothing to judge", exitUsage},
		{"--trace " + bare + " --device h100", "WARPS", exitOK},
		{"--trace " + bare + " --device h100 --min 60", "", exitOK},
		{"--trace " + bare + " --device mi300x", "--device mi300x", exitUsage},
		{"--trace " + bare + " --device nonsense", "nonsense", exitUsage},
		{"--trace " + bare + " --ratchet " + filepath.Join(dir, "none.json"), "--update writes it", exitUsage},
		{"--trace " + bare + " --ratchet " + broken, "not a ratchet file", exitUsage},
		{"--trace " + bare + " --ratchet " + broken + " --update", "not a ratchet file", exitUsage},
		{"--trace " + bare + " --block 32", "--trace and --block do not go together", exitUsage},
		{"--trace " + bare + " --json --csv", "--json and --csv", exitUsage},
		{"--trace " + bare + " --update", "--update needs --ratchet", exitUsage},
		{"--trace " + bare + " --min-share 3", "--min-share needs", exitUsage},
		{"--trace " + bare + " --min 101", "--min 101", exitUsage},
		{"--trace " + bare + " --min NaN", "--min NaN", exitUsage},
		{"--trace " + bare + " --top -1", "--top -1", exitUsage},
		{"--trace " + bare + " --kernel (", "--kernel: ", exitUsage},
		{"--trace=", "the name is empty", exitUsage},
		{"--ratchet x", "--ratchet needs --trace", exitUsage},
	} {
		status, out, errs := occupancyTrace(strings.Fields(c.line)...)
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("%s: status %d, want %d and %q\n%s%s", c.line, status, c.status, c.want, out, errs)
		}
		if c.status == exitUsage && out != "" {
			t.Errorf("%s: stdout %q", c.line, out)
		}
	}
	if data, err := os.ReadFile(broken); err != nil || string(data) != "{" {
		t.Errorf("the broken file was written over: %q, %v", data, err)
	}
}

// TestOccupancyRatchet makes a ratchet file, holds the trace against it, and then
// against one in which a kernel was better.
func TestOccupancyRatchet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "occupancy.json")
	if status, out, errs := occupancyTrace("--trace", trainTrace, "--ratchet", file, "--update"); status != exitOK || !strings.Contains(out, "\nnew: and ") {
		t.Fatalf("status %d\n%s%s", status, out, errs)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	status, out, errs := occupancyTrace("--trace", trainTrace, "--ratchet", file, "--csv")
	if status != exitOK || errs != "" {
		t.Errorf("the same trace: status %d\n%s", status, errs)
	}
	if rows, err := csv.NewReader(strings.NewReader(out)).ReadAll(); err != nil || len(rows) != 73 {
		t.Errorf("%d rows of CSV, %v", len(rows), err)
	}

	const name = `"nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT","device":"NVIDIA H200",`
	better := strings.Replace(string(first), name+`"registers":168,"active_warps":12`, name+`"registers":160,"active_warps":24`, 1)
	if better == string(first) {
		t.Fatal("the kernel is not in the file")
	}
	if err := os.WriteFile(file, []byte(better), 0o644); err != nil {
		t.Fatal(err)
	}
	status, out, errs = occupancyTrace("--trace", trainTrace, "--ratchet", file, "--json")
	var doc struct {
		Findings []string
		Kernels  []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"worse: nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT (NVIDIA H200): registers 168, was 160 (8 more)",
		"worse: nvjet_sm90_tst_128x64_64x8_1x2_h_bz_NNT (NVIDIA H200): theoretical occupancy 18.8 % (12 of 64 warps), was 37.5 % (18.8 points less)",
	}
	if status != exitFinding || errs != strings.Join(want, "\n")+"\n" || strings.Join(doc.Findings, "\n") != strings.Join(want, "\n") || len(doc.Kernels) != 72 {
		t.Errorf("status %d, %d kernels, %q\n%s", status, len(doc.Kernels), doc.Findings, errs)
	}

	// Accepting it gives the first file again, byte for byte.
	if status, _, errs := occupancyTrace("--trace", trainTrace, "--ratchet", file, "--update", "--kernel", "nvjet"); status != exitOK {
		t.Errorf("update: status %d\n%s", status, errs)
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, first) {
		t.Errorf("the file is another one: %v", err)
	}

	elsewhere := strings.ReplaceAll(string(first), "H200", "H100")
	if err := os.WriteFile(file, []byte(elsewhere), 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, errs := occupancyTrace("--trace", trainTrace, "--ratchet", file); status != exitUsage || !strings.Contains(errs, "the file is for NVIDIA H100, the trace of NVIDIA H200") {
		t.Errorf("another device: status %d\n%s", status, errs)
	}
}

// TestOccupancyStandardInput reads the trace from standard input.
func TestOccupancyStandardInput(t *testing.T) {
	f, err := os.Open(trainTrace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	stdin := os.Stdin
	os.Stdin = f
	defer func() { os.Stdin = stdin }()
	if status, out, errs := occupancyTrace("--trace", "-", "--top", "1"); status != exitOK || !strings.Contains(out, "-: 1708 kernels") {
		t.Errorf("status %d\n%s%s", status, out, errs)
	}
}
