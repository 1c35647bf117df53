package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func gcPercent() int {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}

// TestCollectSeldom: while the heap is small it grows by a step, then by a quarter;
// afterwards all is as before, and stays so.
func TestCollectSeldom(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(77))
	restore := collectSeldom()
	if got := gcPercent(); got != collectPercent(0) {
		t.Errorf("%d %% at first, want %d", got, collectPercent(0))
	}
	large := make([]byte, 8*collectStep)
	for deadline := time.Now().Add(10 * time.Second); gcPercent() != collectAt; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("%d %% with %d MB, want %d", gcPercent(), len(large)>>20, collectAt)
		}
		time.Sleep(time.Millisecond)
	}
	runtime.KeepAlive(large)
	restore()
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if got := gcPercent(); got != 77 {
		t.Errorf("%d %% in the end, want 77 as before", got)
	}
}

func TestCollectPercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 800, 1 << 20: 800, 4 << 20: 800, 32 << 20: 100, 64 << 20: 50, 128 << 20: 25, 1 << 40: 25} {
		if got := collectPercent(live); got != want {
			t.Errorf("%d live bytes: %d %%, want %d", live, got, want)
		}
	}
}
