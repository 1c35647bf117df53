package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// pairs are recordings of one run each, seen twice: CUPTI's buffers, and the
// trace that torch.profiler made of the same buffers.
var pairs = []string{"basic", "train", "comp", "graph", "streams", "ddp.rank0", "ddp.rank1"}

const pairsAPI = 130001

func pairFile(name, ending string) string {
	return filepath.Join("..", "testdata", "pairs", name+ending)
}

// jsonEvent is an event of a trace with its numbers as they are spelled.
type jsonEvent struct {
	Ph, Cat, Name string
	PID, TID, ID  any
	TS, Dur       json.Number
	Args          map[string]any
}

type jsonTrace struct {
	Base        json.Number `json:"baseTimeNanoseconds"`
	TraceEvents []jsonEvent `json:"traceEvents"`
	Flagos      *timeline.Completeness
	Raw         map[string]json.RawMessage
}

func parseTrace(t testing.TB, text []byte) *jsonTrace {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var tr jsonTrace
	if err := d.Decode(&tr); err != nil {
		t.Fatalf("not strict JSON: %v", err)
	}
	if err := json.Unmarshal(text, &tr.Raw); err != nil {
		t.Fatal(err)
	}
	return &tr
}

func readGzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// nsOf turns decimal microseconds into integer nanoseconds, exactly.
func nsOf(t testing.TB, us json.Number) int64 {
	t.Helper()
	whole, frac, _ := strings.Cut(string(us), ".")
	frac = (frac + "000")[:3]
	n, err := strconv.ParseInt(whole+frac, 10, 64)
	if err != nil {
		t.Fatalf("time %q: %v", us, err)
	}
	return n
}

// deviceCategories are those a dump of buffers must reproduce.
var deviceCategories = []string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"}

type eventKey struct{ cat, correlation string }

// byCorrelation groups the events a dump must reproduce, each group in the order
// of time.
func (tr *jsonTrace) byCorrelation(t testing.TB) map[eventKey][]jsonEvent {
	m := map[eventKey][]jsonEvent{}
	for _, e := range tr.TraceEvents {
		if e.Ph == "X" && slices.Contains(deviceCategories, e.Cat) {
			k := eventKey{e.Cat, fmt.Sprint(e.Args["correlation"])}
			m[k] = append(m[k], e)
		}
	}
	for _, list := range m {
		sort.SliceStable(list, func(i, j int) bool { return nsOf(t, list[i].TS) < nsOf(t, list[j].TS) })
	}
	return m
}

