package shape

import (
	"cmp"
	"math"
	"slices"
	"strconv"
)

// order is what joins an operator of the forward pass with those of the backward pass.
type order struct {
	event    uint32
	forward  uint32 // of a backward operator: the framework's number of the forward thread; 0: none
	sequence int64
}

// orderKeys are the arguments that say it.
var orderKeys = [2]string{"Sequence number", "Fwd thread id"}

// order keeps what the event says that was taken last.
func (l *look) order(i uint32, c *class) {
	a := &c.keys[c.ordered[0]-1]
	if a.at != c.n {
		return
	}
	x := order{event: i}
	var ok bool
	if x.sequence, ok = a.value.Int(); !ok || x.sequence < 0 {
		return
	}
	if k := c.ordered[1]; k != 0 {
		if b := &c.keys[k-1]; b.at == c.n {
			if n, ok := b.value.Int(); ok && n > 0 && n <= math.MaxUint32 {
				x.forward = uint32(n)
			}
		}
	}
	l.orders.Add(x)
}

// spotKey is where and when an end of an arrow stands.
type spotKey struct {
	row uint32
	ts  int64
}

// backEnd is an end of an arrow from a forward to a backward operator.
type backEnd struct {
	id    uint64
	flow  uint32
	start bool
}

// backArrow is such an arrow, with the operators that begin where its ends stand.
type backArrow struct {
	id               uint64
	start            uint32 // in Flows
	late             int64  // ns that it begins after it ends
	forward, back    []order
	common           *order // the backward one of those that have a sequence number in common
	fromRow, backPID int64
}

// sequences holds the arrows from forward to backward operators against the operators
// that begin where they stand: both have one sequence number, and a backward operator
// names its forward thread. An arrow with an end beside all such operators says
// nothing.
func (s *scanner) sequences() {
	arrows := s.backArrows()
	if len(arrows) == 0 {
		return
	}
	t := s.t
	rows := forwardRows(arrows)
	m := s.measure(ArrowSequence)
	var thread *Measure
	if s.hasForward() {
		thread = s.measure(BackwardThread)
	}
	for i := range arrows {
		a := &arrows[i]
		m.Checked++
		to := &a.back[0]
		x := Example{Event: int64(to.event), Offset: t.Source.Flows.At(a.start).Offset, Name: t.Strings.At(t.Events.At(to.event).Name)}
		id := ", id " + strconv.FormatUint(a.id, 10)
		if a.common == nil {
			from := &a.forward[0]
			x.Want = "an arrow from the operator with sequence number " + itoa(to.sequence)
			x.Got = "one from " + t.Strings.At(t.Events.At(from.event).Name) + ", which has " + itoa(from.sequence) + id
			m.bad(x)
			continue
		}
		if a.late > 0 {
			x.Want, x.Got = "an arrow from the forward operator, which ran earlier", "one that begins "+micro(a.late)+" after its end"+id
			m.bad(x)
			continue
		}
		if thread != nil {
			thread.Checked++
			if a.common.forward == 0 {
				y := x
				y.Key, y.Want, y.Got = orderKeys[1], "the number of the thread of the forward operator", "none, or 0"
				thread.bad(y)
			}
		}
		if row, known := rows[threadKey{a.backPID, a.common.forward}]; known && row != a.fromRow {
			x.Want = "an arrow from " + rowText(&t.Rows[row]) + ", which is forward thread " + itoa(int64(a.common.forward))
			x.Got = "one from " + rowText(&t.Rows[a.fromRow]) + id
			m.bad(x)
		}
	}
}

// hasForward reports whether operators have the argument that names their forward
// thread.
func (s *scanner) hasForward() bool {
	return slices.ContainsFunc(s.classes, func(c *class) bool { return c.ordered[1] != 0 })
}

// backArrows lists the arrows with both ends on operators with sequence numbers.
func (s *scanner) backArrows() (arrows []backArrow) {
	t := s.t
	ends := make([]backEnd, 0, len(t.Flows))
	kinds := map[[2]uint32]bool{}
	for i := range t.Flows {
		p := &t.Flows[i]
		k := [2]uint32{p.Name, p.Category}
		is, ok := kinds[k]
		if !ok {
			is = s.kindOf(p) == backwardFlow
			kinds[k] = is
		}
		if is && !p.Step {
			ends = append(ends, backEnd{p.ID, uint32(i), p.Start})
		}
	}
	if len(ends) == 0 || s.orders.Len() == 0 {
		return nil
	}
	slices.SortFunc(ends, func(a, b backEnd) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.flow, b.flow)) })
	at := make(map[spotKey][]order, len(ends))
	for i := range ends {
		p := &t.Flows[ends[i].flow]
		at[spotKey{p.Row, p.TS}] = nil
	}
	for i := range uint32(s.orders.Len()) {
		o := s.orders.At(i)
		e := t.Events.At(o.event)
		if list, ok := at[spotKey{e.Row, e.Start}]; ok {
			at[spotKey{e.Row, e.Start}] = append(list, *o)
		}
	}
	arrows = make([]backArrow, 0, len(ends)/2)
	for i := 0; i < len(ends); {
		k := i + 1
		for k < len(ends) && ends[k].id == ends[i].id {
			k++
		}
		a, b := ends[i], ends[k-1]
		if k-i == 2 && a.start != b.start { // one of each
			if b.start {
				a, b = b, a
			}
			p, q := &t.Flows[a.flow], &t.Flows[b.flow]
			x := backArrow{id: a.id, start: a.flow, late: p.TS - q.TS, forward: at[spotKey{p.Row, p.TS}], back: at[spotKey{q.Row, q.TS}],
				fromRow: int64(p.Row), backPID: t.Rows[q.Row].PID}
			if len(x.forward) > 0 && len(x.back) > 0 {
				x.common = common(x.forward, x.back)
				arrows = append(arrows, x)
			}
		}
		i = k
	}
	return arrows
}

// common finds a backward operator with the sequence number of a forward one.
func common(from, to []order) *order {
	for i := range to {
		for k := range from {
			if from[k].sequence == to[i].sequence {
				return &to[i]
			}
		}
	}
	return nil
}

// threadKey is the framework's number of a thread of a process.
type threadKey struct {
	pid    int64
	thread uint32
}

// forwardRows says which row a forward thread is by most of the arrows, of the threads
// for which that can be told. Of a program with one such row there is nothing to say.
func forwardRows(arrows []backArrow) map[threadKey]int64 {
	if !slices.ContainsFunc(arrows, func(a backArrow) bool { return a.fromRow != arrows[0].fromRow }) {
		return nil
	}
	votes := map[threadKey]map[int64]int{}
	for i := range arrows {
		a := &arrows[i]
		if a.common == nil || a.common.forward == 0 {
			continue
		}
		k := threadKey{a.backPID, a.common.forward}
		if votes[k] == nil {
			votes[k] = map[int64]int{}
		}
		votes[k][a.fromRow]++
	}
	rows := map[threadKey]int64{}
	for k, v := range votes {
		all := 0
		for _, n := range v {
			all += n
		}
		for row, n := range v {
			if n*4 >= all*3 {
				rows[k] = row
			}
		}
	}
	return rows
}

// backwardFlow is the kind of the arrows from forward to backward operators.
const backwardFlow = "fwdbwd"
