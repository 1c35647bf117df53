package fakegpu

import (
	"os"
	"strings"
	"testing"

	"github.com/ianlancetaylor/demangle"
)

// checkStreams: in each stream the device does one thing after the other.
func checkStreams(t *testing.T, rs []record) {
	t.Helper()
	type span struct{ start, end uint64 }
	byStream := map[uint64][]span{}
	for _, r := range ofKind(rs, kernelKind, memcpyKind, memsetKind) {
		s := span{r.get(t, "start"), r.get(t, "end")}
		if s.start == 0 || s.end <= s.start {
			t.Errorf("kind %d: start %d, end %d", r.kind, s.start, s.end)
		}
		id := r.get(t, "streamId")
		byStream[id] = append(byStream[id], s)
	}
	for id, spans := range byStream {
		for i, a := range spans {
			for _, b := range spans[:i] {
				if a.start < b.end && b.start < a.end {
					t.Fatalf("stream %d: [%d %d] and [%d %d] overlap", id, a.start, a.end, b.start, b.end)
				}
			}
		}
	}
	if len(byStream) < 2 {
		t.Errorf("work in %d streams only", len(byStream))
	}
}

func TestRecords(t *testing.T) {
	for _, python := range []bool{false, true} {
		name := map[bool]string{false: "c", true: "python"}[python]
		t.Run(name, func(t *testing.T) {
			res := runWorkload(t, spec{python: python, args: []string{"--kernels", "40", "--threads", "3", "--streams", "3", "--graphs", "2"}})
			if res.exit != 0 || res.dropped != 0 {
				t.Fatalf("exit %d, %d dropped: %s", res.exit, res.dropped, res.stderr)
			}
			rs := res.records(t, readLayout(t, "130001"), nil)
			checkStreams(t, rs)
			checkCounts(t, res, rs)
			checkLinks(t, res, rs)
			if got := len(ofKind(rs, deviceKind)) + len(ofKind(rs, contextKind)); got != 2 {
				t.Errorf("%d device and context records, want one each", got)
			}
			if len(ofKind(rs, streamKind)) < 3 || len(ofKind(rs, overheadKind)) == 0 || len(ofKind(rs, syncKind)) == 0 {
				t.Error("no stream, overhead or synchronisation records")
			}
		})
	}
}

func checkCounts(t *testing.T, res result, rs []record) {
	t.Helper()
	custom0 := 0
	for _, r := range ofKind(rs, externalKind) {
		if r.get(t, "externalKind") == 3 {
			custom0++
		}
	}
	// cudaGetLastError is called outside the ids of the launch.
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"kernels", len(ofKind(rs, kernelKind)), res.counts["launches"] + res.counts["graph_kernels"]},
		{"memcpys", len(ofKind(rs, memcpyKind)), res.counts["memcpys"]},
		{"memsets", len(ofKind(rs, memsetKind)), res.counts["memsets"]},
		{"operator ids", custom0, res.counts["externals"]},
	} {
		if c.got != c.want || c.want == 0 {
			t.Errorf("%d %s, want %d", c.got, c.what, c.want)
		}
	}
}

// checkLinks: each device record comes before the one API record of its
// correlation id, and so do external ids; kernels have names that demangle.
func checkLinks(t *testing.T, res result, rs []record) {
	t.Helper()
	apis := map[uint64]int{}
	for i, r := range rs {
		if r.kind != driverKind && r.kind != runtimeKind {
			continue
		}
		id := r.get(t, "correlationId")
		if at, twice := apis[id]; twice {
			t.Fatalf("correlation id %d at records %d and %d", id, at, i)
		}
		apis[id] = i
		if r.get(t, "end") < r.get(t, "start") || r.get(t, "start") == 0 {
			t.Errorf("API record %d: end before start", i)
		}
	}
	graphKernels, routes := map[uint64]int{}, map[uint64]int{}
	for i, r := range rs {
		switch r.kind {
		case kernelKind, memcpyKind, memsetKind, externalKind, syncKind:
		default:
			continue
		}
		id := r.get(t, "correlationId")
		at, ok := apis[id]
		if !ok {
			t.Fatalf("record %d (kind %d): no API record with id %d", i, r.kind, id)
		}
		if rs[at].buffer == r.buffer && at < i {
			t.Errorf("record %d (kind %d) comes after its API record %d", i, r.kind, at)
		}
		if r.kind != kernelKind {
			continue
		}
		name, ok := res.names[r.get(t, "name")]
		if _, err := demangle.ToString(name); !ok || err != nil {
			t.Errorf("kernel name %q: %v", name, err)
		}
		if r.get(t, "completed") != r.get(t, "end") {
			t.Error("completed differs from end")
		}
		if start := r.get(t, "start"); start < rs[at].get(t, "start") {
			t.Errorf("kernel starts %d ns before its call", rs[at].get(t, "start")-start)
		}
		routes[rs[at].get(t, "cbid")]++
		if r.get(t, "graphId") != 0 {
			if want := r.get(t, "graphId")<<32 | uint64(graphKernels[id]); r.get(t, "graphNodeId") != want {
				t.Errorf("graph node id %#x, want %#x", r.get(t, "graphNodeId"), want)
			}
			graphKernels[id]++
		}
	}
	for _, n := range graphKernels {
		if n != 4 {
			t.Errorf("a graph launch with %d kernels, want 4", n)
		}
	}
	if len(graphKernels) != res.counts["graph_launches"] || routes[cudaGraphCBID] != res.counts["graph_kernels"] {
		t.Errorf("%d graph launches with %d kernels, want %d with %d", len(graphKernels), routes[cudaGraphCBID], res.counts["graph_launches"], res.counts["graph_kernels"])
	}
	for _, cbid := range []uint64{307, 652, 211} {
		if routes[cbid] == 0 {
			t.Errorf("no kernel launched through callback id %d", cbid)
		}
	}
}

