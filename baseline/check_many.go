package baseline

import (
	"fmt"
	"slices"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// oneIsFine are arguments of which a program may well have one value where another run
// has many.
var oneIsFine = []string{"stream", "device", "context", "queued", "priority", "channel", "channel_type", "graph id", "graph node id", "Fwd thread id", "Python thread",
	"Sequence number", "Record function id", // of programs without a backward pass, and of newer versions of torch
	"Process Group Name", "Process Group Description", "Process Group Ranks", "Rank", "wait_on_stream", "wait_on_cuda_event_record_corr_id"}

// oneOfMany finds arguments that take many values in the base, and one here, in
// whatever category; those of varying are told already. So it does names of events,
// but for those that the program gives itself.
func (d *differ) oneOfMany() {
	b, now := d.base.Seen, d.now.Seen
	if b == nil || now == nil {
		return
	}
	for _, category := range sorted(b.Classes) {
		x, c := b.Classes[category], now.Classes[category]
		if c == nil || c.N < enoughEvents || d.o.Scope == Device && hostSide[category] {
			continue
		}
		for _, key := range sorted(x.Args) {
			was, is := x.Args[key], c.Args[key]
			// As many events as not to be a few of one kind.
			if is == nil || !was.Many || is.N < enoughEvents || is.N*4 < was.N || slices.Contains(oneIsFine, key) || slices.Contains(varying[category], key) {
				continue
			}
			d.checked++
			d.judged = true
			if is.Varies || category == "kernel" && (c.Names < enoughNames || d.constantInBase(category, key, is)) {
				continue
			}
			d.broken++
			d.find(verdict.Finding{Subject: "constant:" + category + "/" + key, Severity: argSeverity(category), Where: d.first(category, key), Count: is.N, Of: c.N,
				What:     fmt.Sprintf("%q is %s on all %d events of category %s that have it, and takes many values in the base", key, is.First, is.N, category),
				Expected: "values that differ, as in the base", Got: is.First + " everywhere", Fix: "write what was measured; leave the argument out where nothing was"})
		}
		switch category {
		case "kernel", "cuda_runtime", "cuda_driver", "cpu_op", "user_annotation", "gpu_user_annotation", "gpu_memcpy", "gpu_memset", "Trace":
			continue // told by other assertions, or the program's own
		}
		if x.Names < shape.ManyValues || c.N*4 < x.N {
			continue
		}
		d.checked++
		d.judged = true
		if c.Names > 1 {
			continue
		}
		d.broken++
		where := d.first(category, "")
		d.find(verdict.Finding{Subject: "constant:" + category + "/name", Severity: verdict.Warning, Where: where, Count: c.N, Of: c.N,
			What:     fmt.Sprintf("all %d events of category %s have one name, and %d in the base", c.N, category, x.Names),
			Expected: "names that differ, as in the base", Got: where.Name, Fix: "write each event's own name"})
	}
}

// What makes a value too common: of the kernels that both sides run, up to the first
// share have one value in the base, and from the second on here.
const (
	commonBefore  = 0.6
	commonNow     = 0.75
	commonKernels = 8
)

// tooCommon finds figures of kernels that are mostly one value, where the same kernels
// have many in the base. That of the occupancy follows from others: it may be one value
// where those are.
func (d *differ) tooCommon() {
	if d.base.Seen == nil || d.now.Seen == nil || !d.sameVendor() || !slices.Equal(d.base.Seen.Devices, d.now.Seen.Devices) {
		return
	}
	x, c := d.base.Seen.Classes["kernel"], d.now.Seen.Classes["kernel"]
	if x == nil || c == nil {
		return
	}
	common := func(key string) (n int, before, now float64, value string) {
		was, is := x.Args[key], c.Args[key]
		if was == nil || is == nil {
			return 0, 1, 1, ""
		}
		a, b := map[string]int{}, map[string]int{}
		for name, v := range is.ByName {
			if u, ok := was.ByName[name]; ok {
				a[u]++
				b[v]++
				n++
			}
		}
		share := func(m map[string]int) (best string, s float64) {
			most := 0
			for _, v := range sorted(m) {
				if m[v] > most {
					best, most = v, m[v]
				}
			}
			return best, float64(most) / float64(max(n, 1))
		}
		_, before = share(a)
		value, now = share(b)
		return n, before, now, value
	}
	for _, key := range []string{"registers per thread", "shared memory", "est. achieved occupancy %"} {
		n, before, now, value := common(key)
		if n < commonKernels || before > commonBefore {
			continue
		}
		d.checked++
		d.judged = true
		if now < commonNow || !c.Args[key].Varies {
			continue // all of them: told above
		}
		if key == "est. achieved occupancy %" {
			_, _, grid, _ := common("grid")
			_, _, block, _ := common("block")
			_, _, registers, _ := common("registers per thread")
			if min(grid, block, registers) > commonBefore {
				continue
			}
		}
		d.broken++
		d.find(verdict.Finding{Subject: "constant:kernel/" + key, Severity: verdict.Error, Where: d.first("kernel", key), Count: int64(now*float64(n) + 0.5), Of: int64(n),
			What:     fmt.Sprintf("%q is %s on %.0f %% of the %d kernels that both sides run, by name, and no value is on more than %.0f %% of them in the base", key, value, now*100, n, before*100),
			Expected: "values that differ, as in the base", Got: value + " on most", Fix: "write what was measured; leave the argument out where nothing was"})
	}
}
