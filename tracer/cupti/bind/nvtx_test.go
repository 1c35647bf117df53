package bind

import (
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
)

type nvtxShim struct {
	noShim
	joined []uintptr
}

func (s *nvtxShim) JoinNVTX(fn uintptr) { s.joined = append(s.joined, fn) }

// Markers are asked for only if they are wanted, and NVTX is tied to the library
// only if it can record them.
func TestArmNVTX(t *testing.T) {
	for _, c := range []struct {
		what     string
		want     bool // asked for
		function bool // the library has one
		refused  bool
		joined   bool
		note     string
	}{
		{"not asked for", false, true, false, false, ""},
		{"asked for", true, true, false, true, ""},
		{"refused", true, true, true, false, lostRanges + ": cuptiActivityEnable(12)"},
		{"no function", true, false, false, false, lostRanges + ": the library has no function"},
	} {
		l, b := newLibrary()
		l.refuse[12] = c.refused
		if c.function {
			b.fn.nvtxInit = 0x1234
		}
		s := new(nvtxShim)
		if err := b.Arm(s, tracer.Options{API: tracer.APIAll, NVTX: c.want}); err != nil {
			t.Fatal(err)
		}
		if asked := c.want && c.function && !c.refused; l.on[12] != asked || slices.Contains(b.Requested(), "marker") != asked {
			t.Errorf("%s: on %v, requested %q", c.what, l.on, b.Requested())
		}
		if (len(s.joined) == 1 && s.joined[0] == 0x1234) != c.joined || !c.joined && len(s.joined) > 0 {
			t.Errorf("%s: joined %x", c.what, s.joined)
		}
		if notes := strings.Join(b.Diagnoses(), "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: notes %q", c.what, notes)
		}
		if err := b.Disarm(); err != nil || l.on[12] {
			t.Errorf("%s: after Disarm %v, on %v", c.what, err, l.on)
		}
	}
}
