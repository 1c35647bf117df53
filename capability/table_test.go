package capability

import (
	"errors"
	"testing"
)

func TestDefault(t *testing.T) {
	table := Default()
	for _, vendor := range []string{"ascend", "npu", "musa", "mthreads", "metax", "maca", "ppu", "dcu", "hygon", "roctracer"} {
		if !table.Knows(vendor) {
			t.Errorf("nothing is known of %s", vendor)
		}
	}
	if m := table.Why("npu", "arg-keys", "arg:cuda_runtime/cbid"); m == nil || m.Reason == "" {
		t.Errorf("%+v", m)
	}
	for _, not := range [][3]string{{"npu", "arg-keys", "arg:kernel/stream"}, {"cuda", "arg-keys", "arg:kernel/grid"}, {"npu", "arg-coverage", "arg:kernel/grid"}} {
		if m := table.Why(not[0], not[1], not[2]); m != nil {
			t.Errorf("%q: %+v", not, m)
		}
	}
}

func TestRead(t *testing.T) {
	for _, bad := range []string{"vendors: [", "vendors: {x: [{assertion: a, subject: s, reason: r}]}", "other: 1"} {
		if _, err := Read([]byte(bad)); !errors.Is(err, ErrTable) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true}, {"a", "a", true}, {"a", "ab", false}, {"ab", "a", false}, {"*", "", true}, {"a*", "abc", true},
		{"arg:*/context", "arg:kernel/context", true}, {"arg:*/context", "arg:kernel/stream", false}, {"*b*", "abc", true}, {"*d*", "abc", false},
	} {
		if got := Match(c.pattern, c.text); got != c.want {
			t.Errorf("%q %q: %v", c.pattern, c.text, got)
		}
	}
}
