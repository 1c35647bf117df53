package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/summary"
)

const summaryTrace = `{"traceEvents": [
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":9,"tid":9,"ts":0,"dur":20,"args":{"External id":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":5,"dur":2,"args":{"correlation":1,"External id":1}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":10,"dur":15,"args":{"device":0,"stream":7,"correlation":1,"External id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::copy_","pid":9,"tid":9,"ts":30,"dur":20,"args":{"External id":2}},
{"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":9,"tid":9,"ts":35,"dur":2,"args":{"correlation":2,"External id":2}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy DtoH (Device -> Pinned)","pid":0,"tid":7,"ts":40,"dur":5,"args":{"device":0,"stream":7,"correlation":2,"External id":2,"bytes":5000}}]}`

func TestSummaryCommand(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trace := write("a.json", summaryTrace)
	none := write("none.json", "hello")
	lost := write("lost.json", strings.Replace(summaryTrace, `{"traceEvents"`, `{"flagosTrace": {"verdict": "incomplete", "tool": "flagos-trace 1", "ended": "cut",
		"dropped": {"broken_record": 3, "out_of_window": 7}, "signal": "SIGKILL"}, "traceEvents"`, 1))
	hidden := write("hidden.json", strings.Replace(summaryTrace, "gemm", "a\u009b31m\u202eb<", 1))
	half := write("half.json", summaryTrace[:len(summaryTrace)-30])
	summarize := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		status := run(append([]string{"summary"}, args...), &out, &errs)
		return status, out.String(), errs.String()
	}
	for _, c := range []struct {
		args   []string
		status int
		says   []string
	}{
		{[]string{trace}, exitOK, []string{
			"device 0: busy 40.0 % of 50.000 us; 2 kernels, copies and fills, 1 stream; device time 20.000 us",
			"waiting for the host 10.000 us", "launch-bound 42.9 %", "completeness: not known",
			"aten::mm", "Memcpy DtoH (Device -> Pinned)", "5.00 kB", "1.00 GB/s", "Critical path", "Not in the trace:\n  steps",
			"Sums are right to the nanosecond: operators, and work without one; kernels, copies and fills; busy and idle time of devices; critical path.",
		}},
		{[]string{lost}, exitOK, []string{"completeness: incomplete; 3 records dropped: broken record; the program was ended by SIGKILL\n"}},
		{[]string{half}, exitOK, []string{"\n  a part of the trace is missing: it is truncated\n", "found 2 odd or broken things: flagos-trace validate says more"}},
		{[]string{"--by", "calls", trace}, exitOK, []string{"API calls", "cudaMemcpyAsync"}},
		{[]string{"--by", "modules", trace}, exitOK, []string{"Modules: none"}},
		{[]string{"--by", "kernels", "--top", "1", trace}, exitOK, []string{"and 1 more"}},
		{[]string{"--op", "copy", trace}, exitOK, []string{"only operators copy"}},
		{[]string{"--by", "devices", "--wide", trace}, exitOK, []string{"every nanosecond of the window"}},
		{[]string{"--schema"}, exitOK, []string{"Output of flagos-trace summary"}},
		{[]string{"--schema", trace}, exitUsage, []string{"--schema takes no trace"}},
		{[]string{"--json", hidden}, exitOK, []string{`"name": "a\u009b31m\u202eb<"`}},
		{[]string{"--from", "1s", trace}, exitUsage, []string{`the window from 1s to end ends before it begins`}},
		{[]string{none}, exitUsage, []string{"none.json"}},
		{[]string{filepath.Join(dir, "missing")}, exitUsage, []string{"no such file"}},
		{[]string{"--rank", "3", trace}, exitUsage, []string{"nothing is left of ranks 3"}},
		{[]string{"--from", "yesterday", trace}, exitUsage, []string{"yesterday"}},
		{[]string{"--op", "(", trace}, exitUsage, []string{"--op"}},
		{[]string{"--by", "x", trace}, exitUsage, []string{"--by"}},
		{[]string{"--sort", "x", trace}, exitUsage, []string{"--sort"}},
		{[]string{"--group-by", "x", trace}, exitUsage, []string{"--group-by"}},
		{[]string{"--steps", "x", trace}, exitUsage, []string{"--steps"}},
		{[]string{"--top", "-1", trace}, exitUsage, []string{"--top"}},
		{[]string{"--csv", "--by", "all", trace}, exitUsage, []string{"--csv"}},
		{[]string{"--csv", "--json", trace}, exitUsage, []string{"json"}},
		{nil, exitUsage, []string{"arg"}},
	} {
		status, out, errs := summarize(c.args...)
		if status != c.status {
			t.Errorf("%q: exit status %d: %s", c.args, status, errs)
		}
		for _, text := range c.says {
			if !strings.Contains(out+errs, text) {
				t.Errorf("%q does not say %q:\n%.2000s%s", c.args, text, out, errs)
			}
		}
	}
	_, out, _ := summarize("--json", trace)
	var s summary.Summary
	if err := json.Unmarshal([]byte(out), &s); err != nil || s.Schema != summary.Schema || s.Work.DeviceNS != 20_000 {
		t.Errorf("%v: %+v", err, s)
	}
	_, out, _ = summarize("--csv", "--by", "kernels", "--sort", "name", trace)
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 3 || rows[0][0] != "name" || rows[1][0] != "Memcpy DtoH (Device -> Pinned)" || rows[2][3] != "15000" {
		t.Errorf("%v: %q", err, rows)
	}
}
