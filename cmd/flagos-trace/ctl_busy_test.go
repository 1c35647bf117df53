package main

import (
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// A window that is closed while the device always has work queued: a forced flush
// would cut off the records of that work, so a stop does not need one, and what
// had ended is all there.
func TestCtlStopBusy(t *testing.T) {
	busy := []string{"env", "FAKECUPTI_AT_COMPLETION=1", "FAKEGPU_KERNEL_NS=300000", fakegpu.Get(t).Workload, "--kernels", "1000000", "--threads", "1", "--seconds", "4"}
	r := recordCommand(t, []string{"--start-paused"}, busy)
	pid := r.ready().PID
	r.must(pid, "start")
	time.Sleep(300 * time.Millisecond)
	r.must(pid, "stop")
	if n := r.calls("cuptiActivityFlushAll(1)"); n != 0 {
		t.Errorf("%d forced flushes", n)
	}
	tr := r.end()
	c := tr.Completeness
	if c.Verdict != timeline.Complete || tr.Events["kernel"] < 100 || len(c.Missing) > 0 {
		t.Errorf("%v, %+v", tr.Events, c)
	}
}
