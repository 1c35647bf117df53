package baseline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// What makes one name stand for others: so many operators start as many kernels as in
// the base, where those have so many names and not this one, and here most of them
// have it.
const (
	crowdedOps   = 5
	crowdedNames = 6
)

// standIns are names of kernels that name none.
var standIns = []string{"kernel", "void kernel", "cuda kernel", "gpu kernel", "gpu_kernel", "cuda_kernel", "none", "null", "n/a"}

// crowded finds a name that kernels have in place of their own, where some still have
// theirs, and reports whether there is one. On devices of another vendor, one kernel
// may do what many do elsewhere: there the name must be one that names nothing.
func (d *differ) crowded() bool {
	if d.base.Seen == nil || d.now.Seen == nil {
		return false
	}
	base, now := d.base.Seen.OperatorKernels, d.now.Seen.OperatorKernels
	before, after := total(base), total(now)
	all := sum(after)
	for _, name := range sorted(after) {
		n := after[name]
		standIn := slices.Contains(standIns, strings.ToLower(strings.TrimSpace(name)))
		if n < enoughEvents || n*10 < all || before[name]*2*all > n*max(sum(before), 1) || !standIn && !d.sameVendor() {
			continue
		}
		operators, names := 0, map[string]bool{}
		for op, kernels := range now {
			was := base[op]
			a, b := sum(was), sum(kernels)
			if kernels[name] == 0 || !standIn && kernels[name]*2 <= b || float64(min(a, b)) < sameNumber*float64(max(a, b)) || was[name]*10 > a {
				continue
			}
			operators++
			for k := range was {
				names[k] = true
			}
		}
		if standIn && operators < enoughNames || !standIn && operators < crowdedOps || standIn && len(names) < enoughNames || !standIn && len(names) < crowdedNames {
			continue
		}
		d.judged = true
		d.broken += n
		d.find(verdict.Finding{Subject: "kernels:one-name", Severity: verdict.Error, Where: d.first("kernel", ""), Count: n, Of: all,
			What:     fmt.Sprintf("%d of %d kernels have the name %q, those of %s among them, which start %d other kernels in the base", n, all, name, count(operators, "operator"), len(names)),
			Expected: some(slices.Sorted(maps.Keys(names))), Got: name, Fix: "write the name that the kernel's record has, demangled"})
		return true
	}
	return false
}

// copyNames holds what the names of copies say of their direction against the base's.
// Only where both sides made the same copies, by operator and number, is anything sure.
func (d *differ) copyNames() {
	if d.base.Seen == nil || d.now.Seen == nil || !d.sameVendor() {
		return
	}
	sums := func(of map[string]map[string]int64) (by, all map[string]int64) {
		by, all = map[string]int64{}, map[string]int64{}
		for op, m := range of {
			by[op] = sum(m)
			for dir, n := range m {
				all[dir] += n
			}
		}
		return by, all
	}
	a, before := sums(d.base.Seen.Copies)
	b, after := sums(d.now.Seen.Copies)
	if sum(a) == 0 || sum(b) == 0 {
		return
	}
	if before[""] == 0 && after[""] > 0 {
		d.judged = true
		d.broken += after[""]
		d.find(verdict.Finding{Subject: "copies:direction", Severity: verdict.Warning, Where: d.first("gpu_memcpy", ""), Count: after[""], Of: sum(b),
			What:     fmt.Sprintf("names of copies do not tell from where to where (%d of %d)", after[""], sum(b)),
			Expected: "names with " + directionText(before), Got: d.first("gpu_memcpy", "").Name, Fix: "write the direction into the name, as in Memcpy HtoD (Pageable -> Device)"})
		return
	}
	if !maps.Equal(a, b) || before[""] > 0 {
		return
	}
	d.judged = true
	for _, op := range sorted(b) {
		if maps.Equal(d.base.Seen.Copies[op], d.now.Seen.Copies[op]) {
			continue
		}
		d.broken++
		what := "copies of " + op
		if op == "" {
			what = "copies of no operator"
		}
		d.find(verdict.Finding{Subject: "copies:direction", Severity: verdict.Error, Where: d.first("gpu_memcpy", ""), Count: b[op], Of: sum(b),
			What:     what + " go in other directions than in the base, where both sides make the same number of copies in each operator",
			Expected: directionText(d.base.Seen.Copies[op]), Got: directionText(d.now.Seen.Copies[op]), Fix: "take the direction from the copy's own record"})
		return
	}
}

func directionText(counts map[string]int64) string {
	var words []string
	for _, dir := range sorted(counts) {
		words = append(words, fmt.Sprintf("%s (%d)", dir, counts[dir]))
	}
	return strings.Join(words, ", ")
}

// kernelsNamed finds kernels without a name.
func (d *differ) kernelsNamed() judgement {
	return d.measured(shape.KernelsNamed, verdict.Error, verdict.Finding{What: "kernels have no name", Expected: "the names of the kernels",
		Fix: "write the name that the kernel's record has, demangled"})
}
