package record

import (
	"slices"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// ownThreads returns the ids of the agent's own threads.
func (c *spoolCollector) ownThreads() map[int64]bool {
	own := map[int64]bool{}
	for tid, name := range c.threads {
		if spool.IsOwnThread(name) {
			own[tid] = true
		}
	}
	return own
}

// refused is the end of a loss's code behind the kind of events that the
// library would not record.
const refused = "_refused"

// checkRequest takes note of kinds of events that were wanted and that the
// library refused. A header that does not list what was enabled tells nothing.
func (c *spoolCollector) checkRequest() {
	h := &c.header
	if len(h.Requested) == 0 {
		return
	}
	want := []event.Kind{event.Kernel, event.Memcpy, event.Memset, event.Runtime, event.Driver}
	if h.Options.Sync {
		want = append(want, event.Sync)
	}
	if h.Options.Overhead {
		want = append(want, event.Overhead)
	}
	if h.Options.NVTX {
		want = append(want, event.Marker)
	}
	for _, k := range want {
		if tracer.Offered(h.Binding.Tracer, k) && !slices.Contains(h.Requested, k.String()) {
			c.lose(k.String()+refused, "")
		}
	}
}

// finish completes the trace.
func (c *spoolCollector) finish() (*timeline.Trace, error) {
	t, h, rec := c.trace, c.header, c.rec
	t.Process = timeline.Process{PID: h.PID, Name: h.Process, Host: h.Host}
	rec.Requested, rec.ExitCode, rec.Signal = h.Requested, c.o.ExitCode, c.o.Signal
	rec.Ended = timeline.EndCut
	if c.end != nil {
		rec.Ended = timeline.Ending(c.end.Reason)
		if rec.Ended == timeline.EndExit || rec.Ended == timeline.EndStop {
			rec.Flushed = &c.end.Flushed
		}
	}
	if rec.Ended != timeline.EndUnavailable {
		c.checkRequest()
	}
	if info := distributedInfo(rankOf(h.Env)); info != nil && !c.o.NotRank && !hasMetadata(t, keyDistributed) {
		t.Metadata = append(t.Metadata, timeline.Property{Key: keyDistributed, Raw: info})
	}
	t.Metadata = append(t.Metadata, identity(h)...)
	vendor, _ := tracer.VendorOf(h.Binding.Tracer)
	clock, about, note := c.clocks.choose(&c.times, vendor.OwnClock)
	rec.Clock = about
	if note != "" {
		c.diagnose(note)
	}
	list := c.windows()
	if h.Paused && !slices.ContainsFunc(c.marks, func(m spool.Window) bool { return m.Open }) {
		c.diagnose("recording was never started: it was paused from the beginning")
	}
	c.notes(c.counters, len(list))
	w := whole(list)
	if len(list) > 1 {
		c.gaps = &gapClock{Clock: clock, windows: list}
		clock = c.gaps
	}
	rec.Operators = c.host.account()
	if err := c.collector.finish(correlate.Options{
		ThreadIDs: !c.binding.HandleThreads, KinetoRows: c.o.KinetoRows, Clock: clock, Window: &w, OwnThreads: c.ownThreads(), HostWindows: list,
	}); err != nil {
		return nil, err
	}
	c.host.conclude(h)
	return t, nil
}
