package baseline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// oneKernelName finds kernels that have one name for all, where the base's have
// several, and reports whether they do.
func (d *differ) oneKernelName() bool {
	now := d.now.Seen
	if now == nil {
		return false
	}
	c := now.Classes["kernel"]
	if c == nil || c.N < enoughEvents || c.Names != 1 {
		return false
	}
	names := 0
	if b := d.base.Seen; b != nil {
		if k := b.Classes["kernel"]; k != nil {
			names = k.Names
		}
	} else if len(now.OperatorKernels) >= enoughNames { // a file may be of another program
		all := map[string]bool{}
		for _, p := range d.base.Shape.Operators {
			for _, k := range p.Kernels {
				all[k] = true
			}
		}
		names = len(all)
	}
	if names < enoughNames {
		return false
	}
	d.judged = true
	where := d.first("kernel", "")
	d.find(verdict.Finding{Subject: "kernels:variety", Severity: verdict.Error, Where: where, Count: c.N, Of: c.N,
		What:     fmt.Sprintf("all %d kernels have one name, where the base's have %d", c.N, names),
		Expected: "the names of the kernels", Got: where.Name, Fix: "write the name that the kernel's record has, demangled"})
	return true
}

// What makes kernels' names exchanged: the names of two traces are nearly all the same,
// most operators run others' kernels, and those are a good part of all. Operators that
// start another number of kernels carry the program out in another way, and a library
// may choose another kernel for a few: neither says anything.
const (
	sameNames   = 0.95 // of all names
	sameNumber  = 0.9  // of an operator's kernels
	movedShare  = 0.3  // of the kernels compared
	movedOps    = 3    // at least, and half of those compared
	comparedOps = 0.5  // of all kernels
)

// exchanged finds kernels that bear each other's names, and reports whether they do:
// both sides, of one vendor, ran the same kernels, and systematically under other
// operators.
func (d *differ) exchanged() bool {
	if d.base.Seen == nil || d.now.Seen == nil || !d.sameVendor() {
		return false
	}
	base, now := d.base.Seen.OperatorKernels, d.now.Seen.OperatorKernels
	before, after := total(base), total(now)
	if _, same := alikeCounts(once(before), once(after)); same < sameNames {
		return false
	}
	operators, compared, moved := 0, int64(0), int64(0)
	var names []string
	example := ""
	for _, op := range sorted(now) {
		a, b := base[op], now[op]
		n, m := sum(a), sum(b)
		if n == 0 || float64(min(n, m)) < sameNumber*float64(max(n, m)) {
			continue
		}
		_, same := alikeCounts(a, b)
		operators++
		compared += m
		moved += int64(float64(m)*(1-same) + 0.5)
		if same < 0.5 {
			names = append(names, op)
			if example == "" {
				example = op
			}
		}
	}
	if len(names) < movedOps || len(names)*2 < operators || float64(compared) < comparedOps*float64(max(sum(before), sum(after))) || float64(moved) < movedShare*float64(compared) {
		return false
	}
	d.broken++
	d.find(verdict.Finding{Subject: "work:exchanged", Severity: verdict.Error, Where: d.operator(example), Count: moved, Of: compared,
		What:     fmt.Sprintf("%s run kernels that are others' in the base, and both sides ran the same kernels: %s", count(len(names), "operator"), some(names)),
		Expected: example + " with " + frequent(base[example]), Got: frequent(now[example]),
		Fix: "check that a kernel's name is taken from its own record, and that its External id is its own"})
	return true
}

func total(of map[string]map[string]int64) map[string]int64 {
	all := map[string]int64{}
	for _, kernels := range of {
		for name, n := range kernels {
			all[name] += n
		}
	}
	return all
}

// once counts each name once.
func once(counts map[string]int64) map[string]int64 {
	out := map[string]int64{}
	for name := range counts {
		out[name] = 1
	}
	return out
}

func sum(counts map[string]int64) (n int64) {
	for _, k := range counts {
		n += k
	}
	return n
}

// alikeCounts is how many both count, and which share of the larger is common.
func alikeCounts(a, b map[string]int64) (most int64, share float64) {
	common := int64(0)
	for name, n := range a {
		common += min(n, b[name])
	}
	if most = max(sum(a), sum(b)); most > 0 {
		share = float64(common) / float64(most)
	}
	return most, share
}

// frequent is the name that is counted most, cut to a readable length.
func frequent(counts map[string]int64) string {
	best := slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int { return int(counts[a] - counts[b]) })
	if r := []rune(best); len(r) > 80 {
		return string(r[:80]) + "..."
	}
	return strings.TrimSpace(best)
}
