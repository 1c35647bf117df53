package fakegpu

import (
	"strings"
	"testing"
	"time"
)

// Each switch does what README.md says.
func TestQuirks(t *testing.T) {
	l := readLayout(t, "130001")
	kernels := func(t *testing.T, res result, rs []record) []record {
		t.Helper()
		if len(rs) == 0 {
			t.Fatalf("no records; exit %d, %s", res.exit, res.stderr)
		}
		return ofKind(rs, kernelKind)
	}
	for _, c := range []struct {
		name  string
		cupti CUPTI
		env   []string
		sizes map[uint32]int
		check func(t *testing.T, res result, rs []record)
	}{
		{"unknown kind", "", []string{"FAKECUPTI_UNKNOWN_EVERY=5", "FAKECUPTI_UNKNOWN_SIZE=72"}, map[uint32]int{777: 72}, func(t *testing.T, res result, rs []record) {
			unknown := len(ofKind(rs, 777))
			if known := len(rs) - unknown; unknown < known/6 || unknown > known/4 {
				t.Errorf("%d unknown records among %d", unknown, known)
			}
		}},
		{"wild name", "", []string{"FAKECUPTI_WILD_NAME_EVERY=4"}, nil, func(t *testing.T, res result, rs []record) {
			wild := 0
			for _, k := range kernels(t, res, rs) {
				if p := k.get(t, "name"); p == 0 {
					t.Error("a NULL name")
				} else if res.names[p] == "" {
					wild++
				}
			}
			if want := len(kernels(t, res, rs)) / 4; wild != want {
				t.Errorf("%d unreadable names, want %d", wild, want)
			}
		}},
		{"null name", "", []string{"FAKECUPTI_NULL_NAME_EVERY=4"}, nil, func(t *testing.T, res result, rs []record) {
			null := 0
			for _, k := range kernels(t, res, rs) {
				if k.get(t, "name") == 0 {
					null++
				}
			}
			if want := len(kernels(t, res, rs)) / 4; null != want {
				t.Errorf("%d NULL names, want %d", null, want)
			}
		}},
		{"dropped", "", []string{"FAKECUPTI_DROP_EVERY=10"}, nil, func(t *testing.T, res result, rs []record) {
			// The overhead records do not count: they come with buffers.
			total := len(rs) - len(ofKind(rs, overheadKind)) + res.dropped
			if res.dropped != total/10 {
				t.Errorf("%d dropped of %d", res.dropped, total)
			}
		}},
		{"zero times", "", []string{"FAKECUPTI_ZERO_TIMES_EVERY=1"}, nil, func(t *testing.T, res result, rs []record) {
			for _, k := range kernels(t, res, rs) {
				if k.get(t, "start") != 0 || k.get(t, "end") != 0 {
					t.Fatal("a kernel with times")
				}
			}
		}},
		{"negative", "", []string{"FAKECUPTI_NEGATIVE_NS=700"}, nil, func(t *testing.T, res result, rs []record) {
			for _, k := range kernels(t, res, rs) {
				if k.get(t, "start")-k.get(t, "end") != 700 {
					t.Fatal("not 700 ns backwards")
				}
			}
		}},
		{"stop after", "", []string{"FAKECUPTI_STOP_AFTER=100"}, nil, func(t *testing.T, res result, rs []record) {
			if got := len(rs) - len(ofKind(rs, overheadKind)); got != 100 || res.dropped != 0 {
				t.Errorf("%d records, %d dropped, want 100 and silence", got, res.dropped)
			}
		}},
		{"not supported", "", []string{"FAKECUPTI_SUPPORTED=0"}, nil, func(t *testing.T, res result, rs []record) {
			if len(rs) != 0 {
				t.Errorf("%d records", len(rs))
			}
		}},
		{"fail all", "", []string{"FAKECUPTI_FAIL=*=15"}, nil, func(t *testing.T, res result, rs []record) {
			if len(rs) != 0 || res.exit != launchFailed {
				t.Errorf("%d records, exit %d: the workload's push should fail", len(rs), res.exit)
			}
		}},
		{"fail a kind", "", []string{"FAKECUPTI_FAIL=cuptiActivityEnable(10)=35,cuptiActivityEnable(2)=27"}, nil, func(t *testing.T, res result, rs []record) {
			if len(ofKind(rs, kernelKind, memsetKind)) != 0 || len(ofKind(rs, memcpyKind)) == 0 {
				t.Error("kernels and sets should be off, copies on")
			}
		}},
		{"null buffer, old", CUPTI12, []string{"FAKEGPU_DUMP_NULL=1"}, nil, func(t *testing.T, res result, rs []record) {
			if !strings.Contains(res.signal, "segmentation fault") {
				t.Errorf("exit %d %s, want a crash", res.exit, res.signal)
			}
		}},
		{"null buffer, new", "", []string{"FAKEGPU_DUMP_NULL=1"}, nil, func(t *testing.T, res result, rs []record) {
			if len(rs) != 0 || res.exit != 0 || res.dropped == 0 {
				t.Errorf("%d records, exit %d, %d dropped", len(rs), res.exit, res.dropped)
			}
		}},
		{"late", "", []string{"FAKECUPTI_LATE=1", "FAKEGPU_DUMP_BUFFER=4096"}, nil, func(t *testing.T, res result, rs []record) {
			before, _, _ := strings.Cut(res.log, "cuptiActivityFlushAll(1)")
			if strings.Contains(before, "callback-complete") {
				t.Error("a buffer was completed before the forced flush")
			}
			checkCounts(t, res, rs)
		}},
		{"wrap", "", []string{"FAKEGPU_CORRELATION_START=4294967200"}, nil, func(t *testing.T, res result, rs []record) {
			var high, low int
			for _, r := range ofKind(rs, driverKind, runtimeKind) {
				switch id := r.get(t, "correlationId"); {
				case id == 0:
					t.Error("correlation id 0")
				case id > 4294967000:
					high++
				default:
					low++
				}
			}
			if high == 0 || low == 0 {
				t.Errorf("%d ids before the wrap, %d after", high, low)
			}
		}},
		{"tsc", "", []string{"FAKECUPTI_CLOCK=tsc"}, nil, checkForeignClock},
		{"timestamp callback", "", []string{"FAKEGPU_DUMP_CLOCK=1"}, nil, checkForeignClock},
		{"shared buffer", "", []string{"FAKECUPTI_PER_THREAD=0"}, nil, func(t *testing.T, res result, rs []record) {
			checkCounts(t, res, rs)
			if last := rs[len(rs)-1].buffer; last != 0 {
				t.Errorf("%d buffers, want one", last+1)
			}
		}},
		{"allow-list", "", []string{"FAKEGPU_DUMP_KINDS=10", "FAKEGPU_DUMP_ALLOW=211,311"}, nil, func(t *testing.T, res result, rs []record) {
			for _, r := range ofKind(rs, driverKind, runtimeKind) {
				if id := r.get(t, "cbid"); r.kind == driverKind || id != 211 && id != 311 {
					t.Fatalf("kind %d callback id %d is not on the list", r.kind, id)
				}
			}
			if len(ofKind(rs, runtimeKind)) == 0 {
				t.Error("no API records")
			}
		}},
		{"no lists", CUPTI13NoLists, []string{"FAKEGPU_DUMP_KINDS=10", "FAKEGPU_DUMP_ALLOW=211"}, nil, func(t *testing.T, res result, rs []record) {
			if len(ofKind(rs, driverKind, runtimeKind)) != 0 || len(kernels(t, res, rs)) == 0 {
				t.Error("want kernels without API records")
			}
		}},
		{"minimal", CUPTI13Minimal, nil, nil, func(t *testing.T, res result, rs []record) {
			if len(kernels(t, res, rs)) != res.counts["launches"]+res.counts["graph_kernels"] || res.counts["externals"] != 0 {
				t.Error("want all kernels and no external ids")
			}
		}},
		{"unusable", CUPTI13Unusable, nil, nil, func(t *testing.T, res result, rs []record) {
			if len(rs) != 0 || res.exit != 0 {
				t.Errorf("%d records, exit %d", len(rs), res.exit)
			}
		}},
		{"flush after exit", "", []string{"FAKEGPU_ATEXIT_AFTER_INJECTION=1", "FAKECUPTI_AFTER_EXIT=error"}, nil, func(t *testing.T, res result, rs []record) {
			// Only buffers of threads that had ended were completed before.
			if got, all := len(ofKind(rs, kernelKind)), res.counts["launches"]+res.counts["graph_kernels"]; got >= all {
				t.Errorf("%d of %d kernels after a flush that fails", got, all)
			}
		}},
		{"flush before exit", "", []string{"FAKECUPTI_AFTER_EXIT=error"}, nil, func(t *testing.T, res result, rs []record) {
			checkCounts(t, res, rs)
		}},
		{"flush blocks", "", []string{"FAKECUPTI_FLUSH_BLOCK=forced:300"}, nil, func(t *testing.T, res result, rs []record) {
			checkCounts(t, res, rs)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			start := time.Now()
			res := runWorkload(t, spec{cupti: c.cupti, env: c.env, args: []string{"--kernels", "45", "--threads", "2"}})
			if c.name == "flush blocks" && time.Since(start) < 300*time.Millisecond {
				t.Error("the flush did not block")
			}
			l := l
			if c.cupti == CUPTI12 {
				l = readLayout(t, "26")
			}
			res.mayBeCut = c.name == "flush after exit"
			c.check(t, res, res.records(t, l, c.sizes))
		})
	}
}

