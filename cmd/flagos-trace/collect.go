package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// collectAt is how much the heap grows between two collections, percent: traces are
	// large and have few pointers, so that collecting often costs little and keeps the
	// peak low.
	collectAt = 25
	// collectStep is the least that it grows by, bytes. A heap that grows from nothing
	// to 100 MB by a quarter each time is collected twenty times, mostly for nothing.
	collectStep = 32 << 20
	// smallest is the heap that the runtime first collects at 100 %, bytes.
	smallest = 4 << 20
)

// sentinel is an object that is in no block with others: it has a pointer.
type sentinel struct{ _ *sentinel }

// collectSeldom sets how often memory is collected until the function that it returns
// is called.
func collectSeldom() (restore func()) {
	before := debug.SetGCPercent(collectPercent(0))
	var lock sync.Mutex
	over := false
	// What nothing points to is finalized after each collection; live memory is known
	// then, and the next percentage follows from it.
	var again func(*sentinel)
	again = func(*sentinel) {
		lock.Lock()
		defer lock.Unlock()
		if over {
			return
		}
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 {
			debug.SetGCPercent(collectPercent(live[0].Value.Uint64()))
		}
		runtime.SetFinalizer(new(sentinel), again)
	}
	runtime.SetFinalizer(new(sentinel), again)
	return func() {
		lock.Lock()
		defer lock.Unlock()
		over = true
		debug.SetGCPercent(before)
	}
}

// collectPercent is the percentage for a heap with so many live bytes.
func collectPercent(live uint64) int {
	return max(collectAt, int(collectStep*100/max(live, smallest)))
}
