package bind

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// enabledKinds lists what the library was asked to record, in order.
func (o *outcome) enabledKinds() (list []string) {
	for _, line := range strings.Split(o.log, "\n") {
		if f := strings.Fields(line); len(f) > 3 && f[2] == "msptiActivityEnable" {
			list = append(list, f[3])
		}
	}
	return list
}

// calls lists the calls of the library's functions, without numbers.
func (o *outcome) calls() (list []string) {
	for _, line := range strings.Split(o.log, "\n") {
		if f := strings.Fields(line); len(f) > 2 && strings.HasPrefix(f[2], "mspti") {
			list = append(list, strings.TrimPrefix(f[2], "mspti"))
		}
	}
	return list
}

func (o *outcome) noted(text string) bool {
	return slices.ContainsFunc(o.Notes, func(n string) bool { return strings.Contains(n, text) })
}

func wanted(t *testing.T, o outcome, want map[string]uint64) {
	t.Helper()
	for kind, n := range want {
		if o.Received[kind] != n {
			t.Errorf("%d %s, want %d", o.Received[kind], kind, n)
		}
	}
	if t.Failed() {
		t.Logf("%+v", o)
	}
}

// Without preloading: kernels, collectives, calls of three levels, and a word about
// copies.
func TestPlain(t *testing.T) {
	o := run(t, "exit", fakegpu.MSPTINow)
	wanted(t, o, map[string]uint64{"kernel": 5, "memcpy": 0, "memset": 0})
	if o.Error != "" || o.Linked != 5 || o.Report.Layout != "verified" || len(o.Inspected) > 0 || len(o.Report.Diagnoses) > 0 {
		t.Errorf("%+v", o)
	}
	if !reflect.DeepEqual(o.Requested, []string{"external_correlation", "runtime", "driver", "kernel", "marker"}) || !o.noted("only if it is preloaded") || len(o.Notes) != 1 {
		t.Errorf("requested %q, %q", o.Requested, o.Notes)
	}
	if o.Presence != tracer.Absent || o.Info.Tracer != Name || o.Info.How != "loader search" || !strings.HasPrefix(o.Info.Path, "/") {
		t.Errorf("presence %d, %+v", o.Presence, o.Info)
	}
	if o.Stacks != [3]uint32{2, 3, 5} || !o.PushPop {
		t.Errorf("stacks %v, push and pop %v", o.Stacks, o.PushPop)
	}
	if want := map[uint32]uint32{2: 56, 9: 72, 10: 48, 11: 48, 12: 48}; !reflect.DeepEqual(o.Strides, want) {
		t.Errorf("strides %v", o.Strides)
	}
	if len(o.Devices) != 1 || o.Devices[0].Name == "" || len(o.Devices[0].Attributes) != 0 {
		t.Errorf("devices %+v", o.Devices)
	}
	// A subscription comes first, and no callback with it.
	if !strings.HasPrefix(o.calls()[0], "Subscribe") || !strings.Contains(strings.SplitN(o.log, "\n", 2)[0], "msptiSubscribe 0 ") {
		t.Errorf("%s", o.log)
	}
	if kinds := o.enabledKinds(); !reflect.DeepEqual(kinds, []string{"8", "10", "11", "12", "9", "1", "2"}) {
		t.Errorf("enabled %q", kinds)
	}
}

// Where the library was really preloaded copies are recorded, with the calls' times.
func TestPreloaded(t *testing.T) {
	lib := fakegpu.Get(t).MSPTILibrary(fakegpu.MSPTINow)
	o := run(t, "exit", fakegpu.MSPTINow, "LD_PRELOAD="+lib)
	wanted(t, o, map[string]uint64{"kernel": 5, "memcpy": 2, "memset": 1})
	if o.Presence != tracer.InProcess || o.Info.How != "already loaded" || len(o.Notes) != 0 {
		t.Errorf("presence %d, %+v, %q", o.Presence, o.Info, o.Notes)
	}
}

