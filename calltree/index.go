package calltree

import (
	"cmp"
	"slices"
	"sort"
)

// entry is a node found by an id.
type entry struct {
	id    uint64
	start int64
	node  Node
}

// byID finds nodes by an id, those of one id in the order of their starts.
type byID []entry

func (x byID) sort() {
	by := func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.start, b.start), cmp.Compare(a.node, b.node))
	}
	if !slices.IsSortedFunc(x, by) {
		slices.SortFunc(x, by)
	}
}

// of returns the entries of an id.
func (x byID) of(id uint64) byID {
	i := sort.Search(len(x), func(i int) bool { return x[i].id >= id })
	if i == len(x) || x[i].id != id {
		return nil
	}
	if i+1 == len(x) || x[i+1].id != id {
		return x[i : i+1]
	}
	j := i + sort.Search(len(x)-i, func(j int) bool { return x[i+j].id > id })
	return x[i:j]
}

// maxLook is how many of an id are looked at around a moment: ids that stand for
// more are nonsense, and must not cost the square of their number.
const maxLook = 32

// around returns the few entries that began before t, and the next one.
func (x byID) around(t int64) byID {
	if len(x) <= maxLook {
		return x
	}
	i := sort.Search(len(x), func(i int) bool { return x[i].start > t })
	return x[max(0, i-maxLook+1):min(len(x), i+1)]
}
