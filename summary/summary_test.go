package summary

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/cut"
)

// writer makes a trace; times are microseconds.
type writer struct{ events []string }

func (w *writer) span(cat, name string, pid, tid, ts, dur int, args string) *writer {
	w.events = append(w.events, fmt.Sprintf(`{"ph":"X","cat":%q,"name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}`, cat, name, pid, tid, ts, dur, args))
	return w
}

func (w *writer) op(name string, ts, dur, id int) *writer {
	return w.span("cpu_op", name, 9, 9, ts, dur, fmt.Sprintf(`"External id":%d,"Input Dims":[[%d,2]]`, id, id))
}

func (w *writer) call(name string, ts, dur, id int) *writer {
	return w.span("cuda_runtime", name, 9, 9, ts, dur, fmt.Sprintf(`"correlation":%d`, id))
}

func (w *writer) kernel(name string, stream, ts, dur, id int, more string) *writer {
	return w.span("kernel", name, 0, stream, ts, dur, fmt.Sprintf(`"device":0,"stream":%d,"correlation":%d%s`, stream, id, more))
}

func (w *writer) copy(name string, stream, ts, dur, id, bytes int) *writer {
	return w.span("gpu_memcpy", name, 0, stream, ts, dur, fmt.Sprintf(`"device":0,"stream":%d,"correlation":%d,"bytes":%d`, stream, id, bytes))
}

