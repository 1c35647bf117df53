package timeline

import "github.com/flagos-ai/flagos-trace/internal/hugepage"

// Blocks is an append-only sequence of values stored in blocks that never move,
// so growing copies nothing. The zero value is empty and ready to use.
type Blocks[T any] struct {
	blocks [][]T
	n      int
}

const (
	blockBits = 13
	blockLen  = 1 << blockBits
)

// Add appends v and returns its index.
func (b *Blocks[T]) Add(v T) uint32 {
	i := b.n
	if i&(blockLen-1) == 0 {
		b.blocks = append(b.blocks, hugepage.Make[T](blockLen))
	}
	b.blocks[i>>blockBits][i&(blockLen-1)] = v
	b.n++
	return uint32(i)
}

// At returns the address of element i, which must be below Len.
func (b *Blocks[T]) At(i uint32) *T { return &b.blocks[i>>blockBits][i&(blockLen-1)] }

// Len returns the number of elements.
func (b *Blocks[T]) Len() int { return b.n }

// Truncate drops all elements from index n on.
func (b *Blocks[T]) Truncate(n int) {
	if n >= b.n {
		return
	}
	b.n = n
	keep := (n + blockLen - 1) >> blockBits
	clear(b.blocks[keep:])
	b.blocks = b.blocks[:keep]
}
