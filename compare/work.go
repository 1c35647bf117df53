package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// WorkChange is work that one side does more of than the other. Less time for less
// work is no improvement.
type WorkChange struct {
	Name string `json:"name"` // of its row in the table of operators
	// Of says what is counted: "calls" of an operator, or "launches", which are kernels,
	// copies and fills, where no operator tells, or the calls are as many.
	Of string `json:"of"`
	// Base and New are of the mean run of each side.
	Base float64 `json:"base"`
	New  float64 `json:"new"`
	// DeviceNS is what the work that the other side lacks takes of the mean run of the
	// side that has more, if each call or launch takes as long as the next, and Share
	// what part of its device time that is.
	DeviceNS float64 `json:"device_ns"`
	Share    float64 `json:"share"`
}

// workload is the work of one row of the table of operators, by side.
type workload struct {
	calls, launches, ns [2]float64 // of the mean run
	eager, compiled     [2]bool
	level               Level // the least sure
	kernels             map[string]*kernelLoad
}

type kernelLoad struct{ launches, ns [2]float64 }

// workloads counts the work of each row of the table of operators.
func (m *Matching) workloads() map[string]*workload {
	out := map[string]*workload{}
	byGroup := make([]*workload, len(m.Groups))
	for i := range m.Groups {
		name := m.rowName(&m.Groups[i])
		if out[name] == nil {
			out[name] = &workload{kernels: map[string]*kernelLoad{}}
		}
		byGroup[i] = out[name]
		byGroup[i].level = max(byGroup[i].level, m.Groups[i].Level)
	}
	for side, runs := range m.runs {
		for _, r := range runs {
			seen := make([]uint8, r.tree.Len()) // levels at which a node is counted, as bits
			type kernelKey struct {
				a    *workload
				name uint32
			}
			kernels := map[kernelKey]*kernelLoad{}
			for w := range r.tree.Works() {
				group := r.group[w]
				g, a := &m.Groups[group], byGroup[group]
				if n := m.callOf(r, w, g); n != calltree.None && seen[n]&(1<<g.Level) == 0 {
					seen[n] |= 1 << g.Level
					a.calls[side]++
				}
				ns := float64(r.tree.WorkAt(w).Duration())
				a.launches[side]++
				a.ns[side] += ns
				if r.unit[w].loose == compiled {
					a.compiled[side] = true
				} else {
					a.eager[side] = true
				}
				key := kernelKey{a, r.tree.WorkAt(w).Name}
				k := kernels[key]
				if k == nil {
					// A compiler numbers its kernels anew each time.
					name := m.rules.Operator(r.tree.WorkName(w))
					if a.kernels[name] == nil {
						a.kernels[name] = new(kernelLoad)
					}
					k = a.kernels[name]
					kernels[key] = k
				}
				k.launches[side]++
				k.ns[side] += ns
			}
		}
	}
	for _, a := range out {
		for side := range m.runs {
			// Sums are whole numbers: that two means are the same can be seen.
			n := float64(len(m.runs[side]))
			a.calls[side], a.launches[side], a.ns[side] = a.calls[side]/n, a.launches[side]/n, a.ns[side]/n
			for _, k := range a.kernels {
				k.launches[side], k.ns[side] = k.launches[side]/n, k.ns[side]/n
			}
		}
	}
	return out
}

// callOf returns the call of the group's operator that work belongs to, None where the
// group is none of an operator.
func (m *Matching) callOf(r *run, w calltree.Work, g *Group) calltree.Node {
	if g.Path == calltree.Top {
		return calltree.None
	}
	op := r.tree.Operator(w)
	if g.Level == ByAncestor {
		for n := op; n != calltree.None; n = r.tree.Parent(n) {
			if r.paths[n] == g.Path && r.tree.Class(n) == calltree.Operator {
				return n
			}
		}
	}
	return op
}

