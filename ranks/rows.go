package ranks

import (
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// OfRows returns the rank that each row of a trace is of, in the order of
// Trace.Rows: -1 where the trace does not say.
func OfRows(t *timeline.Trace) []int {
	of := make([]int, len(t.Rows))
	infos := merge.Infos(t)
	if len(infos) == 0 {
		own := newRank(t.Metadata, t.Process, merge.DefaultLabel(t), "").Number
		for i := range of {
			of[i] = own
		}
		return of
	}
	number := map[merge.ID]int{}
	for k := range infos {
		n := newRank(infos[k].Members, infos[k].Process, infos[k].Label, "").Number
		for _, p := range infos[k].IDs {
			number[p.Is] = n
		}
	}
	for i := range of {
		r := &t.Rows[i]
		of[i] = -1
		if n, ok := number[merge.ID{Number: r.PID, Text: r.PIDText, Empty: r.EmptyPID}]; ok {
			of[i] = n
		}
	}
	return of
}
