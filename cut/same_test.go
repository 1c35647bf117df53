package cut

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/canon"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// traceFiles are recorded traces: those of the repository, and further ones where
// they are at hand.
func traceFiles(t testing.TB) []string {
	files, err := filepath.Glob("../testdata/pairs/*.kineto.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in ../testdata/pairs: %v", err)
	}
	if dir, ok := testrig.FindShared("traces/public"); ok && !testing.Short() {
		for _, pattern := range []string{"*.json", "*.json.gz", "edge/*.json"} {
			more, _ := filepath.Glob(filepath.Join(dir, pattern))
			files = append(files, more...)
		}
	}
	return files
}

func readFile(t testing.TB, path string) *timeline.Trace {
	t.Helper()
	docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return docs[0].Trace
}

// content is what a trace holds, but for what cutting itself adds to it.
func content(t *timeline.Trace) []string {
	return slices.DeleteFunc(canon.Lines(t), func(s string) bool { return strings.HasPrefix(s, "member "+KeyCuts+" ") })
}

// thirds are three windows side by side that hold all events of a trace.
func thirds(t *timeline.Trace) [3]timeline.Window {
	all := timeline.Window{Start: t.Window.Start, End: t.Window.End + 1}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		all.Start, all.End = min(all.Start, e.Start), max(all.End, e.End+1)
	}
	for i := range t.Flows {
		all.Start, all.End = min(all.Start, t.Flows[i].TS), max(all.End, t.Flows[i].TS+1)
	}
	third := (all.End - all.Start) / 3
	a, b := all.Start+third, all.Start+2*third
	return [3]timeline.Window{{Start: all.Start, End: a}, {Start: a, End: b}, {Start: b, End: all.End}}
}

// TestWhole: a window around everything cuts nothing, and what is written of it is
// what would have been written of the whole.
func TestWhole(t *testing.T) {
	for _, path := range traceFiles(t) {
		if info, err := os.Stat(path); err != nil || info.Size() > 200<<10 {
			continue // comparing all of a large one takes long
		}
		whole := readFile(t, path)
		w := thirds(whole)
		for _, o := range []Options{
			{Window: &timeline.Window{Start: w[0].Start, End: w[2].End}},
			{Window: &timeline.Window{Start: w[0].Start, End: w[2].End}, Launched: true, Straddling: Clipped},
		} {
			part, result, err := Trace(whole, o)
			if err != nil {
				if whole.Events.Len() > 0 {
					t.Errorf("%s: %v", path, err)
				}
				continue
			}
			canon.Compare(t, filepath.Base(path), content(part), content(whole))
			if result.Events != result.Of || result.Arrows != 0 {
				t.Errorf("%s: %+v", path, result)
			}
			canon.Compare(t, filepath.Base(path)+" written", content(read(t, write(t, part))), content(read(t, write(t, whole))))
		}
	}
}

// TestThirds: three parts side by side hold each event once, but for those that reach
// over an end; each as it stood; and each arrow has both ends or those it had.
func TestThirds(t *testing.T) {
	for _, path := range traceFiles(t) {
		whole := readFile(t, path)
		stood := map[int64]uint32{} // by offset
		async := false
		for i := range uint32(whole.Events.Len()) {
			stood[whole.Source.Events.At(i).Offset()] = i
			async = async || asyncPhase(whole.Source.Events.At(i).Phase)
		}
		alone := orphans(whole)
		for _, launched := range []bool{false, true} {
			times := map[uint32]int{}
			for _, w := range thirds(whole) {
				part, _, err := Trace(whole, Options{Window: &w, Launched: launched})
				if err != nil {
					continue // nothing there
				}
				for i := range uint32(part.Events.Len()) {
					s := part.Source.Events.At(i)
					was, ok := stood[s.Offset()]
					if !ok {
						t.Fatalf("%s: an event that stood nowhere", path)
					}
					times[was]++
					e, f := part.Events.At(i), whole.Events.At(was)
					sets := whole.Source.Events.At(was)
					special := e.Kind == timeline.Other && s.Phase == 0
					if !bytes.Equal(part.RawArgs(i), whole.RawArgs(was)) || part.Strings.At(s.Fields) != whole.Strings.At(sets.Fields) ||
						part.Strings.At(e.Name) != whole.Strings.At(f.Name) || !special && (e.Start != f.Start || e.End != f.End) {
						t.Fatalf("%s: event at byte %d was changed", path, s.Offset())
					}
				}
				for k, n := range orphans(part) {
					if n > alone[k] {
						t.Errorf("%s: an arrow %v has one end more that is alone: %d, was %d", path, k, n, alone[k])
					}
				}
			}
			for i := range uint32(whole.Events.Len()) {
				e := whole.Events.At(i)
				if times[i] == 0 {
					t.Fatalf("%s: event %d (%s) is in no part", path, i, whole.Strings.At(e.Name))
				}
				if times[i] > 1 && e.Start == e.End && e.Kind != timeline.Other && !async {
					t.Errorf("%s: the moment %d (%s) is in %d parts", path, i, whole.Strings.At(e.Name), times[i])
				}
			}
		}
	}
}

