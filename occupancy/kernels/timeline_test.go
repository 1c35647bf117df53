package kernels

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestFromEvents: what is calculated from a trace in memory is what is calculated from
// its text.
func TestFromEvents(t *testing.T) {
	files, _ := filepath.Glob("../../testdata/pairs/*.kineto.json.gz")
	if len(files) == 0 {
		t.Fatal("no trace")
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		want, err := Read(z, Options{})
		if err != nil {
			t.Fatal(err)
		}
		docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		tr := docs[0].Trace
		all := func(yield func(uint32) bool) {
			for i := range uint32(tr.Events.Len()) {
				if !yield(i) {
					return
				}
			}
		}
		got, err := FromEvents(tr, all, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Kernels != want.Kernels || got.Calculable != want.Calculable || got.Distinct != want.Distinct || got.Lost != want.Lost {
			t.Errorf("%s: %+v, %+v, %d, %d from memory; %+v, %+v, %d, %d from text", path,
				got.Kernels, got.Calculable, got.Distinct, got.Lost, want.Kernels, want.Calculable, want.Distinct, want.Lost)
		}
		if !slices.EqualFunc(got.Configurations, want.Configurations, func(a, b Configuration) bool {
			return a.Name == b.Name && a.Grid == b.Grid && a.Block == b.Block && a.Registers == b.Registers && a.SharedMem == b.SharedMem && a.Count == b.Count && a.Known == b.Known
		}) {
			t.Errorf("%s: configurations differ", path)
		}
	}
}
