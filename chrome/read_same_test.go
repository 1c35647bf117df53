package chrome

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/flagos-ai/flagos-trace/internal/canon"
	"github.com/flagos-ai/flagos-trace/timeline"
)

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
		want := canon.Lines(d.Trace)
		out := written(t, d.Trace, Options{Workers: 2})
		again := readText(t, out)
		canon.Compare(t, name+" plain", canon.Lines(again.Trace), want)
		for rule, n := range again.FindingCounts {
			t.Errorf("%s: written anew, %d of %s: %v", name, n, rule, again.Findings[0])
		}
		if one := written(t, d.Trace, Options{Workers: 1}); !bytes.Equal(one, out) {
			t.Errorf("%s: one worker writes something else than two", name)
		}
		if len(text) > 4<<20 {
			continue
		}
		canon.Compare(t, name+" gzip", canon.Lines(readText(t, written(t, d.Trace, Options{Gzip: true})).Trace), want)
		z, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		canon.Compare(t, name+" zstd", canon.Lines(readText(t, z.EncodeAll(out, nil)).Trace), want)
		canon.Compare(t, name+" reordered", canon.Lines(readText(t, reordered(t, out)).Trace), want)
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
