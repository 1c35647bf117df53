package export

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestEach: rows do not depend on whether arguments were packed.
func TestEach(t *testing.T) {
	files, _ := filepath.Glob("../testdata/pairs/*.kineto.json.gz")
	if len(files) == 0 {
		t.Fatal("no trace")
	}
	for _, path := range append(files, "testdata/steps.json") {
		for _, args := range []bool{true, false} {
			want := asCSV(t, NewTable(read(t, path), path, args))
			n := 0
			err := Each(path, chrome.ReadOptions{}, args, func(b *Table) error {
				n++
				if got := asCSV(t, b); !bytes.Equal(got, want) {
					t.Errorf("%s, args %v: other rows than of the trace read whole", path, args)
				}
				return nil
			})
			if err != nil || n != 1 {
				t.Errorf("%s: %d traces, %v", path, n, err)
			}
		}
	}
}

// TestPacked: arguments come out as they went in, in any order, over more packs than are
// held ready, large ones and none among them.
func TestPacked(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want := make([][]byte, 20_000)
	for i := range want {
		switch {
		case i%17 == 0:
		case i == 5000:
			want[i] = bytes.Repeat([]byte("large"), packBytes)
		default:
			want[i] = fmt.Appendf(nil, `"External id": %d, "Input Dims": [[%d]], %q: 1`, i, random.IntN(99), bytes.Repeat([]byte("x"), random.IntN(600)))
		}
	}
	p := packed{of: &timeline.Trace{}}
	// Some are known only when all are read.
	for _, late := range []bool{false, true} {
		for i := range want {
			if i%100 == 99 == late {
				p.put(uint32(i), want[i])
			}
		}
	}
	p.pack()
	if len(p.packs) <= unpacked {
		t.Fatalf("%d packs", len(p.packs))
	}
	check := func(i int) {
		if got := p.at(uint32(i)); !bytes.Equal(got, want[i]) {
			t.Fatalf("event %d has %.80q, want %.80q", i, got, want[i])
		}
	}
	for i := range want {
		check(i)
	}
	for range 500 {
		check(random.IntN(len(want)))
	}
	if got := p.at(uint32(len(want))); got != nil {
		t.Errorf("an event that was not read has %q", got)
	}
}
