package summary

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestRandom holds the sums of programs that nobody would write: calls that begin behind
// their work, threads and streams that overlap themselves, ids that several have.
func TestRandom(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := new(writer)
		n := func(most int) int { return r.IntN(most) }
		for range 5 + n(60) {
			ts, dur := n(200)-20, n(40)
			switch n(8) {
			case 0, 1:
				w.span("cpu_op", fmt.Sprintf("op%d", n(4)), 9, 9+n(2), ts, dur, fmt.Sprintf(`"External id":%d`, n(20)))
			case 2:
				w.span("user_annotation", fmt.Sprintf("ProfilerStep#%d", n(3)), 9, 9, ts, dur, "")
			case 3:
				w.span("cuda_runtime", []string{"cudaDeviceSynchronize", "cudaLaunchKernel", "cudaMemcpy"}[n(3)], 9, 9+n(2), ts, dur, fmt.Sprintf(`"correlation":%d`, n(20)))
			case 4:
				w.copy("Memcpy HtoD (Pinned -> Device)", 7+n(2), ts, dur, n(20), n(1000))
			default:
				w.span("kernel", []string{"gemm", "ncclKernel", "add"}[n(3)], n(2), 7+n(3), ts, dur, fmt.Sprintf(`"device":%d,"stream":%d,"correlation":%d,"External id":%d`, n(2), 7+n(3), n(20), n(20)))
			}
		}
		d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.Join(w.events, ",")+"]}"), chrome.ReadOptions{Workers: 1})
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		total := newTotals(&o)
		var parts []*part
		if err := (&reader{o: &o}).document(d, func(p *part) { total.add(p); parts = append(parts, p) }); err != nil {
			t.Fatal(err)
		}
		s := total.summary(parts)
		for _, c := range s.Checks {
			if !c.OK() {
				t.Errorf("seed %d: %s: %d ns of %d ns", seed, c.Of, c.SumNS, c.TotalNS)
			}
		}
		for _, c := range s.Traces[0].Devices {
			for _, ns := range []int64{c.Idle.StartNS, c.Idle.HostNS, c.Idle.LaunchNS, c.Idle.StreamNS, c.Idle.QueueNS, c.Idle.UnknownNS, c.Idle.EndNS, c.Busy.ComputeNS, c.Busy.CopyNS} {
				if ns < 0 {
					t.Errorf("seed %d: %+v", seed, c)
				}
			}
		}
		if c := s.CriticalPath; c != nil {
			for _, e := range c.Entries {
				if e.NS <= 0 {
					t.Errorf("seed %d: %+v", seed, e)
				}
			}
		}
	}
}
