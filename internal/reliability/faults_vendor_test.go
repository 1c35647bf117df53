package reliability

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// vendorFaults are what the vendor's library may do.
func vendorFaults() []fault {
	const group = "The vendor's library"
	orderly := func(v timeline.Verdict, kept func(int, int) bool, says ...string) ending {
		return ending{status: 3, verdict: v, ended: timeline.EndExit, kept: kept, says: says}
	}
	unusable := func(says ...string) ending {
		return ending{status: 3, verdict: timeline.Incomplete, ended: timeline.EndUnavailable, kept: none,
			says: append([]string{"everything: the vendor's library could not be used"}, says...)}
	}
	// env runs the usual workload with variables, arguments behind them.
	env := func(vars string, e ending, more ...string) func(*attempt) {
		return simple(func(j *job) { j.env = strings.Fields(vars) }, append([]string{"--exit-code", "3"}, more...), e)
	}
	with := func(cupti fakegpu.CUPTI, e ending) func(*attempt) {
		return simple(func(j *job) { j.cupti = cupti }, []string{"--exit-code", "3"}, e)
	}
	list := []fault{
		{group, "every flush blocks for ever", 0, 10, env("FAKECUPTI_FLUSH_BLOCK=forever FLAGOS_TRACE_EXIT_TIMEOUT_MS=400", orderly(timeline.Incomplete, some, "did not come back within 400ms"))},
		{group, "the last flush blocks for ever", 0, 10, env("FAKECUPTI_FLUSH_BLOCK=forced:forever FLAGOS_TRACE_EXIT_TIMEOUT_MS=400",
			orderly(timeline.Incomplete, most, "did not come back within 400ms"), "--sleep", "0.3")},
		{group, "every flush takes 100 ms", 0, 10, env("FAKECUPTI_FLUSH_BLOCK=100", orderly(timeline.Complete, all))},
		{group, "a flush hangs once the driver has begun to end", 0, 0, env("FAKECUPTI_AFTER_EXIT=hang", orderly(timeline.Complete, all))},
		{group, "the driver's exit handler runs before the agent's, and a flush then hangs", 0, 0, driverExitsFirst},
		{group, "records have the layout of another version", 0, 0, layoutFault},
		{group, "its records have a size that no version has", 0, 0, env("FAKECUPTI_SIZES=10=232", orderly(timeline.Incomplete, none, "232"))},
		{group, "a version that is too old", 0, 0, env("FAKECUPTI_VERSION=16", orderly(timeline.Incomplete, none, "API version 16"))},
		{group, "a version newer than any known, with larger records", 0, 0, env("FAKECUPTI_VERSION=130500", orderly(timeline.Complete, all))},
		{group, "it drops every 11th record, and counts them", 0, 0, env("FAKECUPTI_DROP_EVERY=11", orderly(timeline.Incomplete, some, "dropped by the vendor's library"))},
		{group, "it completes buffers only when it is forced to", 0, 0, env("FAKECUPTI_LATE=1", orderly(timeline.Complete, all))},
		{group, "another tool has the subscription", 0, 0, env("FAKECUPTI_SUBSCRIBED=1", orderly(timeline.Complete, all))},
		{group, "it does not know the device", 0, 0, env("FAKECUPTI_SUPPORTED=0", ending{status: 3, verdict: timeline.Incomplete, ended: timeline.EndExit, kept: none,
			missing: []string{"device_unsupported"}, says: []string{"does not support"}})},
		{group, "it calls with its own lock held", 0, 0, env("FAKECUPTI_LOCKED_CALLBACKS=1", orderly(timeline.Complete, all))},
		{group, "records of unknown kinds among the others", 0, 0, env("FAKECUPTI_UNKNOWN_EVERY=7", orderly(timeline.Complete, all))},
		{group, "the name of every 10th kernel points to nowhere", 0, 0, env("FAKECUPTI_WILD_NAME_EVERY=10", orderly(timeline.Incomplete, some, "kernels whose name could not be read"))},
		{group, "every 10th kernel has no times", 0, 0, env("FAKECUPTI_ZERO_TIMES_EVERY=10", orderly(timeline.Incomplete, some, "without a start time"))},
		{group, "it is not there", 0, 0, simple(func(j *job) { j.bare = true }, []string{"--exit-code", "3"}, unusable("libcupti not found"))},
		{group, "it lacks `cuptiActivityRegisterCallbacks`", 0, 0, with(fakegpu.CUPTI13Unusable, unusable("cuptiActivityRegisterCallbacks"))},
		{group, "it has only the ten functions that are needed", 0, 0, with(fakegpu.CUPTI13Minimal, orderly(timeline.Complete, all))},
	}
	for _, f := range refusals {
		e := f.end
		e.status, e.says, e.missing = 3, f.says, f.missing
		if e.kept == nil {
			e.kept = all
		}
		list = append(list, fault{"A function of CUPTI fails with 999", "`" + f.function + "`", 0, 3, env("FAKECUPTI_FAIL="+f.function+"=999", e)})
	}
	return list
}

var (
	wholly  = ending{verdict: timeline.Complete, ended: timeline.EndExit}
	without = ending{verdict: timeline.Incomplete, ended: timeline.EndExit}
	nothing = ending{verdict: timeline.Incomplete, ended: timeline.EndUnavailable, kept: none}
)

