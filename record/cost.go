package record

import (
	"bytes"
	"fmt"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Cost is what recording took, as far as it was measured in the traced process
// and what it left. It does not hold what the vendor's library itself costs.
type Cost struct {
	Records uint64 `json:"records"` // that the vendor's library delivered
	// RecordsPerSecond is over the recorded window, of all processes over the
	// command's life; absent where that has no length.
	RecordsPerSecond *float64 `json:"records_per_second,omitempty"`
	// AgentCPUNS is the CPU time of the agent's own threads, ns, up to the last time
	// it was written down; absent where it never was.
	AgentCPUNS *int64 `json:"agent_cpu_ns,omitempty"`
	SpoolBytes int64  `json:"spool_bytes"`
}

// costOf reads the cost of a trace's recording off its completeness record, nil
// without a spool.
func costOf(c *timeline.Completeness, window int64) *Cost {
	if c == nil || c.Spool == nil {
		return nil
	}
	cost := &Cost{SpoolBytes: c.Spool.Bytes}
	for _, n := range c.Received {
		cost.Records += n
	}
	cost.rate(window)
	if b := c.Buffers; b != nil {
		cpu := b.AgentCPUNS
		cost.AgentCPUNS = &cpu
	}
	return cost
}

func (c *Cost) rate(ns int64) {
	if ns > 0 {
		rate := float64(c.Records) / (float64(ns) / 1e9)
		c.RecordsPerSecond = &rate
	}
}

// addCosts fills in the cost of all processes.
func (s *Summary) addCosts() {
	s.Cost = nil
	known := true
	var cpu int64
	for i := range s.Traces {
		c := s.Traces[i].Cost
		if c == nil {
			continue
		}
		if s.Cost == nil {
			s.Cost = &Cost{}
		}
		s.Cost.Records += c.Records
		s.Cost.SpoolBytes += c.SpoolBytes
		if c.AgentCPUNS == nil {
			known = false
		} else {
			cpu += *c.AgentCPUNS
		}
	}
	if s.Cost == nil {
		return
	}
	if known { // part of it would be too little
		s.Cost.AgentCPUNS = &cpu
	}
	s.Cost.rate(s.WallNS)
	if len(s.Traces) == 1 {
		s.Cost.RecordsPerSecond = s.Traces[0].Cost.RecordsPerSecond
	}
}

func (c *Cost) print(b *bytes.Buffer) {
	fmt.Fprintf(b, "flagos-trace: recording took")
	if c.AgentCPUNS != nil {
		fmt.Fprintf(b, " %s of CPU time in the agent's threads and", duration(*c.AgentCPUNS))
	}
	fmt.Fprintf(b, " %s of data for %s", size(c.SpoolBytes), plural(c.Records, "records"))
	if c.RecordsPerSecond != nil {
		fmt.Fprintf(b, " (%s a second)", grouped(uint64(*c.RecordsPerSecond+0.5)))
	}
	b.WriteString("\n")
}