func nsBase(t testing.TB, tr *jsonTrace) int64 {
	t.Helper()
	base, err := tr.Base.Int64()
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// importPair imports a pair's dump and returns the trace as it would be written.
func importPair(t testing.TB, name string, o ImportOptions, compat chrome.Compat) *jsonTrace {
	t.Helper()
	return parseTrace(t, importText(t, name, o, compat))
}

func importText(t testing.TB, name string, o ImportOptions, compat chrome.Compat) []byte {
	t.Helper()
	o.APIVersion, o.Host = pairsAPI, pairFile(name, ".kineto.json.gz")
	o.Buffers, o.Names = pairFile(name, ".cupti.gz"), pairFile(name, ".names.tsv.gz")
	tr, err := ImportCUPTI(o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := chrome.Write(&out, tr, chrome.Options{Compat: compat, TraceName: name}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestPairs holds imports of the recordings against torch.profiler's own traces
// of the same buffers: every device and API event, field by field.
func TestPairs(t *testing.T) {
	for _, name := range pairs {
		t.Run(name, func(t *testing.T) {
			ref := parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz")))
			clock := referenceClock(t, name, ref)
			got := importPair(t, name, ImportOptions{clock: clock, KinetoRows: true}, chrome.CompatKineto)
			compareEvents(t, ref, got)
			compareFlows(t, ref, got)
		})
	}
}

func compareEvents(t *testing.T, ref, got *jsonTrace) {
	want, have := ref.byCorrelation(t), got.byCorrelation(t)
	compared := map[string]int{}
	for k, list := range want {
		if len(have[k]) != len(list) {
			t.Errorf("%v: %d events, want %d", k, len(have[k]), len(list))
			continue
		}
		for i := range list {
			compareEvent(t, k, list[i], have[k][i])
			compared[k.cat]++
		}
	}
	for k := range have {
		if want[k] == nil {
			t.Errorf("%v: not in the reference: %q", k, have[k][0].Name)
		}
	}
	if compared["kernel"] == 0 || compared["cuda_runtime"] == 0 {
		t.Errorf("compared %v only", compared)
	}
}

// kinetoNoName is what torch 2.11 prints for callback ids its table lacks. We
// name them.
const kinetoNoName = "INVALID"

func compareEvent(t *testing.T, k eventKey, want, got jsonEvent) {
	t.Helper()
	if want.Name == kinetoNoName {
		var cbid uint32
		fmt.Sscan(fmt.Sprint(want.Args["cbid"]), &cbid)
		want.Name, _ = cupti.CallbackName(cupti.DomainRuntime, cbid)
	}
	if got.Name != want.Name || got.PID != want.PID || got.TID != want.TID {
		t.Errorf("%v: %q on (%v, %v), want %q on (%v, %v)", k, got.Name, got.PID, got.TID, want.Name, want.PID, want.TID)
	}
	if d := nsOf(t, got.Dur) - nsOf(t, want.Dur); d < -1 || d > 1 {
		t.Errorf("%v: lasts %s us, want %s", k, got.Dur, want.Dur)
	}
	const bandwidth = "memory bandwidth (GB/s)"
	if b, ok := got.Args[bandwidth]; ok || want.Args[bandwidth] != nil {
		var bytes float64
		fmt.Sscan(fmt.Sprint(got.Args["bytes"]), &bytes)
		if want := fmt.Sprint(bytes / float64(nsOf(t, got.Dur))); fmt.Sprint(b) != want {
			t.Errorf("%v: bandwidth %v, want %s", k, b, want)
		}
	}
	for key := range want.Args {
		if key != bandwidth && fmt.Sprint(got.Args[key]) != fmt.Sprint(want.Args[key]) {
			t.Errorf("%v: %s is %v, want %v", k, key, got.Args[key], want.Args[key])
		}
	}
	for key := range got.Args {
		if _, ok := want.Args[key]; !ok {
			t.Errorf("%v: %s is not in the reference", k, key)
		}
	}
}

// compareFlows checks that every arrow of Kineto's with both ends is there, and
// none of ours has only one.
func compareFlows(t *testing.T, ref, got *jsonTrace) {
	type arrow struct{ cat, id string }
	type ends struct{ starts, finishes int }
	collect := func(tr *jsonTrace) map[arrow]ends {
		m := map[arrow]ends{}
		for _, e := range tr.TraceEvents {
			k := arrow{e.Cat, fmt.Sprint(e.ID)}
			n := m[k]
			switch e.Ph {
			case "s":
				n.starts++
			case "f":
				n.finishes++
			default:
				continue
			}
			m[k] = n
		}
		return m
	}
	have := collect(got)
	paired := 0
	for k, n := range collect(ref) {
		if n.starts == 0 || n.finishes == 0 {
			continue
		}
		paired++
		if h := have[k]; h.starts != 1 || h.finishes < n.finishes {
			t.Errorf("arrow %v: %+v, want %+v", k, h, n)
		}
	}
	for k, n := range have {
		if n.starts != 1 || n.finishes == 0 {
			t.Errorf("arrow %v of ours has %d starts and %d ends", k, n.starts, n.finishes)
		}
	}
	if paired == 0 {
		t.Error("no arrow of the reference has both ends: nothing was compared")
	}
}
