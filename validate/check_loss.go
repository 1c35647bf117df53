package validate

import (
	"github.com/flagos-ai/flagos-trace/chrome"
)

// checkLoss looks for signs that events are missing.
func checkLoss(t *trace, c *collector) {
	if t.lost > 0 {
		c.at(rDropped, 0, "%d events could not be read", t.lost)
	}
	if own := t.member("flagosTrace"); own != nil {
		verdict := chrome.Lookup(own, "verdict")
		if verdict.IsString() && !verdict.Is("complete") {
			c.at(rDropped, 0, "the recording's own verdict is %s", verdict)
		}
	}
	// torch numbers its events from 0 on; what is missing was dropped on the way
	// to the file or cut out of it.
	if e := t.evIdx; e.n > 0 && t.hostProcesses() == 1 {
		if whole := e.max - e.min + 1; int64(e.n) < whole && e.min >= 0 {
			c.at(rDropped, 0, "torch numbered its events from %d to %d, and %d of these %d are there", e.min, e.max, e.n, whole)
		}
	}
}

// hostProcesses counts the processes with operators.
func (t *trace) hostProcesses() int {
	pids := map[uint32]bool{}
	t.each(func(_ uint32, r *record) {
		if r.kind == kOperator {
			pids[t.rowPID[r.row]] = true
		}
	})
	return len(pids)
}
