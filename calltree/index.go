package calltree

import (
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// byID finds nodes by an id, those of one id in the order of their starts.
type byID struct {
	low uint64
	// Ids that are close together, as a tracer's are, and each of one node: by id - low,
	// None where there is none.
	single []Node
	// Others, in buckets of ids: where the nodes of bucket (id - low) >> shift end in
	// nodes, and those of the next begin. With a shift, they have their ids in ids.
	shift uint
	ends  []uint32
	nodes []Node
	ids   []uint64
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

// shift is how many bits of ids have to be left out for a table of them to be small.
func (r *idRange) shift() (bits uint) {
	for (r.high-r.low)>>bits >= uint64(r.n)*4+1<<12 {
		bits++
	}
	return bits
}

// kept says which ids of a node there is an index of.
type kept uint8

const (
	noID         kept = iota
	callID            // the correlation id of a call
	operatorID        // the External id of an operator
	annotationID      // the External id of an annotation or a step
	numKept
)

// keptOf says which id of a span is kept, and its value.
func keptOf(c Class, e *timeline.Event) (kept, uint64) {
	switch {
	case c == Call && e.Correlation != 0:
		return callID, e.Correlation
	case e.Flags&timeline.HasExternal == 0:
	case c == Operator:
		return operatorID, uint64(e.External)
	case c == Annotation || c == Step:
		return annotationID, uint64(e.External)
	}
	return noID, 0
}

// ids are what nodes have ids, and in which ranges.
type ids struct {
	kept   []kept // by node
	ranges [numKept]idRange
}

// index makes the index of one kind of ids.
func (x *Tree) index(of *ids, k kept) byID {
	each := func(f func(Node, uint64)) {
		for n, is := range of.kept {
			if is == k {
				_, id := keptOf(x.class[n], x.At(Node(n)))
				f(Node(n), id)
			}
		}
	}
	r := of.ranges[k]
	if r.n == 0 {
		return byID{}
	}
	b := byID{low: r.low, shift: r.shift()}
	if b.shift == 0 && b.fillSingle(r, each) {
		return b
	}
	b.fillBuckets(x, r, each)
	return b
}

// fillSingle fills the table of ids of one node each, if they are.
func (b *byID) fillSingle(r idRange, each func(func(Node, uint64))) bool {
	b.single = hugepage.Make[Node](int(r.high - r.low + 1))
	for i := range b.single {
		b.single[i] = None
	}
	ok := true
	each(func(n Node, id uint64) {
		at := &b.single[id-r.low]
		ok = ok && *at == None
		*at = n
	})
	if !ok {
		b.single = nil
	}
	return ok
}

// fillBuckets fills the buckets. each calls with all nodes and their ids, each time in
// the same order.
func (b *byID) fillBuckets(x *Tree, r idRange, each func(func(Node, uint64))) {
	b.ends = hugepage.Make[uint32](int((r.high-r.low)>>b.shift) + 2)
	b.nodes = hugepage.Make[Node](r.n)
	if b.shift > 0 {
		b.ids = hugepage.Make[uint64](r.n)
	}
	each(func(_ Node, id uint64) { b.ends[(id-r.low)>>b.shift+1]++ })
	for i := 1; i < len(b.ends); i++ {
		b.ends[i] += b.ends[i-1]
	}
	// Now they say where buckets begin; each moves on as its nodes are put there.
	each(func(n Node, id uint64) {
		at := &b.ends[(id-r.low)>>b.shift]
		b.nodes[*at] = n
		if b.shift > 0 {
			b.ids[*at] = id
		}
		*at++
	})
	from := uint32(0)
	for _, to := range b.ends {
		if to-from > 1 {
			b.sort(x, int(from), int(to))
		}
		from = to
	}
}

// sort puts a bucket in order.
func (b *byID) sort(x *Tree, from, to int) {
	nodes := b.nodes[from:to]
	if b.shift == 0 {
		if !slices.IsSortedFunc(nodes, x.byStart) {
			slices.SortFunc(nodes, x.byStart)
		}
		return
	}
	type entry struct {
		id   uint64
		node Node
	}
	ids := b.ids[from:to]
	list := make([]entry, len(nodes))
	for i, n := range nodes {
		list[i] = entry{ids[i], n}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if a.id != b.id {
			return cmp.Compare(a.id, b.id)
		}
		return x.byStart(a.node, b.node)
	})
	for i, e := range list {
		nodes[i], ids[i] = e.node, e.id
	}
}

// byStart orders nodes.
func (x *Tree) byStart(m, n Node) int {
	return cmp.Or(cmp.Compare(x.At(m).Start, x.At(n).Start), cmp.Compare(m, n))
}

// of returns the nodes of an id.
func (b *byID) of(id uint64) []Node {
	i := id - b.low
	if b.single != nil {
		if i >= uint64(len(b.single)) || b.single[i] == None {
			return nil
		}
		return b.single[i : i+1]
	}
	i >>= b.shift
	if i >= uint64(len(b.ends)) {
		return nil
	}
	from, to := 0, int(b.ends[i])
	if i > 0 {
		from = int(b.ends[i-1])
	}
	if b.shift == 0 {
		return b.nodes[from:to]
	}
	list := b.ids[from:to]
	first, _ := slices.BinarySearch(list, id)
	behind := first + sort.Search(len(list)-first, func(j int) bool { return list[first+j] > id })
	return b.nodes[from+first : from+behind]
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
