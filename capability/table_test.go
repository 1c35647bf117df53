package capability

import (
	"errors"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
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

// TestNames: what people call a vendor's devices, to record them, finds its entries.
func TestNames(t *testing.T) {
	table := Default()
	for _, v := range tracer.Vendors() {
		for _, name := range append([]string{v.Tracer}, v.Names...) {
			if cuda := v.Tracer == "cupti"; table.Knows(name) == cuda {
				t.Errorf("%s: entries: %v", name, !cuda)
			}
		}
	}
	for name, to := range table.Aliases {
		if len(table.Vendors[to]) == 0 {
			t.Errorf("%s is another name of %s, of which there are no entries", name, to)
		}
		if len(table.Vendors[name]) > 0 {
			t.Errorf("%s has entries, and is another name of %s", name, to)
		}
	}
}

// TestEntries: each says why and from where; what nobody knows is told as that, and what
// was read somewhere is not.
func TestEntries(t *testing.T) {
	for vendor, list := range Default().Vendors {
		seen := map[string]bool{}
		for _, m := range list {
			key := m.Assertion + " " + m.Subject
			if seen[key] {
				t.Errorf("%s: %s is there twice", vendor, key)
			}
			seen[key] = true
			if says := strings.HasPrefix(m.Reason, "it is not known whether "); says != m.Unknown {
				t.Errorf("%s: %s: unknown is %v, and the reason %q", vendor, key, m.Unknown, m.Reason)
			}
			if strings.Contains(m.Reason, "not known to") {
				t.Errorf("%s: %s: %q leaves open whether it was looked for", vendor, key, m.Reason)
			}
		}
	}
	for _, c := range []struct {
		vendor, subject string
		unknown         bool
	}{
		{"ppu", "category:cuda_driver", true}, {"ppu", "category:cuda_sync", true}, {"ppu", "category:overhead", true}, {"ppu", "category:gpu_memset", true},
		{"metax", "category:cuda_sync", true}, {"metax", "category:overhead", true}, {"metax", "category:cuda_driver", false}, {"musa", "category:cuda_driver", false},
		{"dcu", "category:cuda_sync", false}, {"ascend", "category:overhead", false},
	} {
		if m := Default().Why(c.vendor, "categories", c.subject); m == nil || m.Unknown != c.unknown {
			t.Errorf("%s: %s: %+v", c.vendor, c.subject, m)
		}
	}
	// MUPTI records waits and its own time: torch_musa's Kineto reads both.
	for _, subject := range []string{"category:cuda_sync", "category:overhead"} {
		if m := Default().Why("musa", "categories", subject); m != nil {
			t.Errorf("%+v", m)
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
