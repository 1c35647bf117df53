package ranks

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// job makes the traces of a job whose clocks are known to be wrong.
type job struct {
	ranks  int
	groups [][]int // each joins in one all-reduce a step; nil: one of all ranks
	pipe   bool    // instead, each rank sends to the next and gets an answer
	steps  int
	gap    int64 // between steps, ns
	jitter int64 // of the ends, ns
	// Of each rank: local = true + offset + drift * (true - base).
	offset []int64
	drift  []float64
	// killed is the rank that stops after half of the steps, -1 if none does.
	killed int
	// from and to cut a rank's record, in steps; to 0 is the end.
	from, to map[int]int
	noGroup  bool // kernels do not say their group
	slow     int  // the rank that computes longer
}

const base = int64(1_790_857_026_000_000_000)

type writer struct {
	b     strings.Builder
	clock func(int64) int64
	n     int
}

func us(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }

func (w *writer) kernel(name string, start, end int64, stream int, args string) {
	w.n++
	start, end = w.clock(start), w.clock(end)
	fmt.Fprintf(&w.b, `{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 100, "ts": %s, "dur": 0.500, "args": {"correlation": %d}},`+"\n", us(start-2000), w.n)
	fmt.Fprintf(&w.b, `{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": %d, "ts": %s, "dur": %s, "args": {"device": 0, "stream": %d, "correlation": %d%s}},`+"\n",
		name, stream, us(start), us(end-start), stream, w.n, args)
}

func (j job) op(name, group, extra string, size int) string {
	if j.noGroup {
		return ""
	}
	return fmt.Sprintf(`, "Collective name": %q, "In msg nelems": 1024, "Out msg nelems": 1024, "Group size": %d, "dtype": "Float", "Process Group Name": "0", "Process Group Ranks": %q%s`, name, size, group, extra)
}

// texts are the documents of the ranks.
func (j job) texts(seed uint64) [][]byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	if j.groups == nil {
		all := make([]int, j.ranks)
		for i := range all {
			all[i] = i
		}
		j.groups = [][]int{all}
	}
	w := make([]*writer, j.ranks)
	now := make([]int64, j.ranks)
	for r := range w {
		w[r] = &writer{clock: func(t int64) int64 {
			var off int64
			if j.offset != nil {
				off = j.offset[r]
			}
			if j.drift != nil {
				off += int64(math.Round(j.drift[r] * float64(t)))
			}
			return t + off
		}}
		now[r] = 50_000_000
	}
	quiet := func(r, step int) bool {
		return step < j.from[r] || j.to[r] > 0 && step >= j.to[r] || j.killed == r+1 && step >= j.steps/2
	}
	for step := range j.steps {
		begin := slices.Clone(now)
		for r := range now {
			busy := 200_000 + rng.Int64N(400_000)
			if j.slow == r+1 {
				busy += 500_000
			}
			if !quiet(r, step) {
				w[r].kernel("gemm", now[r]+5000, now[r]+busy, 7, "")
			}
			now[r] += busy
		}
		if j.pipe {
			for r := range j.ranks - 1 {
				for _, pair := range [][2]int{{r, r + 1}, {r + 1, r}} {
					from, to := pair[0], pair[1]
					s, t := now[from]+3000, now[to]+3000
					end := max(s, t) + 20_000 + rng.Int64N(j.jitter+1)
					w[from].kernel("ncclDevKernel_SendRecv", s, s+15_000, 21, j.op("send", "[0, 1, 2, 3]", fmt.Sprintf(`, "Dst Rank": %d`, to), 4))
					w[to].kernel("ncclDevKernel_SendRecv", t, end, 21, j.op("recv", "[0, 1, 2, 3]", fmt.Sprintf(`, "Src Rank": %d`, from), 4))
					now[from], now[to] = s+16_000, end
				}
			}
		} else {
			for _, g := range j.groups {
				last := int64(0)
				for _, r := range g {
					last = max(last, now[r]+3000)
				}
				name := strings.ReplaceAll(fmt.Sprint(g), " ", ", ")
				for _, r := range g {
					s, end := now[r]+3000, last+40_000+rng.Int64N(j.jitter+1)
					if !quiet(r, step) {
						w[r].kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", s, end, 17, j.op("allreduce", name, "", len(g)))
					}
					now[r] = end
				}
			}
		}
		for r := range now {
			if !quiet(r, step) {
				fmt.Fprintf(&w[r].b, `{"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#%d", "pid": 100, "tid": 100, "ts": %s, "dur": %s},`+"\n",
					step, us(w[r].clock(begin[r])), us(w[r].clock(now[r])-w[r].clock(begin[r])))
			}
			now[r] += j.gap + 1000
		}
	}
	var out [][]byte
	for r := range w {
		out = append(out, []byte(fmt.Sprintf(`{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 132}],
"distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d}, "baseTimeNanoseconds": %d, "traceEvents": [
%s{"ph": "M", "name": "process_labels", "pid": 100, "tid": 0, "ts": 0, "args": {"labels": "CPU"}},
{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0, "args": {"labels": "GPU 0"}}
]}`, r, j.ranks, base, w[r].b.String())))
	}
	return out
}

func (j job) traces(t testing.TB, seed uint64) (out []*timeline.Trace) {
	t.Helper()
	for _, text := range j.texts(seed) {
		d, err := chrome.Read(strings.NewReader(string(text)), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Findings) > 0 {
			t.Fatalf("%+v", d.Findings)
		}
		out = append(out, d.Trace)
	}
	return out
}

func (j job) collect(t testing.TB, seed uint64) (out []*Rank) {
	t.Helper()
	for i, tr := range j.traces(t, seed) {
		out = append(out, Collect(tr, fmt.Sprintf("rank%d.json", i))...)
	}
	return out
}

// truth is what must be added to a time of rank r to have it on the clock of rank 0.
func (j job) truth(r int, local int64) int64 {
	at := func(r int, t int64) int64 {
		var o int64
		if j.offset != nil {
			o = j.offset[r]
		}
		if j.drift != nil {
			o += int64(math.Round(j.drift[r] * float64(t-base)))
		}
		return o
	}
	// The two clocks' distances from the true time, there; within some nanoseconds.
	return at(0, local) - at(r, local)
}
