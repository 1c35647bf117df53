package calltree

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestParallel: the tree does not depend on how many work on it.
func TestParallel(t *testing.T) {
	tr := large(6 * minPiece)
	n := uint32(tr.Events.Len())
	annotation, python, fwdbwd := tr.Strings.ID("user_annotation"), tr.Strings.ID("python_function"), tr.Strings.ID("fwdbwd")
	for i := uint32(0); i < n; i += 50 {
		e := *tr.Events.At(i) // an outermost operator
		around := timeline.Event{Start: e.Start - 10, End: e.End + 10, Row: e.Row, Kind: timeline.Host}
		for k, name := range []string{fmt.Sprint("ProfilerStep#", i/50), "part", "nn.Module: Linear_0"} {
			a := around
			a.Start, a.End = a.Start+int64(k), a.End-int64(k)
			a.Name, a.Category = tr.Strings.ID(name), annotation
			if k == 2 {
				a.Category = python
			}
			tr.Events.Add(a)
		}
		if i >= 50 {
			from := tr.Events.At(i - 50)
			tr.Flows = append(tr.Flows,
				timeline.FlowPoint{ID: uint64(i), TS: from.Start, Row: from.Row, Name: fwdbwd, Start: true},
				timeline.FlowPoint{ID: uint64(i), TS: e.Start, Row: e.Row, Name: fwdbwd})
		}
	}
	var trees []*Tree
	for _, processors := range []int{1, 2, 5} {
		was := runtime.GOMAXPROCS(processors)
		if got := pieces(tr.Events.Len()); got != processors {
			t.Errorf("%d pieces for %d processors", got, processors)
		}
		trees = append(trees, New(tr))
		runtime.GOMAXPROCS(was)
	}
	x := trees[0]
	if len(x.steps) == 0 || len(x.scopes) < 4 || len(x.forward) == 0 || x.NumWorks() == 0 {
		t.Fatalf("%d steps, %d scopes, %d backward operators, %d works", len(x.steps), len(x.scopes), len(x.forward), x.NumWorks())
	}
	check(t, "large", x)
	for _, y := range trees[1:] {
		if !reflect.DeepEqual(x, y) {
			t.Error("another tree where more work on it")
		}
	}
}

// TestEachPiece: the pieces are all of a list, each once.
func TestEachPiece(t *testing.T) {
	for _, n := range []int{0, 1, minPiece - 1, minPiece, 2 * minPiece, 3*minPiece + 1, 10*minPiece + 7} {
		seen := make([]int, n)
		eachPiece(n, func(k, from, to int) {
			if k < 0 || k >= pieces(n) {
				t.Errorf("piece %d of %d", k, pieces(n))
			}
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("of %d: %d is in %d pieces", n, i, times)
			}
		}
	}
}
