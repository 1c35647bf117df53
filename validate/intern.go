package validate

import (
	"bytes"
	"hash/maphash"
)

// interner gives each distinct text a number, in order of first appearance.
type interner struct {
	slots []uint32 // number plus one, by hash; 0 is free
	texts []textAt
	arena []byte
}

type textAt struct {
	hash     uint32
	from, to uint32
}

var seed = maphash.MakeSeed()

// maxArena bounds the text an interner keeps, bytes.
const maxArena = 64 << 20

// newInterner makes one that holds the empty text, as number 0.
func newInterner() *interner {
	t := &interner{slots: make([]uint32, 1<<10)}
	t.id(nil)
	return t
}

func (t *interner) reset() {
	clear(t.slots)
	t.texts, t.arena = t.texts[:0], t.arena[:0]
	t.id(nil)
}

// id returns the number of a text, and whether it is a new one. When the arena is
// full new texts all get the number of the empty one.
func (t *interner) id(text []byte) (id uint32, isNew bool) {
	h := uint32(maphash.Bytes(seed, text))
	mask := uint32(len(t.slots) - 1)
	k := h & mask
	for ; t.slots[k] != 0; k = (k + 1) & mask {
		e := &t.texts[t.slots[k]-1]
		if e.hash == h && bytes.Equal(t.arena[e.from:e.to], text) {
			return t.slots[k] - 1, false
		}
	}
	if len(t.arena)+len(text) > maxArena || len(t.texts) >= 1<<21 {
		return 0, false
	}
	from := uint32(len(t.arena))
	t.arena = append(t.arena, text...)
	t.texts = append(t.texts, textAt{h, from, uint32(len(t.arena))})
	id = uint32(len(t.texts) - 1)
	t.slots[k] = id + 1
	if 2*len(t.texts) > len(t.slots) {
		t.grow()
	}
	return id, true
}

func (t *interner) grow() {
	t.slots = make([]uint32, 4*len(t.slots))
	mask := uint32(len(t.slots) - 1)
	for i := range t.texts {
		k := t.texts[i].hash & mask
		for t.slots[k] != 0 {
			k = (k + 1) & mask
		}
		t.slots[k] = uint32(i) + 1
	}
}

func (t *interner) text(id uint32) []byte {
	if int(id) >= len(t.texts) {
		return nil
	}
	e := &t.texts[id]
	return t.arena[e.from:e.to]
}

func (t *interner) len() int { return len(t.texts) }
