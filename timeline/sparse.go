package timeline

import (
	"iter"

	"github.com/flagos-ai/flagos-trace/internal/hugepage"
)

// Sparse is an append-only sequence of values of which most are zero: where there is
// nothing else it takes no memory. The zero value is empty and ready to use. It must not
// be copied.
type Sparse[T comparable] struct {
	blocks [][]T // nil: all are zero
	room   []T   // for blocks to come
	n      int
	zero   T
}

// A block is short, so that few zeros stand beside what is not.
const (
	sparseBits = 9
	sparseLen  = 1 << sparseBits
)

// Add appends v and returns its index.
func (b *Sparse[T]) Add(v T) uint32 {
	i := b.n
	if i&(sparseLen-1) == 0 {
		b.blocks = append(b.blocks, nil)
	}
	b.n++
	if v != b.zero {
		*b.Own(uint32(i)) = v
	}
	return uint32(i)
}

// At returns the address of element i, which must be below Len. It must not be written
// to: zeros share one. See Own.
func (b *Sparse[T]) At(i uint32) *T {
	if block := b.blocks[i>>sparseBits]; block != nil {
		return &block[i&(sparseLen-1)]
	}
	return &b.zero
}

// Own returns the address of element i, to be written to.
func (b *Sparse[T]) Own(i uint32) *T {
	block := &b.blocks[i>>sparseBits]
	if *block == nil {
		if len(b.room) == 0 {
			b.room = hugepage.Make[T](blockLen)
		}
		*block, b.room = b.room[:sparseLen:sparseLen], b.room[sparseLen:]
	}
	return &(*block)[i&(sparseLen-1)]
}

// Len returns the number of elements.
func (b *Sparse[T]) Len() int { return b.n }

// Filled yields ranges, each from its first index to the one behind its last; every
// element outside of them is zero.
func (b *Sparse[T]) Filled() iter.Seq2[uint32, uint32] {
	return func(yield func(from, to uint32) bool) {
		for k, block := range b.blocks {
			if block != nil && !yield(uint32(k<<sparseBits), uint32(min(b.n, (k+1)<<sparseBits))) {
				return
			}
		}
	}
}
