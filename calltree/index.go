package calltree

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// byID finds nodes by an id, those of one id in the order of their starts.
type byID struct {
	nodes []Node
	// Ids that are close together, as a tracer's are: where the nodes of low + i end in
	// nodes, and those of the next begin.
	low  uint64
	ends []uint32
	// Other ids, by place in nodes.
	ids []uint64
}

// idRange says which ids there are, and how many nodes have one.
type idRange struct {
	low, high uint64
	n         int
}

func (r *idRange) see(id uint64) {
	if r.n == 0 {
		r.low = math.MaxUint64
	}
	r.low, r.high, r.n = min(r.low, id), max(r.high, id), r.n+1
}

// join adds what another range has seen.
func (r *idRange) join(o idRange) {
	switch {
	case r.n == 0:
		*r = o
	case o.n > 0:
		r.low, r.high, r.n = min(r.low, o.low), max(r.high, o.high), r.n+o.n
	}
}

func (r *idRange) close() bool { return r.n > 0 && r.high-r.low < uint64(r.n)*4+1<<12 }

// byStart orders nodes.
func (x *Tree) byStart(m, n Node) int {
	return cmp.Or(cmp.Compare(x.At(m).Start, x.At(n).Start), cmp.Compare(m, n))
}

// closeIDs makes an index of close ids. each calls with all nodes and their ids, each
// time in the same order.
func (x *Tree) closeIDs(r idRange, each func(func(Node, uint64))) byID {
	b := byID{nodes: make([]Node, r.n), low: r.low, ends: make([]uint32, r.high-r.low+2)}
	each(func(_ Node, id uint64) { b.ends[id-r.low+1]++ })
	for i := 1; i < len(b.ends); i++ {
		b.ends[i] += b.ends[i-1]
	}
	// Now they say where nodes begin; each moves on as its nodes are put there.
	each(func(n Node, id uint64) {
		at := &b.ends[id-r.low]
		b.nodes[*at] = n
		*at++
	})
	from := uint32(0)
	for _, to := range b.ends {
		if of := b.nodes[from:to]; len(of) > 1 && !slices.IsSortedFunc(of, x.byStart) {
			slices.SortFunc(of, x.byStart)
		}
		from = to
	}
	return b
}

// farIDs makes an index of any ids.
func (x *Tree) farIDs(r idRange, each func(func(Node, uint64))) byID {
	type entry struct {
		id   uint64
		node Node
	}
	list := make([]entry, 0, r.n)
	each(func(n Node, id uint64) { list = append(list, entry{id, n}) })
	by := func(a, b entry) int { return cmp.Or(cmp.Compare(a.id, b.id), x.byStart(a.node, b.node)) }
	if !slices.IsSortedFunc(list, by) {
		slices.SortFunc(list, by)
	}
	b := byID{nodes: make([]Node, len(list)), ids: make([]uint64, len(list))}
	for i, e := range list {
		b.nodes[i], b.ids[i] = e.node, e.id
	}
	return b
}

// of returns the nodes of an id.
func (b *byID) of(id uint64) []Node {
	if b.ends != nil {
		i := id - b.low
		switch {
		case i >= uint64(len(b.ends)):
			return nil
		case i == 0:
			return b.nodes[:b.ends[0]]
		}
		return b.nodes[b.ends[i-1]:b.ends[i]]
	}
	i, ok := slices.BinarySearch(b.ids, id)
	if !ok {
		return nil
	}
	j := i + sort.Search(len(b.ids)-i, func(j int) bool { return b.ids[i+j] > id })
	return b.nodes[i:j]
}

// maxLook is how many of an id are looked at around a moment: ids that stand for
// more are nonsense, and must not cost the square of their number.
const maxLook = 32

// near returns those of the nodes of an id that began shortly before t, and the next
// one.
func (x *Tree) near(nodes []Node, t int64) []Node {
	if len(nodes) <= maxLook {
		return nodes
	}
	i := sort.Search(len(nodes), func(i int) bool { return x.At(nodes[i]).Start > t })
	return nodes[max(0, i-maxLook+1):min(len(nodes), i+1)]
}
