package summary

import (
	"errors"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/measure"
)

// TestTooFarApart: sums that would not fit are not printed.
func TestTooFarApart(t *testing.T) {
	w := new(writer).kernel("k", 7, -5_000_000_000_000_000, 5, 0, "").kernel("k", 7, 5_000_000_000_000_000, 5, 0, "")
	if _, err := Files([]string{w.file(t, "far.json", "")}, Options{}); !errors.Is(err, measure.ErrBounds) {
		t.Errorf("error %v", err)
	}
	// Each fits, but not all of them.
	a, b := new(writer).kernel("k", 7, -4_000_000_000_000_000, 5, 0, ""), new(writer).kernel("k", 7, 4_000_000_000_000_000, 5, 0, "")
	if _, err := Files([]string{a.file(t, "a.json", ""), b.file(t, "b.json", "")}, Options{}); !errors.Is(err, measure.ErrBounds) {
		t.Errorf("of two: error %v", err)
	}
}

// TestSizes: sizes that cannot be are unknown, and bandwidths do not wrap around.
func TestSizes(t *testing.T) {
	w := new(writer)
	for i := range 8 {
		w.copy("impossible", 7, 10*i, 5, 0, 1<<62)
	}
	w.copy("fast", 7, 100, 0, 0, 1<<40)
	w.span("gpu_memcpy", "fast", 0, 7, 110, 1, `"device":0,"stream":7,"bytes":17592186044416`)
	w.kernel("ncclDevKernel_AllReduce", 7, 120, 5, 0, `,"Collective name":"allreduce","dtype":"Float","In msg nelems":4611686018427387904,"Out msg nelems":4611686018427387904,"Group size":2,"Process Group Name":"0","Process Group Ranks":"[0, 1]"`)
	s := read(t, Options{}, w.file(t, "sizes.json", ""))
	if len(s.Copies) != 2 || len(s.Collectives) != 1 {
		t.Fatalf("%d copies, %d collectives", len(s.Copies), len(s.Collectives))
	}
	for _, c := range s.Copies {
		switch c.Name {
		case "impossible":
			if c.Bytes != 0 || c.Unsized != 8 || c.Bandwidth != nil {
				t.Errorf("%+v", c)
			}
		case "fast":
			if c.Bytes != 1<<40+1<<44 || c.Bandwidth == nil || *c.Bandwidth != float64(c.Bytes)*1e6 {
				t.Errorf("%+v, %v", c, *c.Bandwidth)
			}
		}
	}
	if c := s.Collectives[0]; c.Bytes != nil || c.AlgorithmBandwidth != nil {
		t.Errorf("%+v", c)
	}
}

// TestNoName: an annotation without a name is not what is outside of all.
func TestNoName(t *testing.T) {
	w := new(writer).span("user_annotation", "", 9, 9, 0, 20, "")
	w.call("cudaLaunchKernel", 5, 1, 1).kernel("in", 7, 10, 3, 1, "").call("cudaLaunchKernel", 30, 1, 2).kernel("out", 7, 40, 4, 2, "")
	s := read(t, Options{}, w.file(t, "noname.json", ""))
	got := map[string][2]int64{}
	for _, a := range s.Annotations {
		got[a.Name] = [2]int64{a.Calls, a.DeviceNS}
	}
	if len(got) != 2 || got["(no name)"] != [2]int64{1, 3000} || got[""] != [2]int64{0, 4000} {
		t.Errorf("%v", got)
	}
}

// TestClocksApart: by clocks of two zones of time nobody can say what waited for what.
func TestClocksApart(t *testing.T) {
	const zone = 8 * 3600 * 1_000_000
	w := new(writer)
	for i := range 10 {
		w.op("aten::mm", 10*i, 8, i+1).call("cudaLaunchKernel", 10*i+1, 2, i+1).kernel("gemm", 7, zone+10*i+2, 3, i+1, "")
	}
	s := read(t, Options{}, w.file(t, "zone.json", ""))
	d := &s.Traces[0].Devices[0]
	if d.Launches != 0 || d.Queue != nil || d.Idle.QueueNS != 0 || d.Idle.UnknownNS != 9*7000 {
		t.Errorf("%+v, queue %+v", *d, d.Queue)
	}
	if _, ok := d.LaunchBound(); ok {
		t.Error("it is launch-bound")
	}
	if c := s.CriticalPath; c == nil || c.ByKind[PathLaunch] != 0 || c.ByKind[PathQueue] != 0 {
		t.Errorf("critical path %+v", c)
	}
	if len(s.Missing) == 0 || !strings.HasPrefix(s.Missing[0], "a clock that") {
		t.Errorf("missing %q", s.Missing)
	}
	for _, c := range s.Checks {
		if !c.OK() {
			t.Errorf("%+v", c)
		}
	}
}
