package shape

import (
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
)

// BenchmarkObserve looks at a trace of some 19,000 events; bytes are those of its
// text.
func BenchmarkObserve(b *testing.B) {
	path := filepath.Join("..", "..", "testdata", "pairs", "train.kineto.json.gz")
	docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("tree", func(b *testing.B) {
		b.SetBytes(docs[0].Bytes)
		for b.Loop() {
			calltree.New(docs[0].Trace)
		}
	})
	b.Run("all", func(b *testing.B) {
		b.SetBytes(docs[0].Bytes)
		for b.Loop() {
			if _, err := Observe(docs[0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			if _, err := chrome.ReadFile(path, chrome.ReadOptions{}); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(docs[0].Bytes)
	})
}
