package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

// Whatever the vendor library does, the program's exit status stays, and the
// spool says what is wrong.
func TestTrouble(t *testing.T) {
	for _, c := range []struct {
		name      string
		cupti     fakegpu.CUPTI
		env       string
		diagnosis string // in the spool; "" for none
		records   bool   // kernels are recorded all the same
	}{
		{"unusable library", fakegpu.CUPTI13Unusable, "", "cuptiActivityRegisterCallbacks", false},
		{"no library", fakegpu.NoCUPTI, "", "libcupti not found", false},
		{"without lists", fakegpu.CUPTI13NoLists, "", "", true},
		{"minimal library", fakegpu.CUPTI13Minimal, "", "", true},
		{"library of CUDA 12", fakegpu.CUPTI12, "", "", true},
		{"too new", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityRegisterCallbacks=15", "newer than the driver", false},
		{"kernels refused", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityEnable(10)=15", "newer than the driver", false},
		{"v2 client", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityEnable(10)=14", "another profiler", false},
		{"waits refused", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityEnable(38)=1", "waits are not recorded", true},
		{"version refused", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiGetVersion=999", "cuptiGetVersion returned 999", false},
		{"flush refused", fakegpu.CUPTI13, "FAKECUPTI_FAIL=cuptiActivityFlushAll=999", "flushing: cuptiActivityFlushAll returned 999", false},
		{"subscriber", fakegpu.CUPTI13, "FAKECUPTI_SUBSCRIBED=1", "", true},
		{"unsupported device", fakegpu.CUPTI13, "FAKECUPTI_SUPPORTED=0", "does not support this device", false},
		{"wrong record size", fakegpu.CUPTI13, "FAKECUPTI_SIZES=10=224", "layout mismatch", true},
		{"other layout", fakegpu.CUPTI13, "FAKECUPTI_LAYOUT=26", "layout mismatch", true},
		{"unknown kinds", fakegpu.CUPTI13, "FAKECUPTI_UNKNOWN_EVERY=7", "", true},
		{"null names", fakegpu.CUPTI13, "FAKECUPTI_NULL_NAME_EVERY=5", "", true},
		{"clock replaced", fakegpu.CUPTI13, "FAKECUPTI_CLOCK=tsc", "replaced the clock", true},
		{"hanging after exit", fakegpu.CUPTI13, "FAKECUPTI_AFTER_EXIT=hang", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := trial{cupti: c.cupti, env: []string{c.env}, args: []string{"--sleep", "0.2", "--exit-code", "3"}}.run(t)
			s := o.spool(t)
			if o.code != 3 || o.stdout != "" || o.stderr != "" {
				t.Errorf("exit %d, stdout %q, stderr %q", o.code, o.stdout, o.stderr)
			}
			if c.diagnosis == "" && len(s.diagnoses) > 0 || !s.diagnosed(c.diagnosis) {
				t.Errorf("diagnoses %q, want %q", s.diagnoses, c.diagnosis)
			}
			if (s.kinds[10] > 0) != c.records {
				t.Errorf("%d kernels", s.kinds[10])
			}
			if s.header.PID == 0 || s.end == nil {
				t.Errorf("header %+v, end %+v", s.header, s.end)
			}
		})
	}
}

// A name that cannot be read is not told, and costs nothing else.
func TestWildNames(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, env: []string{"FAKECUPTI_WILD_NAME_EVERY=3"}, args: []string{"--kernels", "300", "--exit-code", "3"}}.run(t)
	s := o.spool(t)
	if o.code != 3 || s.named() == 0 || s.named() >= s.kinds[10] || s.named() < s.kinds[10]/2 {
		t.Errorf("exit %d, %d of %d kernels named", o.code, s.named(), s.kinds[10])
	}
}

// Sizes the table does not have are learned from the library's iterator.
func TestLearnedStrides(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, env: []string{"FAKECUPTI_SIZES=10=224", "FAKECUPTI_UNKNOWN_EVERY=9", "FAKECUPTI_UNKNOWN_SIZE=72"}}.run(t)
	s := o.spool(t)
	if s.strides[10] != 224 || s.strides[777] != 72 || s.kinds[777] == 0 || s.offsets != 0 {
		t.Errorf("strides %v, %d unknown records, %d offset frames", s.strides, s.kinds[777], s.offsets)
	}
}

// Exit waits for the library no longer than allowed.
func TestBlockedFlush(t *testing.T) {
	for _, block := range []string{"forever", "forced:forever"} {
		o := trial{cupti: fakegpu.CUPTI13, env: []string{"FAKECUPTI_FLUSH_BLOCK=" + block, "FLAGOS_TRACE_EXIT_TIMEOUT_MS=600"}, args: []string{"--sleep", "0.3", "--exit-code", "3"}}.run(t)
		s := o.spool(t)
		if o.code != 3 || o.took > 20*time.Second {
			t.Errorf("%s: exit %d after %v", block, o.code, o.took)
		}
		if s.end == nil || s.end.Flushed || !s.diagnosed("did not come back") {
			t.Errorf("%s: end %+v, diagnoses %q", block, s.end, s.diagnoses)
		}
		if block == "forced:forever" && s.kinds[10] == 0 {
			t.Errorf("%s: the flushes before it brought nothing", block)
		}
	}
}

// With the pool empty requests are answered with the discard buffer, and what
// is lost is counted.
func TestPoolExhausted(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_BUFFERS=1", "FLAGOS_TRACE_BUFFER_SIZE=65536", "FAKECUPTI_CRASH_ON_NULL=1"},
		args: []string{"--kernels", "20000", "--threads", "4"}}.run(t)
	s := o.spool(t)
	c := s.counters
	if o.code != 0 || c.BuffersDiscarded == 0 || c.BytesDiscarded == 0 || c.BuffersRequested != c.BuffersDelivered+c.BuffersDiscarded || uint64(s.buffers) != c.BuffersDelivered {
		t.Errorf("exit %d, %+v, %d buffers", o.code, c, s.buffers)
	}
}

// A file size limit must not kill the program with SIGXFSZ, and what could not
// be written is counted.
func TestNoRoom(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, wrap: []string{"bash", "-c", `ulimit -f 64; exec env --default-signal=XFSZ "$@"`, "-"},
		args: []string{"--kernels", "5000", "--sleep", "0.3", "--exit-code", "3"}}.run(t)
	s := o.spool(t)
	if o.code != 3 || s.counters.WriteErrors == 0 || s.counters.BytesUnwritten == 0 || s.end == nil || s.torn != 0 {
		t.Errorf("exit %d, %+v, end %+v, torn %d", o.code, s.counters, s.end, s.torn)
	}
}

