package ranks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestPlanted: an offset and a drift that were planted are found and taken out to
// within the uncertainty that is stated, at both ends of the record.
func TestPlanted(t *testing.T) {
	world := []int64{0, 5_000_000, -3_000_000, 70_000}
	for _, c := range []struct {
		name   string
		job    job
		method string
		drift  bool
		most   int64 // uncertainty, ns
	}{
		{"two ranks, 5 ms", job{ranks: 2, steps: 30, jitter: 3000, offset: world}, timeline.AlignCollectives, false, 20_000},
		{"5 ms and 20 ppm over 10 s", job{ranks: 2, steps: 200, gap: 50_000_000, jitter: 3000, offset: world, drift: []float64{0, 20e-6, 0, 0}}, timeline.AlignCollectives, true, 20_000},
		{"four ranks, each its own", job{ranks: 4, steps: 100, gap: 20_000_000, jitter: 5000, offset: world, drift: []float64{3e-6, 20e-6, -11e-6, 0}}, timeline.AlignCollectives, true, 40_000},
		{"groups in a chain", job{ranks: 4, groups: [][]int{{0, 1}, {1, 2}, {2, 3}}, steps: 60, jitter: 2000, offset: world}, timeline.AlignCollectives, false, 40_000},
		{"a drift of the reference", job{ranks: 2, steps: 100, gap: 30_000_000, jitter: 1000, offset: world, drift: []float64{20e-6, 0}}, timeline.AlignCollectives, true, 20_000},
		{"three collectives", job{ranks: 2, steps: 3, jitter: 1000, offset: world}, timeline.AlignCollectives, false, 20_000},
		{"two collectives: bounds", job{ranks: 2, steps: 2, jitter: 1000, offset: world}, timeline.AlignCausality, false, 700_000},
		{"a pipeline: bounds", job{ranks: 4, pipe: true, steps: 30, jitter: 1000, offset: world}, timeline.AlignCausality, false, 1_000_000},
		{"no jitter", job{ranks: 3, steps: 20, offset: world}, timeline.AlignCollectives, false, 100},
		{"records of different lengths", job{ranks: 2, steps: 40, jitter: 1000, offset: world, from: map[int]int{1: 7}, to: map[int]int{0: 35}}, timeline.AlignCollectives, false, 20_000},
		{"a killed rank", job{ranks: 3, steps: 40, jitter: 1000, offset: world, killed: 2}, timeline.AlignCollectives, false, 20_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(2) {
				ranks := c.job.collect(t, seed)
				matches := MatchAll(ranks)
				res, err := Align(ranks, matches, AlignOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for r := 1; r < len(ranks); r++ {
					clock := &res.Clocks[r]
					if clock.Method != c.method || (clock.DriftPPM != 0) != c.drift && r == 1 {
						t.Errorf("seed %d, rank %d: %+v", seed, r, *clock)
						continue
					}
					u := *clock.UncertaintyNS
					if u > c.most {
						t.Errorf("seed %d, rank %d: uncertain by %d ns, want at most %d", seed, r, u, c.most)
					}
					for _, at := range []int64{ranks[r].Window.Start, ranks[r].Window.End} {
						if off := clock.Map(at) - at - c.job.truth(r, at); abs(off) > u {
							t.Errorf("seed %d, rank %d: off by %d ns, stated %d; %+v", seed, r, off, u, *clock)
						}
					}
				}
				for i, r := range ranks {
					r.Apply(&res.Clocks[i])
				}
				if a := Analyze(ranks, matches, res.Clocks); a.Contradictions != 0 {
					t.Errorf("seed %d: %d operations contradict the clocks", seed, a.Contradictions)
				}
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		name string
		job  job
		o    AlignOptions
		edit func([]*Rank)
		want string
	}{
		{"no collectives", job{ranks: 2, steps: 0}, AlignOptions{}, nil, "rank 1: its trace has no collectives"},
		{"kernels that do not say their group", job{ranks: 2, steps: 10, noGroup: true}, AlignOptions{}, nil, "rank 1: its trace does not say what its 10 kernels of communication do"},
		{"groups that do not meet", job{ranks: 4, groups: [][]int{{0, 1}, {2, 3}}, steps: 10, jitter: 100}, AlignOptions{}, nil, "rank 2: nothing ties the 1 ranks that it works with to rank 0"},
		{"too uncertain", job{ranks: 2, steps: 10, jitter: 100_000}, AlignOptions{MaxUncertainty: 10_000}, nil, "rank 1: its offset from rank 0"},
		{"too few", job{ranks: 2, steps: 1, jitter: 100}, AlignOptions{MaxUncertainty: 10_000}, nil, "is uncertain by"},
		{"one way only", job{ranks: 2, pipe: true, steps: 10, jitter: 100}, AlignOptions{}, func(r []*Rank) {
			for _, r := range r { // rank 0 only sends
				kept := r.Ops[:0]
				for _, o := range r.Ops {
					if (r.Whats[o.What].Kind == Send) == (r.Number == 0) {
						kept = append(kept, o)
					}
				}
				r.Ops = kept
			}
		}, "bound its clock on one side"},
		{"a drift that no clock has", job{ranks: 2, steps: 100, gap: 1_000_000, jitter: 100, drift: []float64{0, 5e-3}}, AlignOptions{}, nil, "its clock would run -4"},
		{"one rank twice", job{ranks: 2, steps: 10, jitter: 100}, AlignOptions{}, func(r []*Rank) { r[1].Number = 0 }, "says that it is of the same rank as rank0.json"},
		{"sizes that differ", job{ranks: 2, steps: 10, jitter: 100}, AlignOptions{}, func(r []*Rank) { r[1].Whats[0].In = 7 }, "none of its 10 collectives is in another trace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ranks := c.job.collect(t, 1)
			if c.edit != nil {
				c.edit(ranks)
			}
			res, err := Align(ranks, MatchAll(ranks), c.o)
			if !errors.Is(err, ErrUnaligned) || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v\nwant %q", err, c.want)
			}
			for _, i := range res.Refused {
				if k := res.Clocks[i]; k.Method != timeline.AlignNone || k.OffsetNS != 0 || k.Reason == "" {
					t.Errorf("rank %d: %+v", i, k)
				}
			}
		})
	}
}

// TestOneHost: ranks of one host keep their times unless the collectives contradict
// it.
func TestOneHost(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int64
		hosts  [2]string
		method string
	}{
		{"one host", 500, [2]string{"a", "a"}, timeline.AlignSameHost},
		{"one host, and not one clock", 5_000_000, [2]string{"a", "a"}, timeline.AlignCollectives},
		{"two hosts", 500, [2]string{"a", "b"}, timeline.AlignCollectives},
		{"hosts that nobody knows", 500, [2]string{"", ""}, timeline.AlignCollectives},
	} {
		ranks := job{ranks: 2, steps: 20, jitter: 2000, offset: []int64{0, c.offset}}.collect(t, 3)
		ranks[0].Host, ranks[1].Host = c.hosts[0], c.hosts[1]
		res, err := Align(ranks, MatchAll(ranks), AlignOptions{OneHost: true})
		if err != nil || res.Clocks[1].Method != c.method {
			t.Errorf("%s: %+v, %v", c.name, res.Clocks[1], err)
		}
	}
}

