package validate

import "testing"

// TestMergedPIDs: in a merged trace a device's number may be another one; what the
// merge says of it counts, and nothing else is forgiven.
func TestMergedPIDs(t *testing.T) {
	for _, c := range []struct {
		members string
		want    int
	}{
		{``, 1},
		{`"flagosMerge": [{"pids": [{"was": 0, "is": 0}]}, {"pids": [{"was": "Spans", "is": "Spans rank 1"}, {"was": 0, "is": 16}]}], `, 0},
		{`"flagosMerge": [{"pids": [{"was": 1, "is": 16}]}], `, 1},
		{`"flagosMerge": 7, `, 1},
		{`"flagosTrace": {"tool": "flagos-trace", "verdict": "complete"}, `, 1},
	} {
		text := `{` + c.members + `"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 16, "tid": 7, "ts": 1.5, "dur": 1, "args": {"device": 0, "stream": 7}}]}`
		if n := len(run(t, text, Options{Only: []string{"arg-row"}}).Findings); n != c.want {
			t.Errorf("%s: %d findings, want %d", c.members, n, c.want)
		}
	}
}
