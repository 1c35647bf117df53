package dl

import "hash/maphash"

// maxNames bounds the names remembered. When it is reached all are forgotten,
// and told again when seen again.
const maxNames = 1 << 20

// Teller takes the string behind a pointer, and returns false when it could not
// keep it. It is part of a tracer's findings.
type Teller interface {
	Name(ptr uint64, name string) bool
}

// Names tells the strings behind the pointers that records hold: each once, and
// again when it has changed, since after a module is unloaded its pointers may come
// back with other names. Make one with NewNames; Buffer begins each buffer of
// records. It is asked for every record, so what it does for a pointer seen in this
// buffer already costs no more than an array.
type Names struct {
	Peek   Peeker
	seen   map[uint64]seenName
	recent [64]uint64 // pointers seen in this buffer, by some of their bits
	buffer uint32
	seed   maphash.Seed
}

type seenName struct {
	hash   uint64 // of the string told; 0 if none was
	buffer uint32 // in which the pointer was read last
}

// NewNames returns one that has told nothing yet.
func NewNames() *Names { return &Names{seen: map[uint64]seenName{}, seed: maphash.MakeSeed()} }

// Buffer begins a buffer. The error says that names cannot be read for now.
func (n *Names) Buffer() error {
	n.buffer++
	clear(n.recent[:])
	return n.Peek.Ready()
}

// See tells the string at ptr, if that is new. Empty strings, and what cannot be
// read, are not told.
func (n *Names) See(ptr uint64, t Teller) {
	if at := &n.recent[ptr>>4%uint64(len(n.recent))]; *at != ptr {
		*at = ptr
		n.look(ptr, t)
	}
}

func (n *Names) look(ptr uint64, t Teller) {
	seen := n.seen[ptr]
	if ptr == 0 || seen.buffer == n.buffer {
		return
	}
	seen.buffer = n.buffer
	if s, ok := n.Peek.CString(ptr); ok && len(s) > 0 {
		h := maphash.Bytes(n.seed, s) | 1
		if h != seen.hash && t.Name(ptr, string(s)) {
			seen.hash = h
		}
	}
	if len(n.seen) >= maxNames {
		clear(n.seen)
	}
	n.seen[ptr] = seen
}
