package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/ranks"
)

// writeRank writes the trace of a rank of a job of two: n all-reduces, whose ends are
// common but for some hundred ns, by a clock that is off. Without group the
// kernels do not say theirs.
func writeRank(t *testing.T, dir string, rank, n int, off int64, group bool) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": 2}, "baseTimeNanoseconds": 1790857026000000000, "traceEvents": [`, rank)
	us := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }
	for i := range int64(n) {
		start := 20_000_000 + i*1_000_000 + i*i*311 + int64(rank)*int64(70_000*(i%3)) + off
		end := 20_000_000 + i*1_000_000 + i*i*311 + 300_000 + int64(rank)*(i*7919%600) + off
		args := ""
		if group {
			args = `, "Collective name": "allreduce", "In msg nelems": 8, "Out msg nelems": 8, "Group size": 2, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": "[0, 1]"`
		}
		fmt.Fprintf(&b, `{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernelExC", "pid": %d, "tid": 9, "ts": %s, "dur": 1.000, "args": {"correlation": %d}},`+"\n", 50+rank, us(start-4000), i+1)
		fmt.Fprintf(&b, `{"ph": "s", "id": %d, "pid": %d, "tid": 9, "ts": %s, "cat": "ac2g", "name": "ac2g"},`+"\n", i+1, 50+rank, us(start-4000))
		fmt.Fprintf(&b, `{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 17, "ts": %s, "dur": %s, "args": {"device": 0, "stream": 17, "correlation": %d%s}},`+"\n", us(start), us(end-start), i+1, args)
		fmt.Fprintf(&b, `{"ph": "f", "id": %d, "pid": 0, "tid": 17, "ts": %s, "cat": "ac2g", "name": "ac2g", "bp": "e"},`+"\n", i+1, us(start))
	}
	b.WriteString(`{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0.000, "args": {"labels": "GPU 0"}}]}`)
	name := filepath.Join(dir, fmt.Sprintf("rank%d-%d-%d-%v.json", rank, n, off, group))
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMergeCommand(t *testing.T) {
	dir := t.TempDir()
	zero := writeRank(t, dir, 0, 20, 0, true)
	late := writeRank(t, dir, 1, 20, 5_000_000, true)
	one := writeRank(t, dir, 1, 1, 5_000_000, true)
	mute := writeRank(t, dir, 1, 20, 0, false)
	out := filepath.Join(dir, "merged.json")
	for _, c := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"aligned", []string{late, zero}, exitOK, "rank 1: moved by -5.000"},
		{"no look at clocks", []string{zero, late, "--align", "none"}, exitOK, "2 traces"},
		{"refused", []string{zero, mute}, exitUnaligned, "rank 1: its trace does not say what its 20 kernels of communication do"},
		{"forced", []string{zero, mute, "--force"}, exitOK, "rank 1: not aligned, times as they are"},
		{"too uncertain", []string{writeRank(t, dir, 0, 1, 0, true), one, "--max-uncertainty", "1us"}, exitUnaligned, "is uncertain by"},
		{"one trace", []string{zero}, exitOK, "1 trace, "},
		{"one rank twice", []string{zero, zero}, exitUnaligned, "of the same rank as"},
		{"no trace", []string{zero, filepath.Join(dir, "none.json")}, exitUsage, "none.json"},
		{"no way to align", []string{zero, late, "--align", "guess"}, exitUsage, "--align is"},
		{"no folder", []string{zero, late, "-o", filepath.Join(dir, "no", "folder.json")}, exitFailure, "no/folder.json"},
	} {
		os.Remove(out)
		var stdout, stderr bytes.Buffer
		status := run(append([]string{"merge", "-o", out}, c.args...), &stdout, &stderr)
		if status != c.status || !strings.Contains(stderr.String(), c.want) || stdout.Len() > 0 {
			t.Errorf("%s: status %d, %s%s", c.name, status, stdout.String(), stderr.String())
		}
		_, err := os.Stat(out)
		if (err == nil) != (c.status == exitOK) {
			t.Errorf("%s: status %d and the file: %v", c.name, status, err)
		}
		if c.status != exitOK {
			continue
		}
		// Kineto's rules are kept, arrows between ranks included.
		stdout.Reset()
		if status := run([]string{"validate", "--fail-on", "error", out}, &stdout, &stderr); status != exitOK || strings.Contains(stdout.String(), "flow-") {
			t.Errorf("%s: validate: status %d\n%s", c.name, status, stdout.String())
		}
		stdout.Reset()
		if status := run([]string{"check", out}, &stdout, &stderr); status != exitOK {
			t.Errorf("%s: check: status %d\n%s", c.name, status, stdout.String())
		}
	}
}

// TestMergedRanks: the ends of collectives, which an offset had apart, are together
// in the merged trace, and ranks says the same of it as of its parts.
func TestMergedRanks(t *testing.T) {
	dir := t.TempDir()
	zero, late := writeRank(t, dir, 0, 20, 0, true), writeRank(t, dir, 1, 20, 5_000_000, true)
	out := filepath.Join(dir, "merged.json.gz")
	var stdout, stderr bytes.Buffer
	if status := run([]string{"merge", "-q", "-o", out, zero, late}, &stdout, &stderr); status != exitOK || stderr.Len() > 0 {
		t.Fatalf("status %d: %s", status, stderr.String())
	}
	docs, err := chrome.ReadFile(out, chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := ranks.Collect(docs[0].Trace, out)
	matches := ranks.MatchAll(all)
	if len(all) != 2 || len(matches) != 20 {
		t.Fatalf("%d ranks, %d operations", len(all), len(matches))
	}
	for _, m := range matches {
		a, b := all[0].Ops[m.Sides[0].Op], all[1].Ops[m.Sides[1].Op]
		if d := a.End - b.End; d > 1000 || d < -1000 {
			t.Errorf("ends %d ns apart", d)
		}
	}
	var reports []ranks.Analysis
	for _, args := range [][]string{{out}, {zero, late}} {
		stdout.Reset()
		if status := run(append([]string{"ranks", "--json"}, args...), &stdout, &stderr); status != exitOK {
			t.Fatalf("%q: status %d: %s", args, status, stderr.String())
		}
		var a ranks.Analysis
		if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		reports = append(reports, a)
	}
	for i := range 2 {
		x, y := reports[0].Ranks[i], reports[1].Ranks[i]
		if x.Wait != y.Wait || x.Transfer != y.Transfer || x.Last != y.Last || x.Wait == 0 && i == 0 {
			t.Errorf("rank %d: merged %+v, its parts %+v", i, x, y)
		}
	}
	stdout.Reset()
	if status := run([]string{"ranks", zero, late}, &stdout, &stderr); status != exitOK || !strings.Contains(stdout.String(), "rank 1") || !strings.Contains(stdout.String(), "moved by -5.000") {
		t.Errorf("status %d\n%s", status, stdout.String())
	}
	for _, c := range []struct {
		args   []string
		status int
	}{
		{[]string{zero, writeRank(t, dir, 1, 20, 0, false)}, exitUnaligned},
		{[]string{zero, writeRank(t, dir, 1, 20, 0, false), "--force"}, exitOK},
		{[]string{zero, "none.json"}, exitUsage},
		{[]string{zero, late, "--top", "-1"}, exitUsage},
		{[]string{zero, late, "--as-is"}, exitOK},
	} {
		if status := run(append([]string{"ranks"}, c.args...), &stdout, &stderr); status != c.status {
			t.Errorf("%q: status %d, want %d", c.args, status, c.status)
		}
	}
}