// The variable alone does nothing: the library would agree to record copies, and bring
// none. Nor is it asked for where it would refuse.
func TestPreloadInNameOnly(t *testing.T) {
	dir := t.TempDir()
	lib := fakegpu.Get(t).MSPTILibrary(fakegpu.MSPTINow)
	o := run(t, "exit", fakegpu.MSPTINow, "LD_PRELOAD="+dir+"/libmspti.so")
	if kinds := o.enabledKinds(); slices.Contains(kinds, "7") || slices.Contains(o.Requested, "memcpy") || !o.noted("LD_PRELOAD names libmspti.so, but") {
		t.Errorf("enabled %q, %q", kinds, o.Notes)
	}
	// The other way round: it stands before the program's calls, and goes by the variable.
	other := filepath.Join(dir, "first.so")
	if err := os.Symlink(lib, other); err != nil {
		t.Fatal(err)
	}
	o = run(t, "exit", fakegpu.MSPTINow, "LD_PRELOAD="+other)
	if slices.Contains(o.Requested, "memcpy") || !o.noted("it goes by LD_PRELOAD") || o.Received["kernel"] != 5 {
		t.Errorf("%q, %q", o.Requested, o.Notes)
	}
}

// Libraries of other years.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		what    string
		m       fakegpu.MSPTI
		env     []string
		kinds   []string // enabled, or asked for in vain
		notes   []string
		kernels uint64
		drivers bool
	}{
		{"before levels", fakegpu.MSPTINow, []string{"FAKEMSPTI_MAX_KIND=9"}, []string{"8", "10", "3", "9", "1", "2"}, nil, 5, false},
		{"without one level", fakegpu.MSPTINow, []string{"FAKEMSPTI_FAIL=msptiActivityEnable(11)=1"}, []string{"8", "10", "11", "12", "9", "1", "2"}, []string{"of the level of nodes"}, 5, true},
		{"CANN 8.0", fakegpu.MSPTIOld, nil, []string{"10", "3", "9", "4", "1", "2"}, []string{"it has no external ids", "before 9.0", "collective operations are not recorded"}, 4, false},
	} {
		t.Run(c.what, func(t *testing.T) {
			o := run(t, "exit", c.m, c.env...)
			if kinds := o.enabledKinds(); !reflect.DeepEqual(kinds, c.kinds) {
				t.Errorf("asked for %q, want %q", kinds, c.kinds)
			}
			if o.Error != "" || o.Received["kernel"] != c.kernels || o.Received["runtime"] == 0 || (o.Received["driver"] > 0) != c.drivers {
				t.Errorf("%q %v", o.Error, o.Received)
			}
			for _, n := range c.notes {
				if !o.noted(n) {
					t.Errorf("%q lacks %q", o.Notes, n)
				}
			}
			if c.m == fakegpu.MSPTIOld && o.PushPop {
				t.Error("push and pop of a library that has none")
			}
		})
	}
}

// What is still on its way from the device when recording ends is waited for: by both
// ways of ending it.
func TestDrain(t *testing.T) {
	for _, role := range []string{"exit", "stop"} {
		o := run(t, role, fakegpu.MSPTINow, "FAKEMSPTI_DEVICE_DELAY_MS=60000", "FAKEACL_KERNEL_NS=20000000")
		if o.Error != "" || o.Received["kernel"] != 5 {
			t.Errorf("%s: %q %v", role, o.Error, o.Received)
		}
		calls := o.calls()
		if n := len(calls); n < 3 || !reflect.DeepEqual(calls[n-3:], []string{"ActivityFlushAll", "Unsubscribe", "ActivityFlushAll"}) {
			t.Errorf("%s: %q", role, calls)
		}
	}
}

func TestTwice(t *testing.T) {
	o := run(t, "twice", fakegpu.MSPTINow)
	if o.Error != "" || o.Received["kernel"] != 10 || strings.Count(o.log, "msptiSubscribe") != 2 || strings.Count(o.log, "msptiUnsubscribe") != 2 {
		t.Errorf("%+v\n%s", o, o.log)
	}
}

