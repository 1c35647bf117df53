package validate

import "math/bits"

// idTable maps ids to numbers: open addressing, for as many ids as were asked for.
type idTable struct {
	keys  []int64
	vals  []uint32 // value plus one; 0 is free
	shift uint
}

func newIDTable(n int) *idTable {
	size := 1 << bits.Len(uint(2*n+8))
	return &idTable{keys: make([]int64, size), vals: make([]uint32, size), shift: uint(64 - bits.Len(uint(size-1)))}
}

// slot finds an id's place: the slot is free if its value is 0.
func (t *idTable) slot(id int64) *uint32 {
	mask := len(t.keys) - 1
	k := int(uint64(id) * 0x9e3779b97f4a7c15 >> t.shift)
	for t.vals[k] != 0 && t.keys[k] != id {
		k = (k + 1) & mask
	}
	t.keys[k] = id
	return &t.vals[k]
}

// get returns the value of an id.
func (t *idTable) get(id int64) (v uint32, ok bool) {
	mask := len(t.keys) - 1
	k := int(uint64(id) * 0x9e3779b97f4a7c15 >> t.shift)
	for ; t.vals[k] != 0; k = (k + 1) & mask {
		if t.keys[k] == id {
			return t.vals[k] - 1, true
		}
	}
	return 0, false
}

// idSet is a set of ids that mostly follow one another: a word for 64 of them.
type idSet struct {
	words map[int64]*uint64
	last  int64
	word  *uint64
}

func newIDSet() *idSet { return &idSet{words: map[int64]*uint64{}, last: -1 << 62} }

func (s *idSet) at(id int64, make bool) *uint64 {
	key := id >> 6
	if key == s.last && s.word != nil {
		return s.word
	}
	w := s.words[key]
	if w == nil {
		if !make {
			return nil
		}
		w = new(uint64)
		s.words[key] = w
	}
	s.last, s.word = key, w
	return w
}

// add reports whether the id was there.
func (s *idSet) add(id int64) (twice bool) {
	w := s.at(id, true)
	bit := uint64(1) << (id & 63)
	twice = *w&bit != 0
	*w |= bit
	return twice
}

func (s *idSet) has(id int64) bool {
	w := s.at(id, false)
	return w != nil && *w>>(id&63)&1 != 0
}
