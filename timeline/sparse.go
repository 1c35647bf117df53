package timeline

import "github.com/flagos-ai/flagos-trace/internal/hugepage"

// Sparse is an append-only sequence of values of which most are zero: a block of
// nothing else takes no memory. The zero value is empty and ready to use.
type Sparse[T comparable] struct {
	blocks [][]T // nil: all are zero
	n      int
	zero   T
}

// Add appends v and returns its index.
func (b *Sparse[T]) Add(v T) uint32 {
	i := b.n
	if i&(blockLen-1) == 0 {
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
	if block := b.blocks[i>>blockBits]; block != nil {
		return &block[i&(blockLen-1)]
	}
	return &b.zero
}

// Own returns the address of element i, to be written to.
func (b *Sparse[T]) Own(i uint32) *T {
	block := &b.blocks[i>>blockBits]
	if *block == nil {
		*block = hugepage.Make[T](blockLen)
	}
	return &(*block)[i&(blockLen-1)]
}

// Len returns the number of elements.
func (b *Sparse[T]) Len() int { return b.n }
