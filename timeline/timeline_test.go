package timeline

import (
	"bytes"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
)

func TestBlocks(t *testing.T) {
	var b Blocks[int]
	const n = 3*blockLen + 5
	for i := range n {
		if got := b.Add(i); got != uint32(i) {
			t.Fatalf("Add returned %d, want %d", got, i)
		}
	}
	first := b.At(0)
	for i := range n {
		if *b.At(uint32(i)) != i {
			t.Fatalf("element %d is %d", i, *b.At(uint32(i)))
		}
	}
	b.Truncate(blockLen + 1)
	if b.Len() != blockLen+1 || *b.At(blockLen) != blockLen || b.At(0) != first {
		t.Errorf("after Truncate: %d elements", b.Len())
	}
	b.Truncate(2 * blockLen) // longer than it is: nothing to do
	if b.Len() != blockLen+1 {
		t.Errorf("Truncate grew it to %d", b.Len())
	}
	if i := b.Add(-1); i != blockLen+1 || *b.At(i) != -1 {
		t.Errorf("Add after Truncate: index %d", i)
	}
	b.Truncate(0)
	if b.Len() != 0 || b.Add(7) != 0 || *b.At(0) != 7 {
		t.Error("an emptied sequence does not start anew")
	}
}

func TestSparse(t *testing.T) {
	var b Sparse[int]
	const n = 4 * blockLen
	value := func(i int) int {
		if i/blockLen == 2 && i%1000 == 7 {
			return i
		}
		return 0
	}
	for i := range n {
		if got := b.Add(value(i)); got != uint32(i) {
			t.Fatalf("Add returned %d, want %d", got, i)
		}
	}
	*b.Own(5) = -1
	for i := range n {
		want := value(i)
		if i == 5 {
			want = -1
		}
		if got := *b.At(uint32(i)); got != want {
			t.Fatalf("element %d is %d, want %d", i, got, want)
		}
	}
	if b.Len() != n {
		t.Errorf("%d elements, want %d", b.Len(), n)
	}
	filled := 0
	at := uint32(0)
	for from, to := range b.Filled() {
		for ; at < from; at++ {
			if *b.At(at) != 0 {
				t.Fatalf("element %d is in none of the ranges that have something", at)
			}
		}
		if at != from || to <= from || to > n {
			t.Fatalf("elements %d to %d have something, after %d of %d", from, to, at, n)
		}
		filled, at = filled+1, to
	}
	for ; at < n; at++ {
		if *b.At(at) != 0 {
			t.Fatalf("element %d is in none of the ranges that have something", at)
		}
	}
	if want := 1 + blockLen/sparseLen; filled > want || len(b.blocks) != n/sparseLen {
		t.Errorf("%d blocks of %d take memory, want %d at most", filled, len(b.blocks), want)
	}
}

func TestArgs(t *testing.T) {
	var a Args
	big := bytes.Repeat([]byte("x"), 3*argChunk)
	if a.Add(nil) != 0 || a.At(0) != nil {
		t.Error("no arguments are not index 0")
	}
	one, two, three := a.Add([]byte(`"a": 1`)), a.Add(big), a.Add([]byte(`"b": 2`))
	if one == 0 || one == two || two == three {
		t.Fatalf("indices %d, %d, %d", one, two, three)
	}
	if string(a.At(one)) != `"a": 1` || !bytes.Equal(a.At(two), big) || string(a.At(three)) != `"b": 2` {
		t.Error("arguments changed while stored")
	}
	if got := append(a.At(one), 'y'); string(a.At(three)) != `"b": 2` || len(got) == 0 {
		t.Error("appending to arguments reached into the store")
	}
}

func TestInterning(t *testing.T) {
	var tr Trace
	p := Place{Device: 1, Context: 2, Stream: 3, Has: event.HasDevice}
	if a, b := tr.Place(p), tr.Place(p); a != b || len(tr.Places) != 1 {
		t.Error("a place is stored twice")
	}
	if a, b := tr.Launch(event.Launch{Registers: 1}), tr.Launch(event.Launch{Registers: 2}); a == b {
		t.Error("different launches are one")
	}
	r := tr.Row(Row{PID: 1, TID: 2, Name: "first"})
	if again := tr.Row(Row{PID: 1, TID: 2, Name: "second"}); again != r || tr.Rows[r].Name != "first" {
		t.Error("a row is stored twice or was changed")
	}
	if other := tr.Row(Row{PIDText: "1", TIDText: "2"}); other == r {
		t.Error("a row with text ids is one with numbers")
	}
}

func TestLost(t *testing.T) {
	n := uint64(3)
	for _, c := range []struct {
		name string
		c    Completeness
		want bool
	}{
		{"nothing", Completeness{}, false},
		{"out of window", Completeness{Dropped: map[string]uint64{DropOutOfWindow: 9, DropFiltered: 4}}, false},
		{"untimed", Completeness{Dropped: map[string]uint64{"untimed": 1}}, true},
		{"none dropped", Completeness{Dropped: map[string]uint64{"untimed": 0}}, false},
		{"discarded", Completeness{Buffers: &BufferCounts{Discarded: 1}}, true},
		{"library", Completeness{Buffers: &BufferCounts{RecordsDropped: &n}}, true},
		{"library cannot say", Completeness{Buffers: &BufferCounts{}}, false},
		{"disk full", Completeness{Buffers: &BufferCounts{BytesUnwritten: 1}}, true},
		{"torn", Completeness{Spool: &SpoolCounts{TornBytes: 1}}, true},
		{"undecoded", Completeness{Spool: &SpoolCounts{LostBytes: 1}}, true},
	} {
		if got := c.c.Lost(); got != c.want {
			t.Errorf("%s: Lost() = %v", c.name, got)
		}
	}
}
