package calltree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestIndex holds the index of ids against a look at every node, for ids that are close
// together, far apart, all but one in one place, and had by several nodes.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, id := range map[string]func(i int) uint64{
		"one after the other": func(i int) uint64 { return uint64(i) + 1000 },
		"every fourth":        func(i int) uint64 { return uint64(i) * 4 },
		"twice each":          func(i int) uint64 { return uint64(i / 2) },
		"all alike":           func(int) uint64 { return 5 },
		"any":                 func(int) uint64 { return r.Uint64() },
		"any, often":          func(int) uint64 { return r.Uint64N(50) << 50 },
		"one apart": func(i int) uint64 {
			if i == 7 {
				return math.MaxUint64
			}
			return uint64(i % 900)
		},
	} {
		tr := &timeline.Trace{}
		op := tr.Strings.ID("cpu_op")
		row := tr.Row(timeline.Row{PID: 1, TID: 1})
		for i := range 1000 {
			start := r.Int64N(500)
			tr.Events.Add(timeline.Event{Start: start, End: start + 1, Category: op, Row: row, Kind: timeline.Host, Flags: timeline.HasExternal, External: int64(id(i))})
		}
		x := &Tree{t: tr}
		b := x.index(x.nest(), operatorID)
		want := map[uint64][]Node{}
		for n := range x.Nodes() {
			id := uint64(x.At(n).External)
			want[id] = append(want[id], n)
		}
		for id, nodes := range want {
			slices.SortFunc(nodes, x.byStart)
			if got := b.of(id); !slices.Equal(got, nodes) {
				t.Fatalf("%s: of %d it has %v, not %v", name, id, got, nodes)
			}
			for _, other := range []uint64{id - 1, id + 1, id ^ 1<<40, id ^ 1<<63} {
				if got := b.of(other); !slices.Equal(got, want[other]) {
					t.Fatalf("%s: of %d it has %v, not %v", name, other, got, want[other])
				}
			}
		}
	}
	var none byID
	if got := none.of(0); got != nil {
		t.Errorf("without ids there is %v", got)
	}
}

func TestSearchNear(t *testing.T) {
	for n := range 40 {
		for answer := range n + 1 {
			for guess := range n + 2 {
				asked := 0
				got := searchNear(n, guess, func(i int) bool {
					if asked++; i < 0 || i >= n {
						t.Fatalf("%d of %d was asked for", i, n)
					}
					return i >= answer
				})
				if got != answer || guess == answer && asked > 2 {
					t.Fatalf("%d of %d, guessed %d: found %d, asked %d times", answer, n, guess, got, asked)
				}
			}
		}
	}
}

// TestDeep: spans may be inside each other to any depth.
func TestDeep(t *testing.T) {
	tr := &timeline.Trace{}
	op := tr.Strings.ID("cpu_op")
	row := tr.Row(timeline.Row{PID: 1, TID: 1})
	const depth = 1000
	for i := range int64(depth) {
		tr.Events.Add(timeline.Event{Start: i, End: 3*depth - i, Category: op, Row: row, Kind: timeline.Host})
	}
	x := New(tr)
	check(t, "deep", x)
	for n := range x.Nodes() {
		want := int64(2)
		if n == depth-1 {
			want = x.At(n).Duration()
		}
		if x.Parent(n) != n-1 || x.End(n) != depth || x.SelfTime(n) != want {
			t.Fatalf("node %d is in %d, up to %d, with %d ns of its own", n, x.Parent(n), x.End(n), x.SelfTime(n))
		}
	}
}

// TestForward holds the arrows between forward and backward operators against a plain
// reading of them: of several of one name, or to one operator, the last counts.
func TestForward(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for round := range 20 {
		tr := &timeline.Trace{}
		op := tr.Strings.ID("cpu_op")
		names := []uint32{tr.Strings.ID("fwdbwd"), tr.Strings.ID("fwdbwd"), tr.Strings.ID("other")} // two of three
		for i := range 400 {
			row := tr.Row(timeline.Row{PID: 1, TID: r.Int64N(3)})
			start := r.Int64N(1000)
			tr.Events.Add(timeline.Event{Start: start, End: start + r.Int64N(100), Name: tr.Strings.ID(fmt.Sprint("op", i)), Category: op, Row: row, Kind: timeline.Host})
		}
		for range 300 {
			e := tr.Events.At(r.Uint32N(400))
			tr.Flows = append(tr.Flows, timeline.FlowPoint{ID: r.Uint64N(uint64(40 + 40*round)), TS: e.Start, Row: e.Row, Name: names[r.IntN(3)], Start: r.IntN(2) == 0, Step: r.IntN(9) == 0})
		}
		x := New(tr)
		outer := func(f *timeline.FlowPoint) Node {
			n := x.Around(f.Row, f.TS)
			for n != None && x.Parent(n) != None && x.At(x.Parent(n)).Start == f.TS {
				n = x.Parent(n)
			}
			return n
		}
		starts, want := map[arrowName]Node{}, map[Node]Node{}
		for i := range tr.Flows {
			if f := &tr.Flows[i]; f.Start && isAutograd(tr.Strings.At(f.Name)) && outer(f) != None {
				starts[arrowName{f.Name, f.ID}] = outer(f)
			}
		}
		for i := range tr.Flows {
			f := &tr.Flows[i]
			if from, ok := starts[arrowName{f.Name, f.ID}]; ok && !f.Start && !f.Step {
				if n := outer(f); n != None && n != from {
					want[n] = from
				}
			}
		}
		if len(want) < 5 {
			t.Fatalf("only %d backward operators", len(want))
		}
		for n := range x.Nodes() {
			from := None
			for at := n; at != None && from == None; at = x.Parent(at) {
				if f, ok := want[at]; ok {
					from = f
				}
			}
			if got := x.Forward(n); got != from {
				t.Fatalf("round %d: the forward operator of %d is %d, not %d", round, n, got, from)
			}
		}
	}
}
