package ranks

import (
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

var allReduce = What{Name: "allreduce", Dtype: "Float", In: 8, Out: 8, Group: "0 [0, 1]", Size: 2, Peer: -1, Kind: Joint}

func rank(n int, whats []What, ops ...Op) *Rank {
	r := &Rank{Number: n, Whats: whats, Ops: ops}
	for i := range r.Ops {
		r.Last = max(r.Last, r.Ops[i].End)
		r.Ops[i].Step = -1
	}
	return r
}

// TestWaits: waits and transfers of operations whose times are known.
func TestWaits(t *testing.T) {
	send, recv, cast := allReduce, allReduce, allReduce
	send.Name, send.Kind, send.Peer = "send", Send, 1
	recv.Name, recv.Kind, recv.Peer = "recv", Recv, 0
	cast.Name, cast.Kind = "broadcast", Rooted
	one := func(start, end int64) Op { return Op{Start: start, End: end} }
	for _, c := range []struct {
		name     string
		a, b     What
		ops      [2]Op
		wait     [2]int64
		transfer [2]int64
		last     string
	}{
		{"rank 1 comes late", allReduce, allReduce, [2]Op{one(100, 200), one(160, 201)}, [2]int64{60, 0}, [2]int64{40, 41}, "rank 1"},
		{"rank 0 comes late", allReduce, allReduce, [2]Op{one(160, 200), one(100, 201)}, [2]int64{0, 60}, [2]int64{40, 41}, "rank 0"},
		{"a side that ends before the last begins", allReduce, allReduce, [2]Op{one(100, 150), one(160, 201)}, [2]int64{50, 0}, [2]int64{0, 41}, "rank 1"},
		{"a send into a buffer", send, recv, [2]Op{one(100, 150), one(160, 201)}, [2]int64{0, 0}, [2]int64{50, 41}, "rank 1"},
		{"a receive that waits", send, recv, [2]Op{one(160, 200), one(100, 201)}, [2]int64{0, 60}, [2]int64{40, 41}, "rank 0"},
		{"the root of a broadcast", cast, cast, [2]Op{one(100, 150), one(160, 201)}, [2]int64{0, 0}, [2]int64{50, 41}, "rank 1"},
	} {
		ranks := []*Rank{rank(0, []What{c.a}, c.ops[0]), rank(1, []What{c.b}, c.ops[1])}
		a := Analyze(ranks, MatchAll(ranks), nil)
		if len(a.Operations) != 1 || a.Operations[0].Last != c.last {
			t.Errorf("%s: %+v", c.name, a.Operations)
			continue
		}
		for i := range ranks {
			if r := a.Ranks[i]; r.Wait != c.wait[i] || r.Transfer != c.transfer[i] {
				t.Errorf("%s: rank %d waits %d and transfers %d, want %d and %d", c.name, i, r.Wait, r.Transfer, c.wait[i], c.transfer[i])
			}
		}
	}
}

// TestMatching: what is one operation, where records begin and end differently.
func TestMatching(t *testing.T) {
	big := allReduce
	big.In, big.Out = 99, 99
	whats := []What{allReduce, big}
	ops := func(shift int64, seq bool, kinds ...uint32) (out []Op) {
		at := int64(0)
		for i, k := range kinds {
			at += int64(1000 + 137*i*i) // steps do not last the same
			out = append(out, Op{Start: at + shift, End: at + shift + 10, What: k, Seq: uint64(i), HasSeq: seq})
		}
		return out
	}
	all := []uint32{0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1}
	for _, c := range []struct {
		name   string
		a, b   []Op
		shifts []int // of the matches: index in b minus index in a; one for all
		n      int
	}{
		{"the same", ops(0, false, all...), ops(7, false, all...), []int{0}, 12},
		{"the second begins later", ops(0, false, all...), ops(7, false, all...)[3:], []int{-3}, 9},
		{"the first begins later and ends earlier", ops(0, false, all...)[6:10], ops(7, false, all...), []int{6}, 4},
		{"each lacks an end", ops(0, false, all...)[:9], ops(7, false, all...)[3:], []int{-3}, 6},
		{"by number", ops(0, true, all...), ops(900, true, all...)[6:], []int{-6}, 6},
		{"too few to tell which", ops(0, false, 0, 0, 0), ops(7, false, 0), nil, 0},
		{"few of one kind", ops(0, false, 0, 1, 0), ops(7, false, 0, 1)[1:], []int{1 - 2}, 1},
		{"nothing alike", ops(0, false, 0, 0, 0), ops(0, false, 1, 1, 1), nil, 0},
	} {
		ranks := []*Rank{rank(0, whats, c.a...), rank(1, whats, c.b...)}
		matches := MatchAll(ranks)
		if len(matches) != c.n {
			t.Errorf("%s: %d matches, want %d", c.name, len(matches), c.n)
		}
		for _, m := range matches {
			if d := m.Sides[1].Op - m.Sides[0].Op; !slices.Contains(c.shifts, d) {
				t.Errorf("%s: operation %d of rank 0 is %d of rank 1", c.name, m.Sides[0].Op, m.Sides[1].Op)
			}
		}
	}
}

func TestKindOf(t *testing.T) {
	for name, want := range map[string]Kind{
		"allreduce": Joint, "all_reduce": Joint, "allreduce_coalesced": Joint, "_allgather_base": Joint, "all_gather_into_tensor_coalesced": Joint,
		"_reduce_scatter_base": Joint, "reduce_scatter_tensor_coalesced": Joint, "reduce": Rooted, "broadcast": Rooted, "_broadcast_oop": Rooted,
		"gather": Rooted, "scatter": Rooted, "all_to_allv": Joint, "alltoall_base": Joint, "barrier": Joint, "send": Send, "recv": Recv, "recvAnySource": Recv,
		"coalesced": Other, "": Other,
	} {
		if got := KindOf(name); got != want {
			t.Errorf("%q is %d, want %d", name, got, want)
		}
	}
}

func TestWorldRank(t *testing.T) {
	for _, c := range []struct {
		ranks      string
		peer, want int
	}{{"[0, 1]", 1, 1}, {"[4, 5]", 1, 5}, {"[4, 5]", 5, 5}, {"[4, 5]", 9, -1}, {"[0, 1, 2, ..., 99]", 7, 7}, {"", 3, 3}, {"[4, 5]", -1, -1}} {
		if got := worldRank(c.ranks, c.peer, 0); got != c.want {
			t.Errorf("peer %d of %s is %d, want %d", c.peer, c.ranks, got, c.want)
		}
	}
}

// TestJob: steps, exposed communication and imbalance of a job in which one rank is
// slow.
func TestJob(t *testing.T) {
	j := job{ranks: 3, steps: 20, jitter: 500, slow: 2}
	ranks := j.collect(t, 2)
	matches := MatchAll(ranks)
	a := Analyze(ranks, matches, nil)
	if len(a.Steps) != 20 || len(a.Operations) != 20 {
		t.Fatalf("%d steps, %d operations", len(a.Steps), len(a.Operations))
	}
	for _, s := range a.Steps {
		if s.Ranks != 3 || s.Slowest != "rank 1" || s.Own > s.Duration || s.Own < s.MeanOwn {
			t.Errorf("%+v", s)
		}
	}
	if a.Ranks[1].Last < 18 || a.Ranks[1].Wait >= a.Ranks[0].Wait || a.Busiest != "rank 1" || a.Imbalance == nil || *a.Imbalance < 0.2 {
		t.Errorf("imbalance %v of %q, %+v", a.Imbalance, a.Busiest, a.Ranks)
	}
	for i, r := range a.Ranks {
		// Nothing computes beside the all-reduces of this job.
		if r.Exposed != r.Communicate || r.Wait+r.Transfer != r.Communicate || r.Matched != 20 || r.Operations != 20 {
			t.Errorf("rank %d: %+v", i, r)
		}
		for _, o := range ranks[i].Ops {
			if o.Step < 0 {
				t.Errorf("rank %d: an operation in no step", i)
			}
		}
	}
	if k := a.Kinds; len(k) != 1 || k[0].Count != 20 || k[0].Last != "rank 1" || k[0].Size != 3 || *k[0].In != 1024 {
		t.Errorf("%+v", k)
	}
	if len(a.Ends()) != 0 {
		t.Errorf("ends: %q", a.Ends())
	}
}

func TestSpans(t *testing.T) {
	a := union([]span{{5, 9}, {1, 3}, {2, 4}, {9, 10}})
	if !slices.Equal(a, []span{{1, 4}, {5, 10}}) || total(a) != 8 {
		t.Errorf("union %v", a)
	}
	if n := overlap(a, union([]span{{3, 6}, {8, 20}})); n != 1+1+2 {
		t.Errorf("overlap %d", n)
	}
	var many []span
	for i := range int64(100) {
		many = append(many, span{i * 10, i*10 + 5})
	}
	if n := overlap(many, []span{{502, 523}}); n != 3+5+3 {
		t.Errorf("overlap with one of many: %d", n)
	}
}

// TestEnds: a killed rank is named with when it died; one of which nothing is known
// but that others go on, as such.
func TestEnds(t *testing.T) {
	j := job{ranks: 3, steps: 20, jitter: 500, killed: 2}
	ranks := j.collect(t, 4)
	a := Analyze(ranks, MatchAll(ranks), nil)
	ends := a.Ends()
	if len(ends) != 1 || !strings.HasPrefix(ends[0], "rank 1 (pid 100) has nothing more: its last event ends at 2026-") ||
		!strings.HasSuffix(ends[0], "; 10 more operations of its groups began after that") {
		t.Errorf("%q", ends)
	}
	ranks[1].Ended, ranks[1].Signal = timeline.EndCut, "SIGKILL"
	if ends := Analyze(ranks, MatchAll(ranks), nil).Ends(); len(ends) != 1 || !strings.HasPrefix(ends[0], "rank 1 (pid 100) died of SIGKILL: its last event ends at 2026-") {
		t.Errorf("%q", ends)
	}
	// All of a program that was interrupted have its signal.
	ranks[0].Ended, ranks[0].Signal = timeline.EndExit, "SIGINT"
	if r := Analyze(ranks, MatchAll(ranks), nil).Ranks[0]; r.Died {
		t.Errorf("%+v", r)
	}
}
