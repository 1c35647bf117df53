package perfetto

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func write(t testing.TB, tr *timeline.Trace, o Options) ([]byte, Stats) {
	t.Helper()
	var out bytes.Buffer
	s, err := Write(&out, tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), s
}

func parse(t testing.TB, text string) *timeline.Trace {
	t.Helper()
	d, err := chrome.Read(strings.NewReader(text), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Trace
}

// key is what a span is told by.
func key(name, category string, start, end int64, instant bool) string {
	return fmt.Sprint(name, "|", category, "|", start, "|", end, "|", instant)
}

// check holds a written trace against its timeline: every span is there once, with its
// name, category and times; a track is of one row.
func check(t testing.TB, name string, tr *timeline.Trace) *viewed {
	t.Helper()
	data, stats := write(t, tr, Options{})
	v := view(t, data)
	zero := int64(0)
	for i := range uint32(tr.Events.Len()) {
		zero = min(zero, tr.Events.At(i).Start)
	}
	rows := map[string][]uint32{} // of the timeline, by key
	spans, instants := 0, 0
	for i := range uint32(tr.Events.Len()) {
		e := tr.Events.At(i)
		if tr.Source.Events.At(i).Phase != 0 {
			continue
		}
		instant := e.Flags&timeline.Instant != 0
		end := e.End
		if instant {
			end = e.Start
			instants++
		} else {
			spans++
		}
		k := key(strings.ToValidUTF8(tr.Strings.At(e.Name), "\uFFFD"), strings.ToValidUTF8(tr.Strings.At(e.Category), "\uFFFD"), e.Start-zero, end-zero, instant)
		rows[k] = append(rows[k], e.Row)
	}
	if uint64(spans) != stats.Slices || uint64(instants) != stats.Instants || len(v.spans) != spans+instants {
		t.Fatalf("%s: %d spans and %d instants are %d of both, by the account %+v", name, spans, instants, len(v.spans), stats)
	}
	of := map[uint64]map[uint32]bool{} // rows that a track may be of
	for _, s := range v.spans {
		have := rows[key(s.name, s.category, s.start, s.end, s.instant)]
		if len(have) == 0 {
			t.Fatalf("%s: %+v is not in the timeline", name, s)
		}
		may := map[uint32]bool{}
		for _, r := range have {
			if of[s.track] == nil || of[s.track][r] {
				may[r] = true
			}
		}
		if len(may) == 0 {
			t.Fatalf("%s: track %d is of several rows", name, s.track)
		}
		of[s.track] = may
	}
	counts := map[string]int{}
	for _, s := range v.spans {
		counts[key(s.name, s.category, s.start, s.end, s.instant)]++
	}
	for k, have := range rows {
		if counts[k] != len(have) {
			t.Fatalf("%s: %s is there %d times, not %d", name, k, counts[k], len(have))
		}
	}
	return v
}

// TestTraces holds recorded traces, written and decoded, against their timelines.
func TestTraces(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/pairs/*.kineto.json.gz")
	if len(files) < 6 {
		t.Fatalf("%d traces", len(files))
	}
	for _, dir := range []string{"traces/public", "traces/torch-cuda"} {
		if path, ok := testrig.FindShared(dir); ok && !testing.Short() {
			more, _ := filepath.Glob(filepath.Join(path, "*s*.json.gz"))
			files = append(files, more...)
		}
	}
	for _, path := range files {
		docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if docs[0].Trace.Events.Len() < 30_000 {
			check(t, filepath.Base(path), docs[0].Trace)
		}
	}
}

// TestArrows holds the arrows from calls to work against correlation ids, and those
// between operators against the document.
func TestArrows(t *testing.T) {
	docs, err := chrome.ReadFile("../../testdata/pairs/train.kineto.json.gz", chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tr := docs[0].Trace
	v := check(t, "train", tr)
	want := map[string]int{}
	calls := map[uint64]*timeline.Event{}
	for i := range uint32(tr.Events.Len()) {
		if e := tr.Events.At(i); e.Kind.IsAPI() && e.Correlation != 0 {
			calls[e.Correlation] = e
		}
	}
	for i := range uint32(tr.Events.Len()) {
		if e := tr.Events.At(i); e.Kind.OnDevice() && calls[e.Correlation] != nil {
			c := calls[e.Correlation]
			want[fmt.Sprint(tr.Strings.At(c.Name), c.Start, tr.Strings.At(e.Name), e.Start)]++
		}
	}
	got := map[string]int{}
	others := 0
	for _, ends := range v.flows {
		if len(ends) != 2 {
			t.Fatalf("an arrow has %d ends", len(ends))
		}
		a, b := ends[0], ends[1]
		if a.start > b.start {
			a, b = b, a
		}
		if len(b.ends) > 0 {
			got[fmt.Sprint(a.name, a.start, b.name, b.start)]++
		} else {
			others++
		}
	}
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("%d arrows from calls to work, by correlation ids %d", len(got), len(want))
	}
	starts := 0
	for i := range tr.Flows {
		if tr.Flows[i].Start {
			starts++
		}
	}
	if starts == 0 || others != starts {
		t.Errorf("%d other arrows, in the document %d", others, starts)
	}
}

// TestArguments holds annotations against the arguments as encoding/json reads them.
func TestArguments(t *testing.T) {
	docs, err := chrome.ReadFile("../../testdata/pairs/ddp.rank0.kineto.json.gz", chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	tr := docs[0].Trace
	v := check(t, "ddp", tr)
	byKey := map[string]*span{}
	for _, s := range v.spans {
		byKey[key(s.name, s.category, s.start, s.end, s.instant)] = s
	}
	compared := 0
	for i := range uint32(tr.Events.Len()) {
		e := tr.Events.At(i)
		s := byKey[key(tr.Strings.At(e.Name), tr.Strings.At(e.Category), e.Start, e.End, e.Flags&timeline.Instant != 0)]
		var args map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+string(tr.RawArgs(i))+"}"), &args); err != nil {
			t.Fatal(err)
		}
		if s == nil || len(args) != len(s.args) {
			t.Fatalf("%s: %d arguments, %v", tr.Strings.At(e.Name), len(args), s)
		}
		for name, raw := range args {
			var text string
			var want any
			switch got := s.args[name].(type) {
			case int64, float64:
				want = fmt.Sprint(got)
				if want != string(raw) && fmt.Sprint(float(t, raw)) != want {
					t.Fatalf("%s is %v, not %s", name, got, raw)
				}
			case string:
				if json.Unmarshal(raw, &text) != nil {
					text = string(raw)
				}
				if got != text {
					t.Fatalf("%s is %q, not %q", name, got, text)
				}
			case bool:
				if fmt.Sprint(got) != string(raw) {
					t.Fatalf("%s is %v, not %s", name, got, raw)
				}
			default:
				t.Fatalf("%s is not there", name)
			}
			compared++
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	data, _ := write(t, tr, Options{NoArgs: true})
	for _, s := range view(t, data).spans {
		if len(s.args) > 0 {
			t.Fatalf("%s has arguments", s.name)
		}
	}
}

func float(t *testing.T, raw []byte) (f float64) {
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

const x = `{"ph":"X","cat":"%s","name":"%s","pid":%d,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}`

// TestSubRows: what overlaps is on tracks of one name below one parent.
func TestSubRows(t *testing.T) {
	tr := parse(t, `{"traceEvents":[`+strings.Join([]string{
		fmt.Sprintf(x, "kernel", "a", 0, 7, 10, 10, `"device":0,"stream":7`),
		fmt.Sprintf(x, "kernel", "inside a", 0, 7, 12, 4, `"device":0,"stream":7`),
		fmt.Sprintf(x, "kernel", "over the end of a", 0, 7, 15, 10, `"device":0,"stream":7`),
		fmt.Sprintf(x, "gpu_user_annotation", "around all", 0, 7, 5, 30, ``),
		fmt.Sprintf(x, "kernel", "after", 0, 7, 25, 1, `"device":0,"stream":7`),
		fmt.Sprintf(x, "cpu_op", "op", 50, 51, 1, 10, ``),
		fmt.Sprintf(x, "cpu_op", "inside op", 50, 51, 2, 3, ``),
		fmt.Sprintf(x, "cpu_op", "over the end of op", 50, 51, 9, 10, ``),
		`{"ph":"C","name":"memory","pid":50,"tid":51,"ts":3,"args":{"used":5,"free":1.5,"unit":"MB"}}`,
		`{"ph":"i","name":"mark","pid":50,"tid":51,"ts":3,"s":"t"}`,
		`{"ph":"b","cat":"async","name":"other","pid":50,"tid":51,"ts":3,"id":1}`,
	}, ",")+`]}`)
	v := check(t, "overlaps", tr)
	track := map[string]uint64{}
	for _, s := range v.spans {
		track[s.name] = s.track
	}
	if track["a"] != track["around all"] || track["a"] != track["after"] || track["op"] != track["inside op"] {
		t.Errorf("spans that fit are not on the first track: %v", track)
	}
	if track["a"] == track["inside a"] || track["a"] == track["over the end of a"] || track["op"] == track["over the end of op"] {
		t.Errorf("spans that overlap are on one track: %v", track)
	}
	a, b := v.tracks[track["a"]], v.tracks[track["inside a"]]
	if field(a, "name").String() != field(b, "name").String() || field(a, "parent_uuid").Uint() != field(b, "parent_uuid").Uint() {
		t.Errorf("sub-rows are %v and %v", a, b)
	}
	if d := v.tracks[field(a, "parent_uuid").Uint()]; !strings.HasPrefix(field(d, "name").String(), "device 0") || has(d, "process") {
		t.Errorf("the device is %v", d)
	}
	op := v.tracks[track["op"]]
	if th := field(op, "thread").Message(); field(th, "pid").Int() != 50 || field(th, "tid").Int() != 51 {
		t.Errorf("the thread is %v", op)
	}
	if field(v.tracks[track["over the end of op"]], "parent_uuid").Uint() != track["op"] {
		t.Error("the sub-row of the thread is not below it")
	}
	values := map[string]float64{}
	for _, c := range v.counters {
		values[field(v.tracks[c.track], "name").String()] = c.value
	}
	if len(values) != 2 || values["memory used"] != 5 || values["memory free"] != 1.5 {
		t.Errorf("counters %v", values)
	}
	if _, stats := write(t, tr, Options{}); stats.SubRows != 3 || stats.Skipped != 1 {
		t.Errorf("account %+v", stats)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteError(t *testing.T) {
	tr := parse(t, `[`+fmt.Sprintf(x, "kernel", "k", 0, 7, 1, 1, ``)+`]`)
	if _, err := Write(full{}, tr, Options{}); !errors.Is(err, errFull) {
		t.Errorf("error %v", err)
	}
}

func FuzzWrite(f *testing.F) {
	for _, s := range []string{
		fmt.Sprintf(x, "kernel", "a", 0, 7, 10, 10, `"a":[1],"b":{"c":null},"d":1e400,"e":"\u00e9\ud800"`),
		fmt.Sprintf(x, "cpu_op", "a", -1, -1, -10, 10, `"":true`) + `,{"ph":"C","name":"","pid":"","ts":1,"args":{"":1}}`,
		`{"ph":"s","id":1,"pid":1,"tid":1,"ts":1,"cat":"x","name":"x"},{"ph":"X","name":"a","pid":"Spans","tid":"","ts":1}`,
	} {
		f.Add([]byte(`{"traceEvents":[` + s + `]}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
		if err != nil {
			return
		}
		for i := range uint32(d.Trace.Events.Len()) {
			e := d.Trace.Events.At(i)
			if e.Start < -1<<60 || e.End > 1<<61 {
				return // differences do not fit
			}
		}
		check(t, "fuzz", d.Trace)
	})
}
