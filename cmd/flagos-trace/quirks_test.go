package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// TestQuirks records with libraries that misbehave, each in its own way. The
// program must not notice; the trace must hold what came and say what did not.
func TestQuirks(t *testing.T) {
	gpu := fakegpu.Get(t)
	const tenth = 10 // every tenth kernel is odd where a quirk says so
	for _, c := range []struct {
		name    string
		cupti   fakegpu.CUPTI // CUPTI13 if empty and not bare
		bare    bool          // without a libcupti
		env     string        // variables, separated by spaces
		args    string
		verdict timeline.Verdict
		// kernels says how many of the workload's kernels must be there; nil for
		// all of them.
		kernels func(all uint64) uint64
		check   func(*timeline.Completeness) bool
		says    string // in a diagnosis
	}{
		{name: "version 13", env: "FAKECUPTI_VERSION=13", verdict: timeline.Incomplete, kernels: none, says: "API version 13",
			check: func(c *timeline.Completeness) bool { return c.Spool.LostBytes > 0 }},
		{name: "version 16", env: "FAKECUPTI_VERSION=16", verdict: timeline.Incomplete, kernels: none, says: "API version 16",
			check: func(c *timeline.Completeness) bool { return c.Spool.LostBytes > 0 }},
		{name: "version 17", env: "FAKECUPTI_VERSION=17", verdict: timeline.Complete, check: layout("verified")},
		{name: "version 26", env: "FAKECUPTI_VERSION=26", verdict: timeline.Complete, check: layout("verified")},
		{name: "version 130500", env: "FAKECUPTI_VERSION=130500", verdict: timeline.Complete, check: layout("learned")},
		{name: "library of CUDA 12", cupti: fakegpu.CUPTI12, verdict: timeline.Complete, check: layout("verified")},
		{name: "library without lists", cupti: fakegpu.CUPTI13NoLists, verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool { return c.Dropped[timeline.DropFiltered] > 0 }},
		{name: "library with ten functions", cupti: fakegpu.CUPTI13Minimal, verdict: timeline.Complete},
		{name: "library with ten functions, in ticks", cupti: fakegpu.CUPTI13Minimal, env: "FAKECUPTI_CLOCK=tsc", args: "--sleep 0.5", verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool {
				return c.Clock.Source == timeline.ClockTicks && c.Clock.NSPerTick > 0.47 && c.Clock.NSPerTick < 0.485
			}},
		{name: "unusable library", cupti: fakegpu.CUPTI13Unusable, verdict: timeline.Incomplete, kernels: none, says: "cuptiActivityRegisterCallbacks",
			check: func(c *timeline.Completeness) bool { return c.Ended == timeline.EndUnavailable }},
		{name: "no library", bare: true, verdict: timeline.Incomplete, kernels: none, says: "libcupti not found",
			check: func(c *timeline.Completeness) bool { return c.Ended == timeline.EndUnavailable }},
		{name: "layout mismatch", env: "FAKECUPTI_LAYOUT=26", verdict: timeline.Incomplete, kernels: none,
			check: func(c *timeline.Completeness) bool {
				one := c.Diagnoses
				return c.Layout == "mismatch" && c.Dropped[tracer.DropLayout] > 0 && c.Written["memcpy"] > 0 && len(one) == 1 &&
					containsAll(one[0], "libcupti.so.13", "130001", "kind 10", "216", "208")
			}},
		{name: "odd size", env: "FAKECUPTI_SIZES=10=232", verdict: timeline.Incomplete, kernels: none, check: layout("mismatch"), says: "232"},
		{name: "wild names", env: "FAKECUPTI_WILD_NAME_EVERY=10", verdict: timeline.Incomplete, kernels: without(tenth), check: dropped(tracer.DropNoName)},
		{name: "NULL names", env: "FAKECUPTI_NULL_NAME_EVERY=10", verdict: timeline.Incomplete, kernels: without(tenth), check: dropped(tracer.DropNoName)},
		{name: "unknown kinds", env: "FAKECUPTI_UNKNOWN_EVERY=7", verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool { return c.Skipped["777"] > 0 }},
		{name: "unknown kinds of an odd size", env: "FAKECUPTI_UNKNOWN_EVERY=7 FAKECUPTI_UNKNOWN_KIND=61 FAKECUPTI_UNKNOWN_SIZE=72", verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool { return c.Skipped["61"] > 0 }},
		{name: "dropped records", env: "FAKECUPTI_DROP_EVERY=11", verdict: timeline.Incomplete, kernels: some,
			check: func(c *timeline.Completeness) bool {
				return c.Buffers.RecordsDropped != nil && *c.Buffers.RecordsDropped > 0
			}},
		{name: "too few buffers", env: "FLAGOS_TRACE_BUFFERS=1 FLAGOS_TRACE_BUFFER_SIZE=65536 FAKECUPTI_CRASH_ON_NULL=1", args: "--kernels 5000",
			verdict: timeline.Incomplete, kernels: some, check: func(c *timeline.Completeness) bool { return c.Buffers.Discarded > 0 }},
		{name: "late completion", env: "FAKECUPTI_LATE=1", verdict: timeline.Complete},
		{name: "blocked flush", env: "FAKECUPTI_FLUSH_BLOCK=forever FLAGOS_TRACE_EXIT_TIMEOUT_MS=400", verdict: timeline.Incomplete, kernels: none,
			check: func(c *timeline.Completeness) bool { return c.Flushed != nil && !*c.Flushed }, says: "did not come back"},
		{name: "blocked last flush", env: "FAKECUPTI_FLUSH_BLOCK=forced:forever FLAGOS_TRACE_EXIT_TIMEOUT_MS=400", args: "--sleep 0.3", verdict: timeline.Incomplete, kernels: most,
			check: func(c *timeline.Completeness) bool { return c.Flushed != nil && !*c.Flushed }, says: "did not come back"},
		{name: "flush refused", env: "FAKECUPTI_FAIL=cuptiActivityFlushAll=999", verdict: timeline.Incomplete, kernels: none, says: "cuptiActivityFlushAll returned 999",
			check: func(c *timeline.Completeness) bool { return c.Flushed != nil && !*c.Flushed }},
		{name: "kernels refused", env: "FAKECUPTI_FAIL=cuptiActivityEnable(10)=15", verdict: timeline.Incomplete, kernels: none, says: "newer than the driver",
			check: func(c *timeline.Completeness) bool { return c.Ended == timeline.EndUnavailable }},
		{name: "copies refused", env: "FAKECUPTI_FAIL=cuptiActivityEnable(1)=27", verdict: timeline.Incomplete, says: "copies are not recorded",
			check: func(c *timeline.Completeness) bool {
				return slices.Equal(c.Missing, []string{"memcpy_refused"}) && c.Written["memcpy"] == 0 && c.Written["memset"] > 0
			}},
		{name: "waits refused", env: "FAKECUPTI_FAIL=cuptiActivityEnable(38)=1", verdict: timeline.Incomplete, says: "waits are not recorded",
			check: func(c *timeline.Completeness) bool { return slices.Equal(c.Missing, []string{"sync_refused"}) }},
		{name: "unsupported device", env: "FAKECUPTI_SUPPORTED=0", verdict: timeline.Incomplete, kernels: none, says: "does not support this device",
			check: func(c *timeline.Completeness) bool { return slices.Equal(c.Missing, []string{"device_unsupported"}) }},
		{name: "subscribed", env: "FAKECUPTI_SUBSCRIBED=1", verdict: timeline.Complete},
		{name: "zero times", env: "FAKECUPTI_ZERO_TIMES_EVERY=10", verdict: timeline.Incomplete, kernels: without(tenth), check: dropped(tracer.DropUntimed)},
		{name: "a little negative", env: "FAKECUPTI_NEGATIVE_NS=5000 FAKECUPTI_NEGATIVE_EVERY=10", verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool { return c.Repaired[tracer.RepairClamped] > 0 }},
		{name: "very negative", env: "FAKECUPTI_NEGATIVE_NS=5000000 FAKECUPTI_NEGATIVE_EVERY=10", verdict: timeline.Incomplete, kernels: without(tenth),
			check: dropped(tracer.DropNegative)},
		{name: "correlation ids wrap", env: "FAKEGPU_CORRELATION_START=4294967200", verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool { return len(c.Unlinked) == 0 }},
		{name: "clock in ticks", env: "FAKECUPTI_CLOCK=tsc", verdict: timeline.Complete, says: "CLOCK_REALTIME again",
			check: func(c *timeline.Completeness) bool { return c.Clock.Source == timeline.ClockRealtime }},
		// Read once is enough for a clock that the agent reads itself.
		{name: "clock since boot", env: "FAKECUPTI_CLOCK=monotonic", verdict: timeline.Complete,
			check: func(c *timeline.Completeness) bool {
				return c.Clock.Source == timeline.ClockTicks && c.Clock.NSPerTick > 0.99 && c.Clock.NSPerTick < 1.01
			}},
		{name: "clock since boot, ten functions", cupti: fakegpu.CUPTI13Minimal, env: "FAKECUPTI_CLOCK=monotonic", verdict: timeline.Complete},
		{name: "two devices", env: "FAKEGPU_DEVICES=2", verdict: timeline.Complete},
		{name: "hang after exit", env: "FAKECUPTI_AFTER_EXIT=hang", verdict: timeline.Complete},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cupti := c.cupti
			if cupti == "" && !c.bare {
				cupti = fakegpu.CUPTI13
			}
			counts := filepath.Join(t.TempDir(), "counts.json")
			command := append([]string{gpu.Workload, "--counts", counts, "--exit-code", "3"}, strings.Fields(c.args)...)
			s := recordQuirk(t, gpu, cupti, strings.Fields(c.env), nil, command...)
			if s.status != 3 || s.stdout != "" {
				t.Errorf("status %d, stdout %q", s.status, s.stdout)
			}
			tr := s.only(t)
			rec := tr.Completeness
			want, got := readCounts(t, counts), tr.Events["kernel"]
			switch {
			case c.kernels == nil:
				if got != want.kernels() || rec.Missing == nil && (tr.Events["memcpy"] != want.Memcpys || tr.Events["memset"] != want.Memsets) {
					t.Errorf("events %v, want %+v", tr.Events, want)
				}
			case c.kernels(want.kernels()) == anyNumber:
				if got == 0 || got >= want.kernels() {
					t.Errorf("%d kernels of %d", got, want.kernels())
				}
			case c.kernels(want.kernels()) == atLeastOne:
				if got == 0 || got > want.kernels() {
					t.Errorf("%d kernels of %d", got, want.kernels())
				}
			case got != c.kernels(want.kernels()):
				t.Errorf("%d kernels, want %d of %d", got, c.kernels(want.kernels()), want.kernels())
			}
			if tr.Verdict != c.verdict || c.check != nil && !c.check(rec) {
				t.Errorf("verdict %s, want %s; record %+v, buffers %+v, spool %+v", tr.Verdict, c.verdict, rec, rec.Buffers, rec.Spool)
			}
			if all := strings.Join(rec.Diagnoses, "\n"); !strings.Contains(all, c.says) {
				t.Errorf("diagnoses lack %q: %s", c.says, all)
			}
			checkWords(t, &s.summary, c.verdict)
		})
	}
}

