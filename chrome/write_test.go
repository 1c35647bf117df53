package chrome

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func renderSample(t *testing.T, o Options) []byte {
	t.Helper()
	return renderTrace(t, sampleTrace(), o)
}

func renderTrace(t *testing.T, tr *timeline.Trace, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tr, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

var modes = map[string]Compat{"default": CompatNone, "kineto": CompatKineto}

func TestGolden(t *testing.T) {
	for name, compat := range modes {
		t.Run(name, func(t *testing.T) {
			got := renderSample(t, Options{Compat: compat, TraceName: `C:\out\a.json`})
			path := filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(path, got, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("differs from %s (rewrite with -update); got:\n%s", path, got)
			}
		})
	}
}

// parsed is an event of a document as encoding/json sees it.
type parsed struct {
	Ph, Cat, Name, Bp, S string
	Pid, Tid             any
	Ts, Dur              json.Number
	ID                   json.Number
	Args                 map[string]any
}

func parse(t *testing.T, doc []byte) (events []parsed, members map[string]json.RawMessage) {
	t.Helper()
	if !utf8.Valid(doc) {
		t.Error("not UTF-8")
	}
	if err := json.Unmarshal(doc, &members); err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(members["traceEvents"]))
	d.UseNumber()
	if err := d.Decode(&events); err != nil {
		t.Fatal(err)
	}
	return events, members
}