func TestRefused(t *testing.T) {
	o := run(t, "exit", fakegpu.MSPTINow, "FAKEMSPTI_SUBSCRIBED=1")
	if !o.Other || !strings.Contains(o.Error, "msptiSubscribe returned 2 (multiple subscribers") || len(o.calls()) != 1 {
		t.Errorf("%q\n%s", o.Error, o.log)
	}
	o = run(t, "exit", fakegpu.MSPTINow, "FAKEMSPTI_FAIL=msptiActivityEnable(2)=4")
	if !strings.Contains(o.Error, "the device is offline") || !strings.Contains(o.log, "msptiUnsubscribe") || !strings.Contains(o.log, "msptiActivityDisable 9") {
		t.Errorf("%q\n%s", o.Error, o.log)
	}
}

// What fails at the end is an error where records are missing by it, and else is not.
func TestEndsOutOfOrder(t *testing.T) {
	for _, c := range []struct {
		fail string
		lost bool
	}{
		{"msptiUnsubscribe=1", false}, {"msptiActivityDisable(8)=999", false}, {"msptiActivityDisable(2)=999", true}, {"msptiActivityFlushAll=999", true},
	} {
		o := run(t, "exit", fakegpu.MSPTINow, "FAKEMSPTI_FAIL="+c.fail)
		if (o.Error != "") != c.lost || !c.lost && (o.Received["kernel"] != 5 || !o.noted("all records were fetched: "+strings.SplitN(c.fail, "=", 2)[0])) {
			t.Errorf("%s: %q, %q, %v", c.fail, o.Error, o.Notes, o.Received)
		}
	}
}

// Copies that are refused where they could be recorded: LD_PRELOAD is spoken of only if it
// is the reason.
func TestCopiesRefused(t *testing.T) {
	lib := fakegpu.Get(t).MSPTILibrary(fakegpu.MSPTINow)
	for result, blamed := range map[string]bool{"6": true, "999": false} {
		o := run(t, "exit", fakegpu.MSPTINow, "LD_PRELOAD="+lib, "FAKEMSPTI_FAIL=msptiActivityEnable(7)="+result)
		if o.noted("it goes by LD_PRELOAD") != blamed || !o.noted("copies are not recorded") || slices.Contains(o.Requested, "memcpy") || o.Received["memset"] != 1 {
			t.Errorf("%s: %q, %q", result, o.Notes, o.Requested)
		}
	}
}

// The older kind of collectives is recorded by standing before the program's calls; the
// newer one is not.
func TestOlderCollectives(t *testing.T) {
	lib := fakegpu.Get(t).MSPTILibrary(fakegpu.MSPTINow)
	const refused, agrees = "FAKEMSPTI_FAIL=msptiActivityEnable(9)=1", "FAKEMSPTI_NEED_PRELOAD=0"
	if o := run(t, "exit", fakegpu.MSPTINow, refused, agrees); !o.noted("collective operations are not recorded: this libmspti can do that only if") || o.Received["kernel"] != 4 {
		t.Errorf("%q, %v", o.Notes, o.Received)
	}
	if o := run(t, "exit", fakegpu.MSPTINow, refused, "LD_PRELOAD="+lib); o.noted("collective") || o.Received["kernel"] != 5 {
		t.Errorf("%q, %v", o.Notes, o.Received)
	}
}