// orphans counts the ends of each arrow that have no other end.
func orphans(t *timeline.Trace) map[string]int {
	type count struct{ start, end int }
	arrows := map[string]*count{}
	at := func(category string, id uint64) *count {
		raw, _ := json.Marshal([]any{category, id})
		k := string(raw)
		if arrows[k] == nil {
			arrows[k] = &count{}
		}
		return arrows[k]
	}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		if e.Flags&timeline.FlowOut != 0 {
			at(t.Strings.At(t.Source.FlowCategory), e.Correlation).start++
		}
		if e.Flags&timeline.FlowIn != 0 {
			at(t.Strings.At(t.Source.FlowCategory), e.Correlation).end++
		}
	}
	for i := range t.Flows {
		f := &t.Flows[i]
		category := f.Category
		if category == 0 {
			category = f.Name
		}
		c := at(t.Strings.At(category), f.ID)
		if category == timeline.NoCategory {
			c = at("", f.ID)
		}
		if f.Start {
			c.start++
		} else {
			c.end++
		}
	}
	alone := map[string]int{}
	for k, c := range arrows {
		if c.start == 0 || c.end == 0 {
			alone[k] = c.start + c.end
		}
	}
	return alone
}

// TestOrder: two cuts are the same in either order.
func TestOrder(t *testing.T) {
	whole := readFile(t, "../testdata/pairs/train.kineto.json.gz")
	w := thirds(whole)[1]
	a, b := Options{Window: &w}, Options{Categories: []string{"kernel", "runtime", "driver", "cpu_op"}}
	both := a
	both.Categories = b.Categories
	want, _, err := Trace(whole, both)
	if err != nil {
		t.Fatal(err)
	}
	for _, order := range [][2]Options{{a, b}, {b, a}} {
		part := whole
		for _, o := range order {
			if part, _, err = Trace(part, o); err != nil {
				t.Fatal(err)
			}
		}
		got, wanted := content(part), content(want)
		// How far the window is widened depends on what was there to widen it.
		drop := func(s string) bool {
			return strings.HasPrefix(s, "window ") || strings.Contains(s, `"Trace"`) || strings.Contains(s, nameWindowEnd)
		}
		canon.Compare(t, "both", slices.DeleteFunc(got, drop), slices.DeleteFunc(wanted, drop))
	}
}

// TestForms: neither compression nor the order of events changes what a cut holds.
func TestForms(t *testing.T) {
	for _, name := range []string{"ddp.rank0", "train", "streams"} {
		path := "../testdata/pairs/" + name + ".kineto.json.gz"
		whole := readFile(t, path)
		w := thirds(whole)[1]
		o := Options{Window: &w, Launched: true}
		want, _, err := Trace(whole, o)
		if err != nil {
			t.Fatal(err)
		}
		text := write(t, whole)
		for what, form := range map[string][]byte{"plain": text, "reordered": reordered(t, text), "file": fileText(t, path)} {
			part, _, err := Trace(read(t, form), o)
			if err != nil {
				t.Fatal(err)
			}
			canon.Compare(t, name+" "+what, content(part), content(want))
		}
	}
}

func fileText(t *testing.T, path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// reordered shuffles the events of a document that is strict JSON.
func reordered(t *testing.T, text []byte) []byte {
	var doc struct {
		Events []json.RawMessage `json:"traceEvents"`
	}
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(doc.Events), func(i, j int) { doc.Events[i], doc.Events[j] = doc.Events[j], doc.Events[i] })
	var out bytes.Buffer
	out.WriteByte('{')
	for m := chrome.WalkMembers(text); m.Next(); {
		if string(m.Key) != "traceEvents" {
			out.Write(text[m.Start:m.End])
			out.WriteByte(',')
		}
	}
	out.WriteString(`"traceEvents":[`)
	for i, e := range doc.Events {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(e)
	}
	out.WriteString("]}")
	return out.Bytes()
}

// FuzzTrace: whatever is read and cut can be written, is JSON, and reads as it was.
func FuzzTrace(f *testing.F) {
	f.Add([]byte(document), int64(100_000), int64(300_000), uint8(0))
	f.Add([]byte(document), int64(0), int64(150_000), uint8(7))
	f.Add([]byte(`[{"ph":"s","id":1,"ts":1,"cat":"a"},{"ph":"f","id":"x","ts":5,"pid":"p"},{"ph":"e","id":1,"ts":3}]`), int64(0), int64(4000), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, from, length int64, how uint8) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{Workers: 1})
		if err != nil {
			return
		}
		w := timeline.Window{Start: clampedAdd(d.Trace.Window.Start, from)}
		w.End = clampedAdd(w.Start, max(length, 1))
		o := Options{Window: &w, Launched: how&1 != 0, Straddling: Straddling(how >> 1 % 3)}
		if how&8 != 0 {
			o.Categories = []string{"kernel"}
		}
		if how&16 != 0 {
			o.Steps = &Steps{0, 3}
		}
		part, _, err := Trace(d.Trace, o)
		if err != nil {
			return
		}
		out := write(t, part)
		if !json.Valid(out) {
			t.Fatalf("no JSON:\n%s", out)
		}
		if again := read(t, out); again.Events.Len() != part.Events.Len() {
			t.Fatalf("%d events, written and read again %d:\n%s", part.Events.Len(), again.Events.Len(), out)
		}
	})
}