func nanoseconds(t *testing.T, n json.Number) int64 {
	t.Helper()
	ns, err := Value(n).Nanoseconds()
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

// TestProperties checks what every document must keep, in both modes, on the
// awkward sample and on a large trace.
func TestProperties(t *testing.T) {
	for name, compat := range modes {
		for size, tr := range map[string]*timeline.Trace{"sample": sampleTrace(), "large": largeTrace(3000)} {
			t.Run(name+"/"+size, func(t *testing.T) {
				doc := renderTrace(t, tr, Options{Compat: compat})
				events, members := parse(t, doc)
				checkTimes(t, doc, events)
				checkFlows(t, events)
				checkMetadata(t, events)
				base, err := strconv.ParseInt(string(members["baseTimeNanoseconds"]), 10, 64)
				if err != nil || base != 1790857026*second {
					t.Errorf("base %d, %v", base, err)
				}
			})
		}
	}
}

var decimals3 = regexp.MustCompile(`^[0-9]+\.[0-9]{3}$`)

func checkTimes(t *testing.T, doc []byte, events []parsed) {
	for _, m := range regexp.MustCompile(`"(?:ts|dur)": ([^,}]*)`).FindAllSubmatch(doc, -1) {
		if !decimals3.Match(m[1]) {
			t.Errorf("time %s has not three decimals", m[1])
		}
	}
	last := events[len(events)-1]
	if last.Name != "Record Window End" || last.Ph != "i" || last.S != "g" {
		t.Fatalf("the last event is %+v", last)
	}
	var span *parsed
	for i := range events {
		if events[i].Cat == "Trace" {
			span = &events[i]
		}
	}
	if span == nil || span.Pid != "Spans" || span.Tid != "PyTorch Profiler" {
		t.Fatalf("trace span %+v", span)
	}
	from, to := nanoseconds(t, span.Ts), nanoseconds(t, last.Ts)
	if end := from + nanoseconds(t, span.Dur); end != to {
		t.Errorf("the span ends at %d, the window at %d", end, to)
	}
	for _, e := range events {
		start := nanoseconds(t, e.Ts)
		end := start
		if e.Dur != "" {
			end += nanoseconds(t, e.Dur)
		}
		if start < from || end > to {
			t.Errorf("%s %q from %d to %d lies outside %d to %d", e.Ph, e.Name, start, end, from, to)
		}
	}
}

func checkFlows(t *testing.T, events []parsed) {
	type key struct{ cat, id string }
	ends := map[key]int{}
	starts := map[key]bool{}
	for i, e := range events {
		k := key{e.Cat, e.ID.String()}
		switch e.Ph {
		case "s":
			if starts[k] {
				t.Errorf("two arrows start with %v", k)
			}
			starts[k] = true
			if e.Bp != "" {
				t.Errorf("bp on the start of %v", k)
			}
		case "f":
			ends[k]++
			if e.Bp != "e" {
				t.Errorf("end of %v without bp", k)
			}
		default:
			continue
		}
		if e.Cat != e.Name {
			t.Errorf("flow %v is named %q", k, e.Name)
		}
		if before := events[i-1]; e.Cat == "ac2g" && (before.Ph != "X" || before.Ts != e.Ts || before.Pid != e.Pid || before.Tid != e.Tid) {
			t.Errorf("flow %v does not follow its event", k)
		}
	}
	if len(starts) == 0 {
		t.Error("no arrows")
	}
	for k := range starts {
		if ends[k] == 0 {
			t.Errorf("arrow %v has no end", k)
		}
		delete(ends, k)
	}
	for k := range ends {
		t.Errorf("arrow %v has no start", k)
	}
}

func checkMetadata(t *testing.T, events []parsed) {
	type key struct {
		name     string
		pid, tid any
	}
	named := map[key]bool{}
	for _, e := range events {
		if e.Ph == "M" {
			k := key{e.Name, e.Pid, e.Tid}
			if named[k] {
				t.Errorf("%v twice", k)
			}
			named[k] = true
		}
	}
	for _, e := range events {
		if e.Ph != "X" || e.Cat == "Trace" {
			continue
		}
		if !named[key{"thread_name", e.Pid, e.Tid}] || !named[key{"thread_sort_index", e.Pid, e.Tid}] {
			t.Errorf("row %v %v of %q is not named or not sorted", e.Pid, e.Tid, e.Name)
		}
		if !named[key{"process_sort_index", e.Pid, json.Number("0")}] {
			t.Errorf("process %v of %q is not sorted", e.Pid, e.Name)
		}
	}
}

// TestForHTA holds the document against what HolisticTraceAnalysis reads.
func TestForHTA(t *testing.T) {
	doc := renderSample(t, Options{})
	if m := regexp.MustCompile(`"rank":\s+(\d+)`).FindSubmatch(doc); m == nil || string(m[1]) != "3" {
		t.Errorf("rank not found: %q", m)
	}
	events, _ := parse(t, doc)
	for _, e := range events {
		var want []string
		switch e.Cat {
		case "kernel":
			want = []string{"stream", "warps per SM", "blocks per SM"}
		case "gpu_memcpy":
			want = []string{"stream", "bytes"}
			if !strings.HasPrefix(e.Name, "Memcpy ") {
				t.Errorf("copy named %q", e.Name)
			}
		case "cuda_runtime", "cuda_driver":
			want = []string{"correlation"}
		}
		for _, k := range want {
			if _, ok := e.Args[k].(json.Number); !ok {
				t.Errorf("%s %q: %s is %v", e.Cat, e.Name, k, e.Args[k])
			}
		}
	}
}

// TestKinetoArguments: in compatibility mode nothing that torch 2.11 does not
// have, in its order.
func TestKinetoArguments(t *testing.T) {
	doc := renderSample(t, Options{Compat: CompatKineto})
	const keys = `"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 1099511627776, "registers per thread": 96, "shared memory": 103808, "blocks per SM": 0.181818, "warps per SM": 3.090909, "grid": [24, 1, 1], "block": [544, 1, 1], "est. achieved occupancy %": 0, "Collective name"`
	if !bytes.Contains(doc, []byte(keys)) {
		t.Errorf("kernel arguments are not %s", keys)
	}
	for _, newer := range []string{"graph id", "channel", "priority", `"occupancy"`, "return value", "reservedSharedMem"} {
		if bytes.Contains(doc, []byte(newer)) {
			t.Errorf("%s in compatibility mode", newer)
		}
	}
	if !bytes.Contains(doc, []byte(`"name": "Kernel"`)) {
		t.Error(`"kernel" is not renamed`)
	}
}

func TestWorkersAndGzipChangeNothing(t *testing.T) {
	tr := largeTrace(5000)
	want := renderTrace(t, tr, Options{Workers: 1})
	for workers := 1; workers <= 5; workers++ {
		if got := renderTrace(t, tr, Options{Workers: workers}); !bytes.Equal(got, want) {
			t.Errorf("%d workers write something else", workers)
		}
		if got := gunzip(t, renderTrace(t, tr, Options{Workers: workers, Gzip: true})); !bytes.Equal(got, want) {
			t.Errorf("%d workers compress something else", workers)
		}
	}
}

// TestNoAllocations renders events again once the buffer has grown.
func TestNoAllocations(t *testing.T) {
	p := newPlan(sampleTrace(), Options{})
	r := renderer{plan: p}
	var buf []byte
	if n := testing.AllocsPerRun(10, func() {
		buf = buf[:0]
		for _, s := range p.segments {
			if s.what == eventSegment || s.what == flowSegment {
				buf = r.segment(buf, s)
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestRoundTrip(t *testing.T) {
	doc := renderSample(t, Options{})
	want, members := parse(t, doc)
	var got collector
	if err := Scan(bytes.NewReader(doc), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.events) != len(want) || len(got.members) != len(members)-1 {
		t.Fatalf("%d events and %d members, want %d and %d", len(got.events), len(got.members), len(want), len(members)-1)
	}
	for i, raw := range got.events {
		var e parsed
		d := json.NewDecoder(strings.NewReader(raw))
		d.UseNumber()
		if err := d.Decode(&e); err != nil || e.Name != want[i].Name || e.Ts != want[i].Ts {
			t.Errorf("event %d: %+v, %v; want %+v", i, e, err, want[i])
		}
	}
}

func TestEmptyTrace(t *testing.T) {
	events, _ := parse(t, renderTrace(t, &timeline.Trace{}, Options{}))
	if len(events) != 4 {
		t.Errorf("%d events, want the four that delimit the window", len(events))
	}
}

func TestProcessNumberedLikeADevice(t *testing.T) {
	tr := sampleTrace()
	tr.Process.PID = 1
	events, _ := parse(t, renderTrace(t, tr, Options{}))
	var labels []any
	for _, e := range events {
		if e.Name == "process_labels" && e.Pid == json.Number("1") {
			labels = append(labels, e.Args["labels"])
		}
	}
	if len(labels) != 1 || labels[0] != "CPU, GPU 1" {
		t.Errorf("labels %q", labels)
	}
}

func TestUnknownDevice(t *testing.T) {
	tr := sampleTrace()
	tr.Devices = nil
	if doc := renderTrace(t, tr, Options{}); bytes.Contains(doc, []byte("occupancy")) || bytes.Contains(doc, []byte("per SM")) {
		t.Error("figures without the properties they come from")
	}
	doc := renderTrace(t, tr, Options{Compat: CompatKineto})
	if !bytes.Contains(doc, []byte(`"blocks per SM": "inf", "warps per SM": "inf"`)) || !bytes.Contains(doc, []byte(`"est. achieved occupancy %": -99`)) {
		t.Error("not the figures Kineto has for an unknown device")
	}
}

func TestManyLaunches(t *testing.T) {
	tr := &timeline.Trace{Devices: []timeline.Device{h200(0)}}
	row := tr.Row(timeline.Row{PID: 0, TID: 7, Kind: timeline.RowStream, Stream: 7})
	place := tr.Place(timeline.Place{Has: event.HasDevice | event.HasStream})
	n := maxLaunchTexts + 10
	for i := range n {
		l := tr.Launch(event.Launch{Grid: [3]int32{int32(i + 1), 1, 1}, Block: [3]int32{32, 1, 1}})
		tr.Events.Add(timeline.Event{Kind: timeline.Kernel, Row: row, Place: place, Start: epoch, End: epoch, Detail: tr.Kernels.Add(timeline.KernelDetail{Launch: l})})
	}
	events, _ := parse(t, renderTrace(t, tr, Options{}))
	i := 0
	for _, e := range events {
		if e.Cat == "kernel" {
			i++
			if g := e.Args["grid"].([]any)[0]; g != json.Number(strconv.Itoa(i)) {
				t.Fatalf("kernel %d has grid %v", i, g)
			}
		}
	}
	if i != n {
		t.Errorf("%d kernels, want %d", i, n)
	}
}

func TestStats(t *testing.T) {
	tr := sampleTrace()
	var b bytes.Buffer
	s, err := write(&b, tr, Options{Gzip: true})
	if err != nil {
		t.Fatal(err)
	}
	doc := gunzip(t, b.Bytes())
	events, _ := parse(t, doc)
	flows := 0
	for _, e := range events {
		if e.Ph == "s" || e.Ph == "f" {
			flows++
		}
	}
	if s.Events != uint64(len(events)) || s.Flows != uint64(flows) || s.Bytes != int64(len(doc)) || s.FileBytes != int64(b.Len()) {
		t.Errorf("%+v; written %d events, %d flows, %d bytes, %d compressed", s, len(events), flows, len(doc), b.Len())
	}
	// A name, two lists of arguments, two values of the metadata.
	if s.InvalidText != 5 {
		t.Errorf("%d mended texts, want 5", s.InvalidText)
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.json", "a.json.gz"} {
		path := filepath.Join(dir, name)
		for range 2 { // the second replaces the first
			s, err := WriteFile(path, sampleTrace(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil || int64(len(b)) != s.FileBytes {
				t.Fatalf("%d bytes, %v; want %d", len(b), err, s.FileBytes)
			}
			if name == "a.json.gz" {
				b = gunzip(t, b)
			}
			_, members := parse(t, b)
			if string(members["traceName"]) != `"`+path+`"` {
				t.Errorf("traceName %s", members["traceName"])
			}
		}
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 {
		t.Errorf("%d files in the folder, want 2", len(left))
	}
}

func TestWriteFileErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none", "a.json")
	if _, err := WriteFile(path, sampleTrace(), Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if _, err := WriteFile(dir, sampleTrace(), Options{}); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		_, err := WriteFile("/dev/full", sampleTrace(), Options{})
		if err == nil || !strings.Contains(err.Error(), "free space") || !strings.Contains(err.Error(), "/dev/full") {
			t.Errorf("full disk: error %v", err)
		}
	}
}

type failAfter struct{ n int }

var errBroken = errors.New("broken pipe")

func (f *failAfter) Write(b []byte) (int, error) {
	if f.n -= len(b); f.n < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

func TestWriteErrorsEndTheWork(t *testing.T) {
	tr := largeTrace(5000)
	for _, o := range []Options{{Workers: 1}, {Workers: 3}, {Workers: 3, Gzip: true}} {
		for _, n := range []int{0, 5, 100_000} {
			if err := Write(&failAfter{n}, tr, o); !errors.Is(err, errBroken) {
				t.Errorf("%+v after %d bytes: error %v", o, n, err)
			}
		}
	}
}

// FuzzWrite: whatever stands in names and raw arguments, the document is strict
// JSON with one event a line.
func FuzzWrite(f *testing.F) {
	f.Add("name", `"a": 1`, `{"rank": 0}`)
	f.Add("q\"\\\x00\xff", `"a": [1, "\u12"], "b": NaN`, `nope`)
	f.Add("", `{`, ``)
	f.Add("x", "\"a\":\n\t{\"b\": \"\x80\\\"\"}", "01")
	f.Fuzz(func(t *testing.T, name, args, meta string) {
		tr := &timeline.Trace{Metadata: []timeline.Property{{Key: name, Raw: []byte(meta)}}}
		row := tr.Row(timeline.Row{PID: 1, TID: 1, Kind: timeline.RowThread, Name: name})
		tr.Events.Add(timeline.Event{Kind: timeline.Host, Name: tr.Strings.ID(name), Category: tr.Strings.ID("cpu_op"), Row: row,
			Start: epoch, End: epoch, Detail: tr.Args.Add([]byte(args))})
		doc := renderTrace(t, tr, Options{Workers: 1})
		if !json.Valid(doc) || !utf8.Valid(doc) {
			t.Fatalf("not strict JSON:\n%s", doc)
		}
		lines := bytes.Split(doc, []byte("\n"))
		if !json.Valid(bytes.TrimSuffix(lines[7], []byte(","))) {
			t.Errorf("no event on a line of its own:\n%s", doc)
		}
	})
}