func TestOpen(t *testing.T) {
	o := run(t, "open", fakegpu.NoMSPTI)
	if o.Error == "" || o.Found || !strings.Contains(o.Error, "ASCEND_HOME_PATH") {
		t.Errorf("%+v", o)
	}
	lib := fakegpu.Get(t).MSPTILibrary(fakegpu.MSPTINow)
	root := t.TempDir()
	if err := os.MkdirAll(root+"/tools/mspti/lib64", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(lib, root+"/tools/mspti/lib64/libmspti.so"); err != nil {
		t.Fatal(err)
	}
	for want, env := range map[string]string{"FLAGOS_TRACER_LIBRARY": "FLAGOS_TRACER_LIBRARY=" + lib, "ASCEND_HOME_PATH": "ASCEND_HOME_PATH=" + root} {
		o := run(t, "open", fakegpu.NoMSPTI, env)
		if o.Info.How != want || o.Info.Path != lib || (o.Presence == tracer.InProcess) != (want == "FLAGOS_TRACER_LIBRARY") {
			t.Errorf("%s: %+v", want, o)
		}
	}
	libc := run(t, "open", fakegpu.NoMSPTI, "FLAGOS_TRACER_LIBRARY=libc.so.6")
	if !strings.Contains(libc.Error, ErrMissingSymbol.Error()) {
		t.Errorf("%q", libc.Error)
	}
}

func TestCandidates(t *testing.T) {
	there := map[string]bool{"/cann/lib64/libmspti.so": true, "/home/lib64/libmspti.so": true, "/cann/tools/mspti/lib64/libmspti.so": true}
	glob := func(p string) []string {
		if there[p] {
			return []string{p}
		}
		return nil
	}
	maps := dl.MapList{{Start: 1, End: 2, Path: "/cann/lib64/libascendcl.so"}}
	got := candidates(maps, func(v string) string { return map[string]string{"ASCEND_HOME_PATH": "/home"}[v] }, glob)
	want := "[{/cann/lib64/libmspti.so beside ACL} {/cann/tools/mspti/lib64/libmspti.so beside ACL} {/home/lib64/libmspti.so ASCEND_HOME_PATH} {libmspti.so loader search}]"
	if fmt.Sprint(got) != want {
		t.Errorf("%v\nwant %v", got, want)
	}
}

// Records with odd contents.
func TestRecords(t *testing.T) {
	for _, c := range []struct {
		what  string
		env   string
		check func(o outcome) bool
	}{
		{"names that are empty", "FAKEMSPTI_EMPTY_NAME_EVERY=2", func(o outcome) bool { return o.Received["kernel"] == 5 && o.Report.Repaired["unnamed"] == 2 }},
		{"names at wild addresses", "FAKEMSPTI_WILD_NAME_EVERY=2", func(o outcome) bool { return o.Received["kernel"] == 5 && o.Report.Repaired["unnamed"] == 2 }},
		{"no times", "FAKEMSPTI_UNTIMED_EVERY=2", func(o outcome) bool { return o.Received["kernel"] == 3 && o.Report.Dropped["untimed"] == 2 }},
		{"ends before it starts", "FAKEMSPTI_NEGATIVE_EVERY=2", func(o outcome) bool { return o.Received["kernel"] == 5 && o.Report.Repaired["clamped"] == 2 }},
		{"ids of earlier launches", "FAKEMSPTI_STALE_EVERY=2", func(o outcome) bool {
			return o.Received["kernel"] == 5 && strings.Contains(fmt.Sprint(o.Report.Diagnoses), "2 kernels have the id of the launch of another one")
		}},
		{"no ids", "FAKEMSPTI_NO_ID_EVERY=2", func(o outcome) bool { return o.Received["kernel"] == 5 && o.Linked == 3 }},
		{"ids of more than 32 bits", "FAKEMSPTI_CORRELATION_START=8589934592", func(o outcome) bool { return o.Linked == 5 }},
		{"a clock that is set", "FAKEMSPTI_RESYNC_EVERY=2", func(o outcome) bool {
			return o.Received["kernel"] == 5 && strings.Contains(fmt.Sprint(o.Report.Diagnoses), "begin before the one before them")
		}},
		{"a kind of unknown size", "FAKEMSPTI_UNKNOWN_EVERY=2", func(o outcome) bool {
			return o.Unknown != "" && o.Report.LostBytes > 0 && o.Received["runtime"] > 0 && strings.Contains(fmt.Sprint(o.Inspected), "its iterator gave up")
		}},
		{"shifted fields", "FAKEMSPTI_LAYOUT=aligned", func(o outcome) bool {
			return o.Received["runtime"] == 0 && o.Report.Layout == "mismatch" && len(o.Report.Diagnoses) == 1 && o.Report.Dropped["layout"] > 4 &&
				o.Received["kernel"] == 1 // the collective's, whose fields stand where they should
		}},
	} {
		o := run(t, "exit", fakegpu.MSPTINow, c.env)
		if o.Error != "" || !c.check(o) {
			t.Errorf("%s: %+v", c.what, o)
		}
	}
}
