package cut

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/canon"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// mergedRanks are the traces of two ranks, and both in one, written and read.
func mergedRanks(t *testing.T) (ranks []*timeline.Trace, merged *timeline.Trace) {
	t.Helper()
	var parts []merge.Part
	for rank := range 2 {
		tr := readFile(t, fmt.Sprintf("../testdata/pairs/ddp.rank%d.kineto.json.gz", rank))
		ranks = append(ranks, tr)
		parts = append(parts, merge.Part{Trace: tr, Label: fmt.Sprint("rank ", rank)})
	}
	both, err := merge.Traces(parts)
	if err != nil {
		t.Fatal(err)
	}
	return ranks, read(t, write(t, both))
}

// TestMergedThenCut: a rank cut out of a merged trace is the trace of that rank.
func TestMergedThenCut(t *testing.T) {
	ranks, merged := mergedRanks(t)
	for rank, want := range ranks {
		part, result, err := Trace(merged, Options{Ranks: []int64{int64(rank)}})
		if err != nil {
			t.Fatal(err)
		}
		canon.Compare(t, fmt.Sprint("rank ", rank), content(part), content(want))
		canon.Compare(t, fmt.Sprint("rank ", rank, " written"), content(read(t, write(t, part))), content(read(t, write(t, want))))
		if result.Of != merged.Events.Len() || result.Events != want.Events.Len() {
			t.Errorf("rank %d: %+v", rank, result)
		}
		// Part of a rank is part of its trace.
		o := Options{Categories: []string{"kernel", "cuda_runtime"}}
		wantPart, _, err := Trace(want, o)
		if err != nil {
			t.Fatal(err)
		}
		o.Ranks = []int64{int64(rank)}
		if part, _, err = Trace(merged, o); err != nil {
			t.Fatal(err)
		}
		canon.Compare(t, fmt.Sprint("part of rank ", rank), content(part), content(wantPart))
	}
}

// TestBothRanks: all ranks are the whole, and their rows are told by the record of
// the merge, or by the labels where that is gone.
func TestBothRanks(t *testing.T) {
	_, merged := mergedRanks(t)
	part, _, err := Trace(merged, Options{Ranks: []int64{0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	canon.Compare(t, "both ranks", content(part), content(merged))

	merged.Metadata = slices.DeleteFunc(merged.Metadata, func(p timeline.Property) bool { return p.Key == merge.KeyMerge })
	for rank := range int64(2) {
		part, _, err := Trace(merged, Options{Ranks: []int64{rank}})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(part.Events.Len()) {
			r := &part.Rows[part.Events.At(i).Row]
			for g := range part.Groups {
				if pidOfGroup(&part.Groups[g]) == pidOf(r) && !strings.Contains(part.Groups[g].Label, fmt.Sprint("rank ", rank)) {
					t.Fatalf("an event of %q in rank %d", part.Groups[g].Label, rank)
				}
			}
		}
		if n := part.Events.Len(); n < 100 || n >= merged.Events.Len() {
			t.Errorf("rank %d has %d of %d events", rank, n, merged.Events.Len())
		}
	}
	if _, _, err := Trace(merged, Options{Ranks: []int64{2}}); err == nil || !strings.Contains(err.Error(), `"0", "1"`) {
		t.Errorf("rank 2: %v", err)
	}
}

func TestRankLabels(t *testing.T) {
	for label, want := range map[string]int64{
		"rank 3": 3, "rank 12 CPU (pid 90)": 12, "Rank 0": 0, "rank0 GPU 1": 0, "rank: 7": 7,
		"GPU 3": -1, "crank 3": -1, "rank": -1, "rank 1.5": -1, "": -1,
	} {
		n, ok := rankOf(&timeline.Group{Label: label})
		if ok != (want >= 0) || ok && n != want {
			t.Errorf("%q: %d, %v", label, n, ok)
		}
	}
}