// refusals are the functions that the agent calls, and what comes of it when they
// fail.
var refusals = []struct {
	function string
	end      ending
	missing  []string
	says     []string
}{
	{"cuptiGetVersion", nothing, nil, []string{"cuptiGetVersion returned 999"}},
	{"cuptiActivityRegisterCallbacks", nothing, nil, []string{"cuptiActivityRegisterCallbacks returned 999"}},
	{"cuptiSetThreadIdType", wholly, nil, []string{"cuptiSetThreadIdType returned 999"}},
	{"cuptiActivitySetAttribute", wholly, nil, []string{"cuptiActivitySetAttribute returned 999"}},
	{"cuptiActivityEnable(1)", without, []string{"memcpy_refused"}, []string{"copies are not recorded: cuptiActivityEnable(1) returned 999"}},
	{"cuptiActivityEnable(2)", without, []string{"memset_refused"}, []string{"fills are not recorded: cuptiActivityEnable(2) returned 999"}},
	{"cuptiActivityEnable(5)", without, []string{"runtime_refused"}, []string{"calls of the runtime API are not recorded: cuptiActivityEnable(5) returned 999"}},
	{"cuptiActivityEnable(9)", wholly, nil, []string{"cuptiActivityEnable(9) returned 999"}},
	{"cuptiActivityEnable(10)", nothing, nil, []string{"cuptiActivityEnable(10) returned 999"}},
	{"cuptiActivityEnable(17)", without, []string{"overhead_refused"}, []string{"cuptiActivityEnable(17) returned 999"}},
	{"cuptiActivityEnable(22)", wholly, nil, []string{"copies between devices may not be recorded: cuptiActivityEnable(22) returned 999"}},
	{"cuptiActivityEnable(36)", wholly, nil, []string{"cuptiActivityEnable(36) returned 999"}},
	{"cuptiActivityEnable(38)", without, []string{"sync_refused"}, []string{"waits are not recorded: cuptiActivityEnable(38) returned 999"}},
	{"cuptiActivityEnable(39)", wholly, nil, []string{"cuptiActivityEnable(39) returned 999"}},
	{"cuptiActivityEnable", nothing, nil, []string{"cuptiActivityEnable(10) returned 999", "cuptiActivityEnable(1) returned 999"}},
	{"cuptiActivityEnableRuntimeApi", wholly, nil, []string{"left out by the level of API recording"}},
	{"cuptiActivityEnableDriverApi", wholly, nil, []string{"left out by the level of API recording"}},
	{"cuptiActivityFlushAll", ending{verdict: timeline.Incomplete, ended: timeline.EndExit, kept: some}, nil, []string{"cuptiActivityFlushAll returned 999"}},
	{"cuptiActivityGetNextRecord", ending{verdict: timeline.Incomplete, ended: timeline.EndExit, kept: none}, nil, []string{"iterator ended with result 999"}},
	{"cuptiActivityGetNumDroppedRecords", wholly, nil, []string{"does not say how many records it dropped"}},
	{"cuptiComputeCapabilitySupported", wholly, nil, nil},
	{"cuptiDeviceSupported", wholly, nil, nil},
	{"cuptiGetCallbackName", wholly, nil, nil},
	{"cuptiGetTimestamp", wholly, nil, []string{"the tracer's clock was never read"}},
}

// called matches a line of the look-alike's log that is a call of a client.
var called = regexp.MustCompile(`(?m)^\S+ \S+ (cupti\w+)(\(\d+\))?`)

// TestEveryCallIsRefused: the table above has every function that the agent is
// seen to call, and every kind that it enables.
func TestEveryCallIsRefused(t *testing.T) {
	log := filepath.Join(t.TempDir(), "calls")
	job{env: []string{"FAKECUPTI_LOG=" + log}, args: []string{"--sleep", "1.2"}}.record(t)
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, f := range refusals {
		known = append(known, f.function)
	}
	n := 0
	for _, m := range called.FindAllStringSubmatch(string(text), -1) {
		name := m[1]
		if name == "cuptiActivityEnable" {
			name += m[2]
		}
		n++
		if !slices.Contains(known, name) {
			t.Errorf("the agent calls %s, and no fault has it fail", name)
		}
	}
	if n < 10 {
		t.Errorf("the log shows %d calls:\n%s", n, text)
	}
}

func layoutFault(a *attempt) {
	j := a.printing("--exit-code", "3")
	j.env = []string{"FAKECUPTI_LAYOUT=26"}
	_, tr := a.run(j, ending{status: 3, verdict: timeline.Incomplete, ended: timeline.EndExit, kept: none,
		says: []string{"records that are not laid out as those of the library's version", "130001"}})
	// What is of the same size in both versions is kept.
	if c := tr.record; c.Layout != "mismatch" || c.Dropped[tracer.DropLayout] == 0 || tr.spans["gpu_memcpy"] != a.countsOf(j).Memcpys {
		a.Errorf("%+v, %v", c, tr.spans)
	}
	a.remark = "no kernel; copies and API calls, whose layout is the same"
}

// driverExitsFirst: what was fetched before stays, and the end does not wait for
// ever.
func driverExitsFirst(a *attempt) {
	j := a.printing("--exit-code", "3", "--sleep", "0.3")
	j.env = []string{"FAKEGPU_ATEXIT_AFTER_INJECTION=1", "FAKECUPTI_AFTER_EXIT=hang", "FLAGOS_TRACE_EXIT_TIMEOUT_MS=400"}
	o := j.record(a)
	tr := o.only()
	a.consistent(o, tr, a.untouched(j, o))
	a.launched, a.kept, a.told = a.countsOf(j).kernels(), len(tr.kernels), toldIn(o.stderr)
	if o.status != 3 || !all(a.kept, a.launched) || tr.record.Verdict == timeline.Unknown {
		a.Errorf("status %d, %d kernels of %d; said:\n%s", o.status, a.kept, a.launched, o.stderr)
	}
}