// TestSharedSkew: on two ranks of NCCL, a skew of 5 ms and a drift of 20 ppm more are
// found, to within what is stated.
func TestSharedSkew(t *testing.T) {
	load := func() (out []*Rank) {
		for i := range 2 {
			docs, err := chrome.ReadFile(testrig.Shared(t, fmt.Sprintf("traces/pairs/ddp.rank%d.kineto.json.gz", i)), chrome.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, Collect(docs[0].Trace, "")...)
		}
		return out
	}
	align := func(r []*Rank) timeline.Alignment {
		res, err := Align(r, MatchAll(r), AlignOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if n := res.Clocks[1].Collectives; n != 10 {
			t.Errorf("%d collectives, want 10: all but a broadcast and a send", n)
		}
		return res.Clocks[1]
	}
	plain := align(load())
	if u := *plain.UncertaintyNS; u > 10_000 || abs(plain.OffsetNS) > u {
		t.Errorf("ranks of one host are apart: %+v, uncertain by %d", plain, u)
	}
	skewed := load()
	w := skewed[1].Window
	planted := timeline.Alignment{OffsetNS: 5_000_000, DriftPPM: 20, AtNS: w.Start}
	skewed[1].Apply(&planted)
	found := align(skewed)
	for _, at := range []int64{w.Start, w.End} {
		want := plain.Map(at)
		if off := found.Map(planted.Map(at)) - want; abs(off) > *found.UncertaintyNS {
			t.Errorf("off by %d ns, stated %d", off, *found.UncertaintyNS)
		}
	}
}
