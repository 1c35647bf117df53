package ranks

import (
	"cmp"
	"slices"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Analyze compares the ranks, whose times are on one clock. clocks stand parallel to
// them and may be nil.
func Analyze(ranks []*Rank, matches []Match, clocks []timeline.Alignment) *Analysis {
	a := &Analysis{Steps: []StepReport{}, Kinds: []KindReport{}, Operations: []OperationReport{}}
	for i, r := range ranks {
		p := RankReport{
			Name: r.Name(), File: r.File, Host: r.Host, PID: r.PID, Compute: r.Compute, Communicate: r.Communicate, Exposed: r.Exposed,
			Operations: len(r.Ops), Unnamed: r.Unnamed, Ended: r.Ended, Signal: r.Signal, LastSeen: r.Last,
			Died: r.died(),
		}
		if r.Number >= 0 {
			p.Rank = &r.Number
		}
		if clocks != nil {
			p.Clock = &clocks[i]
		}
		if k := twin(ranks, i); k >= 0 {
			p.SecondOf = ranks[k].File
		}
		a.Ranks = append(a.Ranks, p)
	}
	waits := make([][]int64, len(ranks)) // by step
	for i, r := range ranks {
		waits[i] = make([]int64, len(r.Steps))
	}
	a.operations(ranks, matches, clocks, waits)
	a.steps(ranks, waits)
	a.imbalance()
	a.missed(ranks)
	return a
}

// died reports whether a process was killed, as far as its record says. A signal that
// ended the program is not that of a process which ended in order.
func (r *Rank) died() bool {
	return r.Ended == timeline.EndCut || r.Ended == "" && r.Signal != ""
}

// Split says how long a side of an operation waited until the last had begun, and how
// long it transferred from there on, ns. begun is when the last one began.
func (s *Side) Split(ranks []*Rank, begun int64) (wait, transfer int64) {
	op := &ranks[s.Rank].Ops[s.Op]
	kind := ranks[s.Rank].Whats[op.What].Kind
	wait = min(max(begun, op.Start), op.End) - op.Start
	if kind != Joint && op.End < begun {
		wait = 0 // it needed nothing of the last
	}
	return wait, op.End - op.Start - wait
}

type kindKey struct {
	signature
	size int
}

func (a *Analysis) operations(ranks []*Rank, matches []Match, clocks []timeline.Alignment, waits [][]int64) {
	index := map[kindKey]int{}
	lasts := []map[int]int{}
	for i := range matches {
		m := &matches[i]
		op := func(s Side) *Op { return &ranks[s.Rank].Ops[s.Op] }
		first, last := m.Sides[0], m.Sides[0]
		end := op(first).End
		for _, s := range m.Sides[1:] {
			if op(s).Start < op(first).Start {
				first = s
			}
			if op(s).Start > op(last).Start {
				last = s
			}
			end = max(end, op(s).End)
		}
		begun := op(last).Start
		p := OperationReport{
			Name: m.What.Name, Group: m.What.Group, Dtype: m.What.Dtype, Size: m.What.Size, Ranks: len(m.Sides),
			Start: op(first).Start, Begun: begun, End: end, First: ranks[first.Rank].Name(), Last: ranks[last.Rank].Name(),
		}
		contradicted := false
		for _, s := range m.Sides {
			wait, transfer := s.Split(ranks, begun)
			p.Wait, p.MaxWait, p.Transfer = p.Wait+wait, max(p.MaxWait, wait), p.Transfer+transfer
			r := &a.Ranks[s.Rank]
			r.Wait, r.Transfer, r.Matched = r.Wait+wait, r.Transfer+transfer, r.Matched+1
			if k := op(s).Step; k >= 0 {
				waits[s.Rank][k] += wait
			}
			contradicted = contradicted || m.contradicts(ranks, s, last, clocks)
		}
		a.Ranks[last.Rank].Last++
		if contradicted {
			a.Contradictions++
		}
		a.Operations = append(a.Operations, p)

		sig := m.What.signature()
		if m.What.Kind == Send || m.What.Kind == Recv {
			sig.name = "send/recv"
		}
		key := kindKey{sig, m.What.Size}
		k, ok := index[key]
		if !ok {
			k = len(a.Kinds)
			index[key] = k
			report := KindReport{Name: sig.name, Dtype: sig.dtype, Size: key.size}
			if sig.in >= 0 {
				report.In, report.Out = &sig.in, &sig.out
			}
			a.Kinds = append(a.Kinds, report)
			lasts = append(lasts, map[int]int{})
		}
		r := &a.Kinds[k]
		r.Count, r.Wait, r.Transfer, r.MaxWait = r.Count+1, r.Wait+p.Wait, r.Transfer+p.Transfer, max(r.MaxWait, p.MaxWait)
		lasts[k][last.Rank]++
		if n := lasts[k][last.Rank]; n > r.LastCount {
			r.LastCount, r.Last = n, p.Last
		}
	}
	slices.SortStableFunc(a.Kinds, func(x, y KindReport) int { return cmp.Compare(y.Wait+y.Transfer, x.Wait+x.Transfer) })
}

// contradicts reports whether a side of a joint operation, or a receive, ends before
// the last begins by more than the clocks allow.
func (m *Match) contradicts(ranks []*Rank, s, last Side, clocks []timeline.Alignment) bool {
	op, other := &ranks[s.Rank].Ops[s.Op], &ranks[last.Rank].Ops[last.Op]
	if kind := ranks[s.Rank].Whats[op.What].Kind; kind != Joint && kind != Recv || op.End >= other.Start || clocks == nil {
		return false
	}
	allowed := int64(0)
	for _, r := range []int{s.Rank, last.Rank} {
		if u := clocks[r].UncertaintyNS; u != nil {
			allowed += *u
		} else if clocks[r].Method != timeline.AlignReference {
			return false // nothing is claimed of that clock
		}
	}
	return other.Start-op.End > allowed
}

func (a *Analysis) steps(ranks []*Rank, waits [][]int64) {
	index := map[int64]int{}
	var own []int64
	for i, r := range ranks {
		if a.Ranks[i].SecondOf != "" {
			continue
		}
		for k, s := range r.Steps {
			at, ok := index[s.Number]
			if !ok {
				at = len(a.Steps)
				index[s.Number] = at
				a.Steps = append(a.Steps, StepReport{Number: s.Number})
				own = append(own, 0)
			}
			p := &a.Steps[at]
			// What was launched in a step may wait beyond its end.
			mine := max(s.End-s.Start-waits[i][k], 0)
			p.Ranks++
			own[at] += mine
			p.Wait += waits[i][k]
			p.Duration = max(p.Duration, s.End-s.Start)
			if mine > p.Own || p.Slowest == "" {
				p.Own, p.Slowest = mine, r.Name()
			}
		}
	}
	for i := range a.Steps {
		a.Steps[i].MeanOwn = own[i] / int64(a.Steps[i].Ranks)
	}
	slices.SortFunc(a.Steps, func(x, y StepReport) int { return cmp.Compare(x.Number, y.Number) })
}

func (a *Analysis) imbalance() {
	// Of a job, those that do not take part in it, launchers and helpers, say nothing.
	job := slices.ContainsFunc(a.Ranks, func(r RankReport) bool { return r.Operations > 0 })
	var sum, most int64
	n := 0
	for i := range a.Ranks {
		r := &a.Ranks[i]
		if r.SecondOf != "" || job && r.Operations == 0 && r.Unnamed == 0 {
			continue
		}
		n++
		sum += r.Compute
		if r.Compute > most {
			most, a.Busiest = r.Compute, r.Name
		}
	}
	if n > 1 && sum > 0 {
		mean := float64(sum) / float64(n)
		share := float64(most)/mean - 1
		a.Imbalance = &share
	} else {
		a.Busiest = ""
	}
}

// missed counts what went on in a rank's groups after its last event.
func (a *Analysis) missed(ranks []*Rank) {
	// Of each group, the starts in the rank that went on the longest.
	longest := map[string][]int64{}
	groups := make([]map[string][]int64, len(ranks))
	for i, r := range ranks {
		own := map[string][]int64{}
		for k := range r.Ops {
			if w := &r.Whats[r.Ops[k].What]; w.Size != 1 && (w.Kind == Joint || w.Kind == Rooted) {
				own[w.Group] = append(own[w.Group], r.Ops[k].Start)
			}
		}
		groups[i] = own
		for g, starts := range own {
			if l := longest[g]; len(l) == 0 || starts[len(starts)-1] > l[len(l)-1] {
				longest[g] = starts
			}
		}
	}
	for i, r := range ranks {
		for g := range groups[i] {
			starts := longest[g]
			at, _ := slices.BinarySearch(starts, r.Last+1)
			a.Ranks[i].Missed += len(starts) - at
		}
	}
}