// checkForeignClock: no time looks like the epoch's, and calls and device work
// are on one clock.
func checkForeignClock(t *testing.T, res result, rs []record) {
	t.Helper()
	epoch := uint64(time.Now().UnixNano()) / 2
	var lo, hi uint64
	for _, r := range ofKind(rs, driverKind, runtimeKind) {
		s := r.get(t, "start")
		if lo == 0 || s < lo {
			lo = s
		}
		hi = max(hi, r.get(t, "end"))
	}
	for _, r := range ofKind(rs, kernelKind, memcpyKind, memsetKind) {
		s, e := r.get(t, "start"), r.get(t, "end")
		if s > epoch || s < lo || e <= s || e > hi {
			t.Fatalf("device work [%d %d] outside the calls [%d %d]", s, e, lo, hi)
		}
	}
}

// A flush that never returns holds the program; the test ends it.
func TestFlushBlocksForever(t *testing.T) {
	res := runWorkload(t, spec{env: []string{"FAKECUPTI_FLUSH_BLOCK=forever"}, args: []string{"--no-cuda"}})
	if res.exit != 0 {
		t.Errorf("exit %d without CUDA", res.exit)
	}
	res = runWorkload(t, spec{env: []string{"FAKECUPTI_FLUSH_BLOCK=forever"}, args: []string{"--kernels", "9", "--signal", "9"}})
	if !strings.Contains(res.signal, "killed") || !strings.Contains(res.log, "callback-request") {
		t.Errorf("exit %d %s", res.exit, res.signal)
	}
}