func (w *writer) file(t *testing.T, name, members string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("{"+members+`"traceEvents":[`+strings.Join(w.events, ",\n")+"]}"), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// program is a small program: what it does is said beside each line.
func program() *writer {
	w := new(writer)
	w.span("user_annotation", "ProfilerStep#1", 9, 9, 0, 100, "")
	w.span("user_annotation", "ProfilerStep#2", 9, 9, 100, 100, "")
	w.op("aten::outer", 5, 30, 1).op("aten::mm", 10, 20, 2)
	w.call("cudaLaunchKernel", 12, 2, 11).kernel("gemm", 7, 20, 10, 11, "")         // 20..30, the first work
	w.call("cudaLaunchKernel", 16, 2, 12).kernel("gemm", 7, 32, 8, 12, "")          // 32..40: 2 us in its queue
	w.call("cudaLaunchKernel", 18, 1, 13).kernel("other", 8, 43, 4, 13, "")         // 43..47: 3 us for the other stream
	w.op("aten::copy_", 60, 20, 3).call("cudaMemcpyAsync", 62, 16, 14)              // blocks until 78
	w.copy("Memcpy HtoD (Pinned -> Device)", 7, 70, 5, 14, 5000)                    // 70..75: 15 us for the host, 8 us in launch
	w.call("cudaDeviceSynchronize", 85, 5, 0)                                       //
	w.op("aten::mm", 110, 20, 4).call("cudaLaunchKernel", 115, 2, 15)               //
	w.kernel("gemm", 7, 120, 20, 15, "").kernel("ncclKernel_x", 9, 130, 20, 99, "") // 120..140 and 130..150
	return w
}

func read(t *testing.T, o Options, paths ...string) *Summary {
	t.Helper()
	s, err := Files(paths, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Checks {
		if !c.OK() {
			t.Errorf("%s: %d ns of %d ns", c.Of, c.SumNS, c.TotalNS)
		}
	}
	return s
}

func TestProgram(t *testing.T) {
	s := read(t, Options{}, program().file(t, "a.json", ""))
	d := s.Traces[0].Devices[0]
	us := func(n int64) int64 { return n * 1000 }
	if d.WindowNS != us(200) || d.BusyNS != us(57) {
		t.Errorf("window %d, busy %d", d.WindowNS, d.BusyNS)
	}
	if want := (Busy{ComputeNS: us(32), CommunicationNS: us(10), CopyNS: us(5), ComputeCommunicationNS: us(10)}); d.Busy != want {
		t.Errorf("busy: %+v", d.Busy)
	}
	// The last gap begins at 75; the call that ends it at 115.
	if want := (Idle{StartNS: us(20), HostNS: us(15 + 40), LaunchNS: us(8 + 5), StreamNS: us(3), QueueNS: us(2), EndNS: us(50)}); d.Idle != want {
		t.Errorf("idle: %+v", d.Idle)
	}
	if v, ok := d.LaunchBound(); !ok || v != float64(68)/130 {
		t.Errorf("launch-bound %v", v)
	}
	// From 12 to 120: of 12..20 one or two wait, of 16..32, ...
	if q := d.Queue; q == nil || q.NS != us(108) || q.DepthNS != us(8+16+25+8+5) || q.Max != 3 {
		t.Errorf("queue: %+v", q)
	}
	if l := s.Traces[0].Launches; l == nil || *l != (Launches{Calls: 5, MeanNS: us(62) / 5, MedianNS: us(8), P99NS: us(16), MaxNS: us(25), Unknown: 1}) {
		t.Errorf("launches: %+v", l)
	}
	find := func(name string) *Operator {
		i := slices.IndexFunc(s.Operators, func(o Operator) bool { return o.Name == name })
		if i < 0 {
			t.Fatalf("no operator %s", name)
		}
		return &s.Operators[i]
	}
	if o := find("aten::mm"); o.Calls != 2 || o.DeviceNS != us(42) || o.DeviceTotalNS != us(42) || o.Works != 4 || o.CPUTotalNS != us(40) || o.CPUSelfNS != us(40-7) {
		t.Errorf("aten::mm: %+v %+v", o, *o.Work)
	}
	if o := find("aten::outer"); o.DeviceNS != 0 || o.DeviceTotalNS != us(22) || o.CPUSelfNS != us(10) {
		t.Errorf("aten::outer: %+v %+v", o, *o.Work)
	}
	if m := s.Unlinked["no_api_call"]; len(s.Unlinked) != 1 || m.Works != 1 || m.DeviceNS != us(20) {
		t.Errorf("unlinked: %+v", s.Unlinked)
	}
	if c := s.Copies[0]; c.Bytes != 5000 || c.Bandwidth == nil || *c.Bandwidth != 1e9 {
		t.Errorf("copies: %+v", s.Copies)
	}
	if len(s.Steps) != 3 || s.Steps[0].Name != "ProfilerStep#1" || s.Steps[0].DeviceNS != us(27) || s.Steps[0].BusyNS != us(27) || s.Steps[1].BusyNS != us(30) || s.Steps[2].Name != "" || s.Steps[2].DeviceNS != us(20) {
		t.Errorf("steps: %+v", s.Steps)
	}
	g := s.Gaps[0]
	if g.NS != us(45) || g.AtNS != us(75) || g.Before != "Memcpy HtoD (Pinned -> Device)" || g.BeforeOperator != "aten::copy_" || g.After != "gemm" || g.AfterOperator != "aten::mm" || g.Idle.Why() != "host" {
		t.Errorf("gap: %+v", g)
	}
	for _, text := range s.Missing {
		if !strings.HasPrefix(text, "modules") && !strings.HasPrefix(text, "what kernels of communication") && !strings.HasPrefix(text, "occupancy") {
			t.Errorf("missing: %s", text)
		}
	}
}

// TestCriticalPath follows the program back: the last kernel has no call, and nothing
// ran before it on its stream.
func TestCriticalPath(t *testing.T) {
	w := program()
	w.events = w.events[:len(w.events)-1] // the kernel of communication
	s := read(t, Options{}, w.file(t, "a.json", ""))
	want := map[string]int64{
		PathNone:   60 + 5,  // after 140, and before 5
		PathDevice: 20 + 5,  // 120..140 and, for which the copy's call waited, 70..75
		PathLaunch: 5 + 8,   // 115..120 and 62..70
		PathSync:   3,       // 75..78
		PathHost:   37 + 57, // 78..115 and 5..62
	}
	for kind, us := range want {
		if got := s.CriticalPath.ByKind[kind]; got != us*1000 {
			t.Errorf("%s: %d ns, not %d us", kind, got, us)
		}
	}
	if t.Failed() {
		t.Logf("%+v", s.CriticalPath)
	}
}

func TestOptions(t *testing.T) {
	path := program().file(t, "a.json", "")
	kernels := func(s *Summary) (names []string) {
		for i := range s.Kernels {
			names = append(names, fmt.Sprintf("%s %d", s.Kernels[i].Name, s.Kernels[i].DeviceNS/1000))
		}
		return names
	}
	for _, c := range []struct {
		name string
		o    Options
		want []string
		ops  int
	}{
		{"all", Options{}, []string{"gemm 38", "ncclKernel_x 20", "Memcpy HtoD (Pinned -> Device) 5", "other 4"}, 3},
		{"operator", Options{Operator: regexp.MustCompile("copy")}, []string{"Memcpy HtoD (Pinned -> Device) 5"}, 1},
		{"inside of an operator", Options{Operator: regexp.MustCompile("outer")}, []string{"gemm 18", "other 4"}, 2},
		{"kernel", Options{Kernel: regexp.MustCompile("^ge")}, []string{"gemm 38"}, 2},
		{"both", Options{Operator: regexp.MustCompile("outer"), Kernel: regexp.MustCompile("^o")}, []string{"other 4"}, 2},
		{"step", Options{Steps: &cut.Steps{First: 2, Last: 2}}, []string{"gemm 20", "ncclKernel_x 20"}, 1},
		{"time", Options{From: "100us", To: "135us"}, []string{"gemm 15", "ncclKernel_x 5"}, 1},
	} {
		s := read(t, c.o, path)
		if got := kernels(s); !slices.Equal(got, c.want) || len(s.Operators) != c.ops {
			t.Errorf("%s: %q, %d operators", c.name, got, len(s.Operators))
		}
		if c.name != "all" && s.Selected == "" {
			t.Errorf("%s: does not say that it is a part", c.name)
		}
	}
	if _, err := Files([]string{path}, Options{Ranks: []int64{3}}); err == nil {
		t.Error("a rank that is not there")
	}
	if s := read(t, Options{ByShape: true}, path); len(s.Operators) != 4 || s.Operators[0].Shapes != "[[2, 2]]" {
		t.Errorf("by shape: %+v", s.Operators)
	}
}

// rank is a rank of two that all-reduce: they begin at start, and end at 100.
func rank(t *testing.T, n, start int) string {
	w := new(writer)
	w.op("aten::mm", 0, 10, 1).call("cudaLaunchKernel", 2, 1, 1).kernel("gemm", 7, 5, 35, 1, "")
	for i := range 4 {
		at := 1000 * i
		w.call("cudaLaunchKernel", at+30, 1, 10+i)
		w.kernel("ncclDevKernel_AllReduce_Sum_f32_RING", 9, at+start, 100-start, 10+i,
			`,"Collective name":"allreduce","In msg nelems":1000,"Out msg nelems":1000,"Group size":2,"dtype":"Float","Process Group Name":"0","Process Group Ranks":"[0, 1]"`)
	}
	return w.file(t, fmt.Sprintf("rank%d.json", n), fmt.Sprintf(`"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},`, n))
}

func TestRanks(t *testing.T) {
	s := read(t, Options{}, rank(t, 1, 60), rank(t, 0, 20))
	if s.Ranks == nil || s.RanksUnaligned != "" || len(s.Traces) != 2 || *s.Traces[0].Rank != 0 {
		t.Fatalf("%+v", s)
	}
	if len(s.Collectives) != 1 {
		t.Fatalf("%+v", s.Collectives)
	}
	c := s.Collectives[0]
	if c.Count != 8 || c.DeviceNS != 480_000 || c.MinNS != 40_000 || c.WaitNS == nil || *c.WaitNS != 160_000 || *c.Bytes != 4000 ||
		*c.AlgorithmBandwidth != 1e8 || *c.BusBandwidth != 1e8 {
		t.Errorf("%+v", c)
	}
	// Rank 0 waits four times from 20 to 60, and computes until 40 the first time.
	if p := s.Traces[0].Devices[0].Busy.PeerNS; p == nil || *p != 140_000 {
		t.Errorf("rank 0 waits for peers: %v", p)
	}
	if p := s.Traces[1].Devices[0].Busy.PeerNS; p == nil || *p != 0 {
		t.Errorf("rank 1 waits for peers: %v", p)
	}
	// One rank alone knows nothing of the other.
	s = read(t, Options{}, rank(t, 0, 20))
	if s.Ranks != nil || s.Collectives[0].WaitNS != nil || s.Traces[0].Devices[0].Busy.PeerNS != nil {
		t.Errorf("%+v", s)
	}
	if s := read(t, Options{Ranks: []int64{1}}, rank(t, 0, 20), rank(t, 1, 60)); len(s.Traces) != 1 || *s.Traces[0].Rank != 1 {
		t.Errorf("%+v", s.Traces)
	}
}

// TestAbsent: what a trace does not hold is absent, not zero, and named.
func TestAbsent(t *testing.T) {
	for _, c := range []struct {
		name   string
		trace  *writer
		says   []string
		absent func(*Summary) bool
	}{
		{"only the host", new(writer).op("aten::mm", 0, 10, 1), []string{"device work", "steps", "modules"},
			func(s *Summary) bool {
				return s.Whole == nil && s.Work == nil && s.Operators[0].Work == nil && s.CriticalPath == nil && s.Occupancy == nil && s.Traces[0].Launches == nil
			}},
		{"only the device", new(writer).kernel("k", 7, 0, 10, 0, ""), []string{"operators", "API calls", "steps", "modules", "occupancy"},
			func(s *Summary) bool {
				return len(s.Operators) == 0 && s.Traces[0].Launches == nil && s.Whole.Queue == nil
			}},
		{"nothing", new(writer), []string{"device work", "operators", "steps", "modules"}, func(s *Summary) bool { return s.Whole == nil }},
		{"copies without size", new(writer).span("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", 0, 7, 0, 5, `"device":0,"stream":7`),
			[]string{"kernels", "operators", "API calls", "steps", "modules", "sizes of copies"}, func(s *Summary) bool { return s.Copies[0].Bandwidth == nil && s.Copies[0].Unsized == 1 }},
	} {
		s := read(t, Options{}, c.trace.file(t, "a.json", ""))
		var got []string
		for _, text := range s.Missing {
			got = append(got, strings.SplitN(text, ":", 2)[0])
		}
		for i, want := range c.says {
			if i >= len(got) || !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: missing are %q", c.name, got)
				break
			}
		}
		if len(got) != len(c.says) || !c.absent(s) {
			t.Errorf("%s: missing are %q; %+v", c.name, got, s)
		}
	}
}
