package chrome

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// canon lists what a timeline holds, in words and in an order of its own, so that
// timelines can be compared whatever the order of their events.
func canon(t *timeline.Trace) []string {
	var out []string
	used := make([]bool, len(t.Rows)) // a row with nothing on it, and no name, is as good as none
	row := func(i uint32) string {
		r := t.Rows[i]
		return fmt.Sprintf("%d%q%v/%d%q%v", r.PID, r.PIDText, r.EmptyPID, r.TID, r.TIDText, r.EmptyTID)
	}
	s := t.Strings.At
	for i := range uint32(t.Events.Len()) {
		e := *t.Events.At(i)
		src := t.Source.Events.At(i)
		used[e.Row] = true
		var detail any
		switch {
		case e.Kind == timeline.Kernel:
			k := *t.Kernels.At(e.Detail)
			detail = fmt.Sprint(k.GraphID, k.GraphNodeID, k.Queued, k.Channel, k.Priority, k.Has, k.Collective != 0, t.Launches[k.Launch])
		case e.Kind.OnDevice():
			detail = *t.Copies.At(e.Detail)
		case e.Kind.IsAPI():
			detail = *t.Calls.At(e.Detail)
		case e.Kind == timeline.Sync:
			detail = *t.Syncs.At(e.Detail)
		}
		place := timeline.Place{}
		if e.Kind.OnDevice() || e.Kind == timeline.Sync {
			place = t.Places[e.Place]
		}
		out = append(out, fmt.Sprintf("event %d %d %c %q %q %s %v %d %d %x %v %v {%s} %s", e.Start, e.End, src.Phase, s(e.Name), s(e.Category),
			row(e.Row), e.Kind, e.Correlation, e.External, e.Flags, detail, place, t.RawArgs(i), s(src.Fields)))
	}
	for i, p := range t.Flows {
		used[p.Row] = true
		category := "none"
		if p.Category != timeline.NoCategory {
			category = s(p.Category)
		}
		out = append(out, fmt.Sprintf("flow %d %d %s %q %q %v%v%v %s", p.ID, p.TS, row(p.Row), s(p.Name), category, p.Start, p.Step, p.Enclosing,
			s(t.Source.Flows.At(uint32(i)).Fields)))
	}
	for i, r := range t.Rows {
		if !used[i] && r.Name == "" && !r.HasSortIndex {
			continue
		}
		out = append(out, fmt.Sprintf("row %s %q %d %v %v", row(uint32(i)), r.Name, r.SortIndex, r.HasSortIndex, r.Kind))
	}
	for _, g := range t.Groups {
		out = append(out, fmt.Sprintf("group %+v", g))
	}
	for _, m := range t.Metadata {
		out = append(out, fmt.Sprintf("member %s %s", m.Key, m.Raw))
	}
	out = append(out, fmt.Sprintf("window %v process %v devices %v base %v %v", t.Window, t.Process, t.Devices, t.Source.Base, t.Source.HasBase),
		fmt.Sprintf("flows are %q %q", s(t.Source.FlowName), s(t.Source.FlowCategory)))
	slices.Sort(out)
	return out
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	g, w := map[string]int{}, map[string]int{}
	for _, s := range got {
		g[s]++
	}
	for _, s := range want {
		w[s]++
	}
	shown := 0
	for _, s := range want {
		if g[s] < w[s] && shown < 5 {
			t.Errorf("%s: lost  %.600s", what, s)
			shown++
		}
	}
	for _, s := range got {
		if w[s] < g[s] && shown < 10 {
			t.Errorf("%s: added %.600s", what, s)
			shown++
		}
	}
}

func readText(t testing.TB, text []byte) *Document {
	t.Helper()
	d, err := Read(bytes.NewReader(text), ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func written(t testing.TB, tr *timeline.Trace, o Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tr, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestReadWriteRead: a trace that is read, written and read again is the same,
// plain or compressed and in any order of its events; and the second document is
// strict JSON and has nothing left to be mended.
func TestReadWriteRead(t *testing.T) {
	for _, path := range traceFiles(t) {
		text := plainText(t, path)
		if testing.Short() && len(text) > 2<<20 {
			continue
		}
		name := filepath.Base(path)
		d := readText(t, text)
		want := canon(d.Trace)
		out := written(t, d.Trace, Options{Workers: 2})
		again := readText(t, out)
		compare(t, name+" plain", canon(again.Trace), want)
		for rule, n := range again.FindingCounts {
			t.Errorf("%s: written anew, %d of %s: %v", name, n, rule, again.Findings[0])
		}
		if one := written(t, d.Trace, Options{Workers: 1}); !bytes.Equal(one, out) {
			t.Errorf("%s: one worker writes something else than two", name)
		}
		if len(text) > 4<<20 {
			continue
		}
		compare(t, name+" gzip", canon(readText(t, written(t, d.Trace, Options{Gzip: true})).Trace), want)
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		compare(t, name+" zstd", canon(readText(t, z.EncodeAll(out, nil)).Trace), want)
		compare(t, name+" reordered", canon(readText(t, reordered(t, out)).Trace), want)
	}
}

// reordered shuffles the events of a document that is strict JSON.
func reordered(t *testing.T, text []byte) []byte {
	var events []json.RawMessage
	start := 0
	if text[0] == '{' {
		start = bytes.Index(text, []byte("\"traceEvents\": ")) + len("\"traceEvents\": ")
	}
	d := json.NewDecoder(bytes.NewReader(text[start:]))
	if err := d.Decode(&events); err != nil {
		t.Fatal(err)
	}
	end := start + int(d.InputOffset())
	r := rand.New(rand.NewPCG(1, 2))
	r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	out := append(slices.Clone(text[:start]), '[')
	for i, e := range events {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(append(out, ']'), text[end:]...)
}
