package record

import (
	"bytes"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestCost: the costs of processes add up; what one of them does not tell is not
// told of all.
func TestCost(t *testing.T) {
	with := func(records uint64, cpu int64) TraceSummary {
		c := &timeline.Completeness{Received: map[string]uint64{"kernel": records - 1, "runtime": 1}, Spool: &timeline.SpoolCounts{Bytes: 1 << 20}}
		if cpu > 0 {
			c.Buffers = &timeline.BufferCounts{AgentCPUNS: cpu}
		}
		return TraceSummary{Cost: costOf(c, 2e9)}
	}
	for _, c := range []struct {
		name   string
		traces []TraceSummary
		wall   int64
		want   string
	}{
		{"nothing", nil, 1e9, ""},
		{"without a spool", []TraceSummary{{}}, 1e9, ""},
		{"one", []TraceSummary{with(3000, 5e6)}, 4e9,
			"flagos-trace: recording took 5.00 ms of CPU time in the agent's threads and 1.0 MiB of data for 3,000 records (1,500 a second)\n"},
		{"two", []TraceSummary{with(3000, 5e6), {}, with(5000, 2e6)}, 4e9,
			"flagos-trace: recording took 7.00 ms of CPU time in the agent's threads and 2.0 MiB of data for 8,000 records (2,000 a second)\n"},
		{"without counters", []TraceSummary{with(3000, 5e6), with(5000, 0)}, 0,
			"flagos-trace: recording took 2.0 MiB of data for 8,000 records\n"},
	} {
		s := Summary{Traces: c.traces, WallNS: c.wall}
		s.addCosts()
		var b bytes.Buffer
		if s.Cost != nil {
			s.Cost.print(&b)
		}
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}
