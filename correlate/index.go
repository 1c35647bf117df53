package correlate

const (
	pageBits = 12
	pageLen  = 1 << pageBits
)

// index maps correlation ids, which are dense but for gaps, to values. The zero
// value of T means "none".
type index[T comparable] struct {
	pages map[uint64]*[pageLen]T
	last  *[pageLen]T
	at    uint64
}

func (x *index[T]) page(id uint64, create bool) *[pageLen]T {
	n := id >> pageBits
	if x.last != nil && x.at == n {
		return x.last
	}
	p := x.pages[n]
	if p == nil {
		if !create {
			return nil
		}
		if x.pages == nil {
			x.pages = map[uint64]*[pageLen]T{}
		}
		p = new([pageLen]T)
		x.pages[n] = p
	}
	x.last, x.at = p, n
	return p
}

func (x *index[T]) set(id uint64, v T) { x.page(id, true)[id&(pageLen-1)] = v }

// get returns the value of an id, the zero T if it has none.
func (x *index[T]) get(id uint64) (v T) {
	if p := x.page(id, false); p != nil {
		v = p[id&(pageLen-1)]
	}
	return v
}

func (x *index[T]) empty() bool { return len(x.pages) == 0 }
