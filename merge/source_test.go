package merge

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func read(t testing.TB, text []byte) *timeline.Trace {
	t.Helper()
	d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d.Trace
}

func text(t testing.TB, tr *timeline.Trace) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := chrome.Write(&b, tr, chrome.Options{}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// there merges traces, writes and reads the result, and takes them out again.
func there(t *testing.T, parts []Part) (merged *timeline.Trace, out []*timeline.Trace) {
	t.Helper()
	m, err := Traces(parts)
	if err != nil {
		t.Fatal(err)
	}
	merged = read(t, text(t, m))
	// Rows on which nothing stands are named where they are found.
	was, is := sortedLines(text(t, m)), sortedLines(text(t, merged))
	if !bytes.Equal(was, is) {
		t.Errorf("the merged trace is another one when it was read again: %s", difference(was, is))
	}
	for i := range Infos(merged) {
		x, err := Extract(merged, i)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return merged, out
}

func sortedLines(text []byte) []byte {
	lines := strings.Split(string(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], ",")
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, "\n"))
}

func difference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range x {
		if i >= len(y) || x[i] != y[i] {
			other := ""
			if i < len(y) {
				other = y[i]
			}
			return fmt.Sprintf("line %d:\n%.600s\n%.600s", i+1, x[i], other)
		}
	}
	return fmt.Sprintf("%d more lines", len(y)-len(x))
}

func TestSharedPairs(t *testing.T) {
	files := []string{"traces/pairs/ddp.rank0.kineto.json.gz", "traces/pairs/ddp.rank1.kineto.json.gz", "traces/public/a100-nccl-2rank.json.gz"}
	var parts []Part
	for _, f := range files {
		docs, err := chrome.ReadFile(testrig.Shared(t, f), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, Part{Trace: docs[0].Trace, Label: DefaultLabel(docs[0].Trace), File: filepath.Base(f)})
	}
	_, out := there(t, parts)
	for i, x := range out {
		if a, b := text(t, parts[i].Trace), text(t, x); !bytes.Equal(a, b) {
			t.Errorf("%s: taken out it is another trace: %s", files[i], difference(a, b))
		}
	}
}

// TestSharedProducers: traces of other producers, and odd ones, each merged with itself
// and with another, and taken out again.
func TestSharedProducers(t *testing.T) {
	dir := testrig.Shared(t, "traces/public")
	files, err := filepath.Glob(filepath.Join(dir, "edge", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ascend-trace-view", "rocm-mi250-train", "event-sync", "old-capital-categories", "cpu-only-gloo", "simple-add"} {
		files = append(files, filepath.Join(dir, name+".json.gz"))
	}
	var last *timeline.Trace
	for _, f := range files {
		docs, err := chrome.ReadFile(f, chrome.ReadOptions{})
		if err != nil {
			continue // no trace
		}
		a := read(t, text(t, docs[0].Trace)) // with nothing left to mend
		parts := []Part{{Trace: a, Label: "x"}, {Trace: a}}
		if last != nil {
			parts = append(parts, Part{Trace: last, Label: "last"})
		}
		last = a
		_, out := there(t, parts)
		for i, x := range out {
			if p, q := text(t, parts[i].Trace), text(t, x); !bytes.Equal(p, q) {
				t.Errorf("%s: part %d: %s", filepath.Base(f), i, difference(p, q))
			}
		}
	}
}