// Stand-ins for numbers of kernels that are not known beforehand.
const (
	anyNumber  = ^uint64(0)     // some and not all
	atLeastOne = ^uint64(0) - 1 // perhaps all
)

func none(uint64) uint64 { return 0 }
func some(uint64) uint64 { return anyNumber }
func most(uint64) uint64 { return atLeastOne }

// without leaves out every n-th kernel.
func without(n uint64) func(uint64) uint64 {
	return func(all uint64) uint64 { return all - all/n }
}

func layout(want string) func(*timeline.Completeness) bool {
	return func(c *timeline.Completeness) bool { return c.Layout == want }
}

// dropped checks that a tenth of the kernels was dropped for a reason, and
// nothing for another.
func dropped(reason string) func(*timeline.Completeness) bool {
	return func(c *timeline.Completeness) bool {
		all := c.Dropped[reason] + c.Written["kernel"]
		return c.Dropped[reason] == all/10 && c.Layout == "verified"
	}
}

func containsAll(text string, parts ...string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}

// checkWords holds what people are told against the verdict.
func checkWords(t *testing.T, s *record.Summary, v timeline.Verdict) {
	t.Helper()
	var b strings.Builder
	if err := s.Print(&b, 0); err != nil {
		t.Fatal(err)
	}
	if told := strings.Contains(b.String(), "INCOMPLETE. Known to be missing:\n  - "); told != (v == timeline.Incomplete) {
		t.Errorf("verdict %s, and people read:\n%s", v, b.String())
	}
}
