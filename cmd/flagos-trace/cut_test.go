package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestCut: parts are written, told of, and traces with nothing amiss; a part that is
// not there is said.
func TestCut(t *testing.T) {
	const from = "../../testdata/pairs/train.kineto.json.gz"
	to := filepath.Join(t.TempDir(), "part.json.gz")
	for _, test := range []struct {
		args   []string
		status int
		told   string
	}{
		{[]string{"--from", "10ms", "--to", "+20ms"}, exitOK, "of 18991 events written to "},
		{[]string{"--from=-100ms", "--straddling", "clip", "--device-work", "launched"}, exitOK, "events written"},
		{[]string{"--category", "kernel,cuda_runtime", "--stream", "7"}, exitOK, "events written"},
		{[]string{"--category", "kernel", "--quiet"}, exitOK, ""},
		{[]string{"--steps", "3:4"}, exitUsage, "not in the trace: steps 3:4"},
		{[]string{"--rank", "1"}, exitUsage, "not in the trace: rank"},
		{[]string{"--from", "1h"}, exitUsage, "--from, --to"},
		{[]string{"--steps", "x"}, exitUsage, "--steps"},
		{[]string{"--from", "1ms", "--straddling", "x"}, exitUsage, "--straddling"},
		{[]string{"--from", "1ms", "--device-work", "x"}, exitUsage, "--device-work"},
		{nil, exitUsage, "which part?"},
	} {
		var out, errs bytes.Buffer
		status := run(append([]string{"cut", from, "-o", to}, test.args...), &out, &errs)
		if status != test.status || !strings.Contains(errs.String(), test.told) || test.told == "" && errs.Len() > 0 {
			t.Errorf("%v: status %d, %s", test.args, status, errs.String())
		}
		if status != exitOK {
			continue
		}
		docs, err := chrome.ReadFile(to, chrome.ReadOptions{})
		if err != nil || len(docs) != 1 || docs[0].Trace.Events.Len() < 10 || len(docs[0].Findings) > 0 {
			t.Errorf("%v: %v, %d documents", test.args, err, len(docs))
		}
		out.Reset()
		if status := run([]string{"validate", to}, &out, &errs); status != exitOK {
			t.Errorf("%v: validate says %s", test.args, out.String())
		}
	}
}
