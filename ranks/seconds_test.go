package ranks

import (
	"slices"
	"strings"
	"testing"
)

// TestSecondTrace: a second trace of a rank, and one of a process that does not take
// part in the job, change nothing of what is said about the job, and the former is
// told.
func TestSecondTrace(t *testing.T) {
	j := job{ranks: 3, steps: 20, jitter: 500, slow: 2}
	once := j.collect(t, 2)
	want := Analyze(once, MatchAll(once), nil)
	if len(want.Seconds()) > 0 {
		t.Fatalf("%q", want.Seconds())
	}
	all := append(j.collect(t, 2), j.collect(t, 2)[1])
	all[3].File = "again.json"
	all = append(all, &Rank{Number: -1, File: "launcher.json"})
	Sort(all)
	a := Analyze(all, MatchAll(all), nil)
	if s := a.Seconds(); len(s) != 1 || !strings.HasPrefix(s[0], "rank 1 has two traces, rank1.json and again.json") {
		t.Errorf("%q", s)
	}
	if a.Imbalance == nil || *a.Imbalance != *want.Imbalance || a.Busiest != want.Busiest {
		t.Errorf("imbalance %v of %q, want %v of %q", a.Imbalance, a.Busiest, *want.Imbalance, want.Busiest)
	}
	if !slices.Equal(a.Steps, want.Steps) {
		t.Errorf("steps %+v\nwant %+v", a.Steps, want.Steps)
	}
	if len(a.Operations) != len(want.Operations) {
		t.Errorf("%d operations, want %d", len(a.Operations), len(want.Operations))
	}
}