// Buffers are asked for by threads of the program and completed by others.
func TestThreads(t *testing.T) {
	res := runWorkload(t, spec{args: []string{"--kernels", "900", "--threads", "2"}, env: []string{"FAKEGPU_DUMP_BUFFER=8192"}})
	requested, completed := map[string]int{}, map[string]int{}
	for _, line := range strings.Split(strings.TrimSpace(res.log), "\n") {
		f := strings.Fields(line)
		switch f[2] {
		case "callback-request":
			requested[f[1]]++
		case "callback-complete":
			completed[f[1]]++
		}
	}
	if len(requested) != 2 {
		t.Errorf("buffers requested on %d threads, want the program's 2", len(requested))
	}
	worker := 0
	for tid, n := range completed {
		if requested[tid] == 0 {
			worker += n
		}
	}
	if worker < 10 {
		t.Errorf("%d buffers completed on a worker thread: %v", worker, completed)
	}
	rs := res.records(t, readLayout(t, "130001"), nil)
	checkCounts(t, res, rs)
	// One buffer holds the records of one thread.
	owner := map[int]uint64{}
	for _, r := range ofKind(rs, driverKind, runtimeKind) {
		tid := r.get(t, "threadId")
		if o, ok := owner[r.buffer]; ok && o != tid {
			t.Fatalf("buffer %d has records of threads %d and %d", r.buffer, o, tid)
		}
		owner[r.buffer] = tid
	}
}

// Frequent flushes cut buffers at any point between records, and lose none.
func TestFrequentFlush(t *testing.T) {
	for _, perThread := range []string{"0", "1"} {
		res := runWorkload(t, spec{args: []string{"--kernels", "450", "--threads", "3"},
			env: []string{"FAKEGPU_DUMP_FLUSH_US=200", "FAKECUPTI_PER_THREAD=" + perThread}})
		if n := strings.Count(res.log, "callback-complete"); n < 10 {
			t.Errorf("%d buffers completed", n)
		}
		rs := res.records(t, readLayout(t, "130001"), nil)
		checkCounts(t, res, rs)
		checkStreams(t, rs) // no kernel without an end
	}
}

// A recording played back gives the same records, with live names.
func TestPlay(t *testing.T) {
	first := runWorkload(t, spec{args: []string{"--kernels", "90"}, env: []string{"FAKEGPU_DUMP_BUFFER=16384"}})
	second := runWorkload(t, spec{
		args: []string{"--kernels", "3"},
		env:  []string{"FAKECUPTI_PLAY=" + first.dumpPath, "FAKECUPTI_PLAY_NAMES=" + first.dumpPath + ".names.tsv", "FAKECUPTI_PER_THREAD=0"},
	})
	if second.exit != 0 {
		t.Fatalf("exit %d: %s", second.exit, second.stderr)
	}
	l := readLayout(t, "130001")
	a, b := first.records(t, l, nil), second.records(t, l, nil)
	if len(a) != len(b) {
		t.Fatalf("%d records played, want %d", len(b), len(a))
	}
	// Buffers may be completed in another order.
	key := func(res result, r record) string {
		data := append([]byte(nil), r.data...)
		name := ""
		if r.kind == kernelKind {
			f := l.fields["KERNEL.name"]
			name = res.names[r.get(t, "name")]
			clear(data[f.offset : f.offset+f.size])
		}
		return string(data) + name
	}
	want := map[string]int{}
	for _, r := range a {
		want[key(first, r)]++
	}
	for i, r := range b {
		k := key(second, r)
		if want[k] == 0 {
			t.Fatalf("record %d (kind %d) was not recorded", i, r.kind)
		}
		want[k]--
	}
	// A version with other sizes is a mistake, and a loud one.
	wrong := runWorkload(t, spec{env: []string{"FAKECUPTI_PLAY=" + first.dumpPath, "FAKECUPTI_VERSION=130500"}})
	if wrong.exit != -1 || !strings.Contains(wrong.stderr, "FAKECUPTI_VERSION") {
		t.Errorf("played with wrong sizes: exit %d, %q", wrong.exit, wrong.stderr)
	}
	if _, err := os.Stat(first.dumpPath); err != nil {
		t.Error(err)
	}
}
