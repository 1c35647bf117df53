package calltree

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// minPiece is how many elements are worth a goroutine.
const minPiece = 1 << 13

// pieces is how many pieces a list of n elements is divided into for eachPiece.
func pieces(n int) int { return max(1, min(runtime.GOMAXPROCS(0), n/minPiece)) }

// eachPiece calls do for the pieces of a list of n elements, at the same time, and waits
// for all.
func eachPiece(n int, do func(piece, from, to int)) {
	p := pieces(n)
	var group sync.WaitGroup
	for k := 1; k < p; k++ {
		group.Go(func() { do(k, n*k/p, n*(k+1)/p) })
	}
	do(0, 0, n/p)
	group.Wait()
}

// inParallel calls do for each of n jobs, at the same time, those with the lowest
// order first, and waits for all.
func inParallel(n int, order func(int) int, do func(int)) {
	jobs := make([]int, n)
	for i := range jobs {
		jobs[i] = i
	}
	slices.SortStableFunc(jobs, func(a, b int) int { return cmp.Compare(order(a), order(b)) })
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(jobs[i])
		}
	}
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
}