// more returns what the mean run of one side has that that of the other has not, ns,
// and what shows it: counts that differ.
func (a *workload) more(s Side) (ns float64, of string, counts [2]float64) {
	o := 1 - s
	calls, launches := a.calls, a.launches
	ofCalls := calls[s] > 0
	of, counts = "launches", launches
	if ofCalls {
		of, counts = "calls", calls
	}
	if launches[o] == 0 {
		return a.ns[s], of, counts
	}
	// A compiler melts kernels into one, and does the work of several operators at
	// once: as many calls and launches are not to be expected of it.
	melted := a.eager[Base] != a.eager[New] || a.compiled[Base] != a.compiled[New] || !ofCalls && a.level >= ByClass && (a.compiled[Base] || a.compiled[New])
	switch {
	case launches[s] == 0 || melted:
		return 0, "", counts
	case counts[s] > counts[o]:
		return a.ns[s] * (1 - counts[o]/counts[s]), of, counts
	case !ofCalls || counts[s] < counts[o]:
		return 0, "", counts
	}
	// As many calls. Launches are fewer for less work only if no other kernel took over.
	for _, k := range a.kernels {
		if k.launches[s] == 0 || k.launches[o] > k.launches[s] {
			return 0, "", counts
		}
		ns += k.ns[s] * (1 - k.launches[o]/k.launches[s])
	}
	return ns, "launches", launches
}

// work lists what one side does more of than the other, most time first.
func (r *Report) work(m *Matching) {
	r.Less, r.More = []WorkChange{}, []WorkChange{}
	rows := map[string]*Row{}
	for _, row := range r.table("operator") {
		rows[row.Name] = row
	}
	for name, a := range m.workloads() {
		for s, list := range [2]*[]WorkChange{&r.Less, &r.More} {
			ns, of, counts := a.more(Side(s))
			if ns <= 0 || r.total[s] <= 0 {
				continue
			}
			*list = append(*list, WorkChange{name, of, counts[Base], counts[New], ns, ns / r.total[s]})
			if Side(s) == Base {
				rows[name].less = ns
			} else {
				rows[name].more = ns
			}
		}
	}
	for _, list := range [][]WorkChange{r.Less, r.More} {
		slices.SortFunc(list, func(a, b WorkChange) int {
			return cmp.Or(cmp.Compare(b.DeviceNS, a.DeviceNS), cmp.Compare(a.Name, b.Name))
		})
	}
}

// shares adds up the shares of a list.
func shares(list []WorkChange) (sum float64) {
	for i := range list {
		sum += list[i].Share
	}
	return sum
}

// explain marks rows whose time changed, but for what does not matter, because less or
// more was done.
func (r *Report) explain(minEffect float64) {
	for _, row := range r.table("operator") {
		c := &row.Change
		base, now := max(c.Base-row.less, 0), max(c.New-row.more, 0) // of what both did
		switch {
		case c.Status == Faster && row.less > 0, c.Status == Slower && row.more > 0:
			row.explained = base == 0 || now == 0 || beyond(now/base, minEffect) != c.Status
		}
	}
}

// workLine names the greatest of a list, with what they come to together.
func workLine(list []WorkChange, side Side) string {
	var parts []string
	for i := range list {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		parts = append(parts, cut(list[i].Name, 60)+" ("+list[i].counts(side)+")")
	}
	whose := "the base's"
	if side == New {
		whose = "their"
	}
	return fmt.Sprintf("%s, which is %.1f %% of %s device time", strings.Join(parts, ", "), 100*shares(list), whose)
}

const unmetText = "most of the device time has no counterpart on the other side"

// unmetWork reports whether most device time of both sides belongs to nothing that the
// other has, as where operators were renamed: as much time then says nothing.
func (r *Report) unmetWork() bool {
	for side, all := range r.Matched.Total {
		if met := r.Matched.Met[side].DeviceNS; all.DeviceNS == 0 || 2*met >= all.DeviceNS {
			return false
		}
	}
	return true
}

// only reports whether the other side has nothing of it.
func (w *WorkChange) only(side Side) bool { return [2]float64{w.Base, w.New}[1-side] == 0 }

func (w *WorkChange) counts(side Side) string {
	if w.only(side) {
		return "only " + side.String()
	}
	return fmt.Sprintf("%.6g > %.6g %s", w.Base, w.New, w.Of)
}

// lessAndMore says what the new runs do less and more of, as far as it is worth a word.
func (r *Report) lessAndMore() string {
	var parts []string
	if shares(r.Less) >= r.Settings.MinShare || r.lessWork {
		parts = append(parts, "the new runs do less: "+workLine(r.Less, Base))
	}
	if shares(r.More) >= r.Settings.MinShare || r.moreWork {
		parts = append(parts, "the new runs do more: "+workLine(r.More, New))
	}
	lacks := slices.ContainsFunc(r.Less, func(w WorkChange) bool { return w.only(Base) })
	if lacks && len(parts) == 2 && slices.ContainsFunc(r.More, func(w WorkChange) bool { return w.only(New) }) {
		parts = append(parts, "if some of it is the same by another name, match rules (--match-rules) can say so")
	}
	return strings.Join(parts, "; ")
}
