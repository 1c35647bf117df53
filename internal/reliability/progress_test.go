package reliability

import (
	"encoding/binary"
	"os"
	"sort"
	"strconv"
	"testing"
	"time"
)

// promised is how old a finished record may be when the program is killed and
// still be missing.
const promised = 200 * time.Millisecond

// threadProgress is how far a thread of a workload with --progress came.
type threadProgress struct {
	tid   string
	ended []int64 // when each launch had, ns since the epoch
}

// readProgress reads the file of --progress, whether its program lives or not. It
// returns nil as long as there is nothing in it.
func readProgress(t testing.TB, name string) (list []threadProgress) {
	t.Helper()
	data, err := os.ReadFile(name)
	if os.IsNotExist(err) || len(data) < 16 {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	at := func(i uint64) uint64 { return binary.LittleEndian.Uint64(data[8*i:]) }
	threads, launches := at(0), at(1)
	if want := 8 * (2 + threads*(2+launches)); threads > 0 && uint64(len(data)) != want {
		t.Fatalf("%s: %d bytes, want %d", name, len(data), want)
	}
	for i := range threads {
		row := 2 + i*(2+launches)
		p := threadProgress{tid: strconv.FormatUint(at(row), 10)}
		for k := range at(row + 1) {
			p.ended = append(p.ended, int64(at(row+2+k)))
		}
		list = append(list, p)
	}
	return list
}

// launched counts the launches that have ended.
func launched(list []threadProgress) (n int) {
	for _, p := range list {
		n += len(p.ended)
	}
	return n
}

// keptUntil checks that a trace holds every kernel whose end was known longer than
// promised before the program was killed, and notes how old the oldest lost one
// was. A kernel is known by its API call: by its thread and its place among the
// thread's calls, which are in order.
func (a *attempt) keptUntil(tr *trace, list []threadProgress, killed time.Time) {
	a.Helper()
	calls := map[string][]int64{} // ends of the calls that launched kernels, by thread
	for _, k := range tr.kernels {
		// The library writes a kernel's record before that of its call: at the end the
		// call's may be lost, and the kernel then counts as lost here.
		if c, ok := tr.calls[k.correlation]; ok {
			calls[c.tid] = append(calls[c.tid], tr.base+c.end)
		}
	}
	limit := killed.Add(-promised).UnixNano()
	a.killed = true
	for _, p := range list {
		got := calls[p.tid]
		sort.Slice(got, func(i, j int) bool { return got[i] < got[j] })
		before := func(ends []int64) int { return sort.Search(len(ends), func(i int) bool { return ends[i] > limit }) }
		want, have := before(p.ended), before(got)
		if have < want {
			a.Errorf("thread %s: of %d launches that had ended %v before the end, %d are in the trace", p.tid, want, promised, have)
		}
		if len(got) < len(p.ended) {
			a.gapNS = max(a.gapNS, killed.UnixNano()-p.ended[len(got)])
		}
		// A hole would shift all that comes behind it.
		for i := range min(len(got), len(p.ended)) {
			if got[i] > p.ended[i] {
				a.Fatalf("thread %s: launch %d ended by %d, and what the trace has there at %d", p.tid, i, p.ended[i], got[i])
			}
		}
		a.launched, a.kept = a.launched+len(p.ended), a.kept+min(len(got), len(p.ended))
	}
}