// With no room at all the header of the spool is what cannot be written, and that
// happens on a thread of the program.
func TestNoRoomAtAll(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, wrap: []string{"bash", "-c", `ulimit -f 0; exec env --default-signal=XFSZ "$@"`, "-"},
		env: []string{"FAKECUPTI_LOG=", "FLAGOS_TRACE=debug"}, args: []string{"--exit-code", "3"}}.run(t)
	if o.code != 3 || o.stdout+o.stderr != "" {
		t.Errorf("exit %d, %q %q", o.code, o.stdout, o.stderr)
	}
}

// Where there is no place for a spool, nothing happens.
func TestNoDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"", "/no/such/directory", file} {
		o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_DIR=" + dir}, args: []string{"--exit-code", "3"}}.run(t)
		if o.code != 3 || o.stdout+o.stderr != "" || len(o.spools(t)) != 0 || strings.Contains(o.log, "cuptiActivityEnable(") {
			t.Errorf("%q: exit %d, %q %q, spools %v, calls %s", dir, o.code, o.stdout, o.stderr, o.spools(t), o.log)
		}
	}
}

// The levels differ in what they have the library record.
func TestLevels(t *testing.T) {
	records := map[string]content{}
	for _, level := range []string{"minimal", "kineto", "all", "nonsense"} {
		o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_API=" + level, "FAKEGPU_STARTUP_CALLS=50"}}.run(t)
		records[level] = o.spool(t)
		if on := strings.Contains(o.log, "cuptiActivityEnable(4)"); on != (level == "all") {
			t.Errorf("%s: kind DRIVER enabled: %v", level, on)
		}
	}
	min, kin, all := records["minimal"], records["kineto"], records["all"]
	if !(min.kinds[5] < kin.kinds[5] && kin.kinds[5] < all.kinds[5]) || !(kin.kinds[4] < all.kinds[4]) || min.kinds[4] == 0 {
		t.Errorf("runtime %d %d %d, driver %d %d %d", min.kinds[5], kin.kinds[5], all.kinds[5], min.kinds[4], kin.kinds[4], all.kinds[4])
	}
	if min.kinds[10] != all.kinds[10] {
		t.Errorf("kernels %d and %d", min.kinds[10], all.kinds[10])
	}
	if s := records["nonsense"]; s.header.Options.API != "kineto" || !s.diagnosed(`FLAGOS_TRACE_API="nonsense"`) {
		t.Errorf("nonsense: %+v, %q", s.header.Options, s.diagnoses)
	}
	o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_SYNC=0"}}.run(t)
	if s := o.spool(t); s.kinds[38] != 0 || s.kinds[36] != 0 {
		t.Errorf("sync off: %v", s.kinds)
	}
}
