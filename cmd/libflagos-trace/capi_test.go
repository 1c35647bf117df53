package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

func TestCInterface(t *testing.T) {
	for _, c := range []struct {
		name  string
		cupti fakegpu.CUPTI
		env   string
		steps string
		want  string
	}{
		{"nothing asked for", fakegpu.CUPTI13, "FLAGOS_TRACE_DIR=", "push pop flush start stop inject", "1|1 0|1|1|1|1"},
		{"push and pop", fakegpu.CUPTI13, "", "start push pop pop pushbad", "0|0|0 4711|5 0|7"},
		{"window", fakegpu.CUPTI13, "", "start cuda flush stop stop start cuda stop", "0|0|0|0|0|0|0|0"},
		{"push after stop", fakegpu.CUPTI13, "", "start push stop push pop start push", "0|0|0|1|1 0|0|0"},
		{"injected twice", fakegpu.CUPTI13, "", "inject inject push pop", "1|1|0|0 4711"},
		{"no library", fakegpu.NoCUPTI, "", "start push flush stop", "2|1|2|2"},
		{"refused", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityPushExternalCorrelationId=1", "start push", "0|3"},
		{"without the function", fakegpu.CUPTI13Minimal, "", "start push", "0|2"},
		{"forked child", fakegpu.CUPTI13, "", "start fork flush", "0|111 1|0"},
		{"blocked", fakegpu.CUPTI13, "FAKECUPTI_FLUSH_BLOCK=forever", "start cuda stop flush", "0|0|4|6"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog := compile(t, "capi", "-ldl")
			o := trial{cupti: c.cupti, prog: prog, args: append([]string{library(t)}, strings.Fields(c.steps)...),
				env: []string{"CUDA_INJECTION64_PATH=", "FLAGOS_TRACE_EXIT_TIMEOUT_MS=1500", c.env}}.run(t)
			if got := strings.ReplaceAll(strings.TrimSpace(o.stdout), "\n", "|"); got != c.want || o.code != 0 || o.stderr != "" {
				t.Errorf("%s: got %s, want %s (exit %d, stderr %q)", c.steps, got, c.want, o.code, o.stderr)
			}
			if c.name == "window" {
				s := o.spool(t)
				open := ""
				for _, w := range s.windows {
					if open += "c"; w.Open {
						open = open[:len(open)-1] + "o"
					}
				}
				if open != "occoc" || s.kinds[5] == 0 || s.end == nil {
					t.Errorf("windows %q, %v, end %+v", open, s.kinds, s.end)
				}
			}
		})
	}
}

func TestChain(t *testing.T) {
	other := compile(t, "chain", "-shared", "-fPIC")
	file := filepath.Join(t.TempDir(), "file")
	for _, dir := range []string{"-", "FLAGOS_TRACE_DIR="} {
		os.Remove(file)
		o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_CHAIN=" + other, "CHAIN_FILE=" + file, dir}}.run(t)
		if b, err := os.ReadFile(file); err != nil || string(b) != "started" || o.code != 0 {
			t.Errorf("%s: %q %v, exit %d", dir, b, err, o.code)
		}
	}
	o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_CHAIN=/no/such/library.so"}}.run(t)
	if s := o.spool(t); o.code != 0 || o.stderr != "" || !s.diagnosed("FLAGOS_TRACE_CHAIN") || s.kinds[10] == 0 {
		t.Errorf("exit %d, stderr %q, diagnoses %q", o.code, o.stderr, s.diagnoses)
	}
}

// The debug log is beside the spool and nowhere else.
func TestDebugLog(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE=debug"}}.run(t)
	logs, _ := filepath.Glob(o.dir + "/*.log")
	if len(logs) != 1 || o.stdout+o.stderr != "" {
		t.Fatalf("logs %v, %q %q", logs, o.stdout, o.stderr)
	}
	if b, _ := os.ReadFile(logs[0]); !strings.Contains(string(b), "cupti: bound") {
		t.Errorf("log: %s", b)
	}
}
