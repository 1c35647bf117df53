package record

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", path, got)
	}
}

// sample is a trace with work on two devices.
func sample() *timeline.Trace {
	t := &timeline.Trace{
		Process: timeline.Process{PID: 42, Name: "python"},
		Window:  timeline.Window{Start: 1000, End: 1_001_000},
		Devices: []timeline.Device{{ID: 0, Name: "Device A"}},
	}
	add := func(kind timeline.Kind, name string, device uint32, start, length int64) {
		t.Events.Add(timeline.Event{
			Kind: kind, Name: t.Strings.ID(name), Start: start, End: start + length,
			Place: t.Place(timeline.Place{Device: device, Has: event.HasDevice}),
		})
	}
	long := "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>)"
	add(timeline.Kernel, long, 0, 1000, 300_000)
	add(timeline.Kernel, "gemm", 0, 200_000, 200_000) // overlaps by 101 us
	add(timeline.Kernel, "gemm", 1, 500_000, 100)
	add(timeline.Kernel, "empty", 1, 600_000, 0)
	for i := range 12 {
		add(timeline.Kernel, "small"+string(rune('a'+i)), 0, 700_000+int64(i)*100, 50+int64(i))
	}
	add(timeline.Memcpy, "Memcpy HtoD (Pageable -> Device)", 0, 900_000, 1000)
	add(timeline.Runtime, "cudaLaunchKernel", 0, 900, 50)
	return t
}

func TestSummarize(t *testing.T) {
	s := Summarize(sample())
	if s.WindowNS != 1e6 || s.Events["kernel"] != 16 || s.Events["memcpy"] != 1 || s.Events["runtime"] != 1 || s.Verdict != "" {
		t.Errorf("%+v", s)
	}
	if k := s.Kernels[1]; k.Name != "gemm" || k.Calls != 2 || k.TotalNS != 200_100 || k.MeanNS != 100_050 {
		t.Errorf("second kernel: %+v", k)
	}
	var share float64
	for _, k := range s.Kernels {
		share += k.Share
	}
	if share < 0.999999 || share > 1.000001 {
		t.Errorf("the shares sum up to %v", share)
	}
	// 1,000..400,000, twelve short kernels, one copy. The API call is not device work.
	if d := s.Devices[0]; d.Device != 0 || d.BusyNS != 399_000+12*50+66+1000 || d.Name != "Device A" {
		t.Errorf("device 0: %+v", d)
	}
	if d := s.Devices[1]; d.Device != 1 || d.BusyNS != 100 || d.Name != "" {
		t.Errorf("device 1: %+v", d)
	}
}

func TestUnion(t *testing.T) {
	for _, c := range []struct {
		spans []span
		want  int64
	}{
		{nil, 0},
		{[]span{{5, 5}}, 0},
		{[]span{{-10, -5}, {-7, -6}}, 5},
		{[]span{{10, 20}, {0, 5}}, 15},
		{[]span{{0, 10}, {10, 20}}, 20},
		{[]span{{0, 10}, {2, 3}, {5, 12}}, 12},
	} {
		if got := union(slices.Clone(c.spans)); got != c.want {
			t.Errorf("%v: %d, want %d", c.spans, got, c.want)
		}
	}
}

func TestPrint(t *testing.T) {
	code, three, dropped := 0, 3, uint64(1234)
	one := func(c *timeline.Completeness) TraceSummary {
		t := sample()
		t.Completeness = c
		s := Summarize(t)
		s.File, s.Bytes = "trace.json.gz", 1536
		return s
	}
	empty := Summarize(&timeline.Trace{Completeness: &timeline.Completeness{Diagnoses: []string{"no device was used"}}})
	empty.File, empty.PID, empty.Bytes = "trace.json.gz", 7, 900
	lost := &timeline.Completeness{
		Ended: "cut", Dropped: map[string]uint64{tracer.DropUntimed: 2, timeline.DropFiltered: 5, "brand_new": 1, timeline.DropOtherClock: 7, tracer.DropNoName: 0},
		Repaired: map[string]uint64{tracer.RepairClamped: 3}, Unlinked: map[string]uint64{"kernel": 4},
		Buffers:   &timeline.BufferCounts{Discarded: 2, BytesDiscarded: 1 << 20, RecordsDropped: &dropped, WriteErrors: 1, BytesUnwritten: 8 << 20},
		Spool:     &timeline.SpoolCounts{BadFrames: 1, TornBytes: 77, LostBytes: 2048},
		Missing:   []string{spool.LossDevice, spool.LossClock, spool.LossMemory, spool.LossFlush, spool.LossAgent, "memset_refused", "brand_new_loss"},
		Noted:     map[string]uint64{orphanArrows: 1},
		Diagnoses: []string{"said once"},
	}
	for _, c := range []struct {
		name  string
		width int
		sum   Summary
	}{
		{"complete", 0, Summary{Command: []string{"/usr/bin/python3", "train.py"}, ExitCode: &code, WallNS: 12_340_000_000, Traces: []TraceSummary{one(&timeline.Completeness{Ended: "exit"})}}},
		{"narrow", 60, Summary{Command: []string{"python3"}, ExitCode: &three, WallNS: 999, Traces: []TraceSummary{one(nil)}}},
		{"lost", 160, Summary{Command: []string{"python3"}, Signal: "SIGKILL", WallNS: 1_500_000, Traces: []TraceSummary{one(lost), one(lost)}}},
		{"empty", 0, Summary{Command: []string{"true"}, ExitCode: &code, WallNS: 1_000_000, Traces: []TraceSummary{empty}}},
		{"import", 0, Summary{Traces: []TraceSummary{one(nil)}}},
		{"stale", 0, Summary{Command: []string{"torchrun"}, ExitCode: &code, WallNS: 1_000_000, Traces: []TraceSummary{empty}, Stale: "trace.json.gz"}},
		{"operators", 0, Summary{Traces: []TraceSummary{
			one(&timeline.Completeness{Ended: "exit", Operators: &timeline.Operators{
				Seen: 14876, Framework: "2.11.0+cu130", Slices: 3, LostSlices: 1, LinkedByID: 2150, LinkedByTime: 6, Agreed: 2149, Disagreed: 1, DeviceLinked: 1936,
				CallsUnlinked:  map[string]uint64{timeline.UnlinkedNoOperator: 6, timeline.UnlinkedLostSlice: 1},
				DeviceUnlinked: map[string]uint64{timeline.UnlinkedNoCall: 3, timeline.UnlinkedLostSlice: 1, "brand_new": 1},
				Noted:          map[string]uint64{correlate.HostUnfinished: 1, notedGarbage: 2, "newer": 3},
			}}),
			one(&timeline.Completeness{Ended: "exit", Operators: &timeline.Operators{Reason: timeline.ReasonNoBootstrap, CallsUnlinked: map[string]uint64{timeline.UnlinkedNoHost: 3}}}),
			one(&timeline.Completeness{Ended: "exit", Operators: &timeline.Operators{Reason: "newer"}}),
			one(&timeline.Completeness{Ended: "exit", Operators: &timeline.Operators{Reason: timeline.ReasonNotPython}}),
		}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := c.sum.Print(&b, c.width); err != nil {
				t.Fatal(err)
			}
			golden(t, "print-"+c.name+".txt", b.Bytes())
			width := c.width
			if width == 0 {
				width = defaultWidth
			}
			for l := range strings.Lines(b.String()) {
				table := strings.HasSuffix(l, "%\n")
				if n := utf8.RuneCountInString(l) - 1; table && n > max(width, 65) {
					t.Errorf("%d columns: %s", n, l)
				}
			}
		})
	}
}

func TestFormats(t *testing.T) {
	for _, c := range [][2]string{
		{grouped(0), "0"}, {grouped(999), "999"}, {grouped(1000), "1,000"}, {grouped(1234567), "1,234,567"},
		{duration(0), "0 ns"}, {duration(999), "999 ns"}, {duration(1000), "1.00 us"}, {duration(999_994), "999.99 us"},
		{duration(999_996), "1.00 ms"}, {duration(999_996_000), "1.00 s"}, {duration(61_500_000_000), "61.50 s"},
		{size(0), "0 B"}, {size(1023), "1023 B"}, {size(1024), "1.0 KiB"}, {size(1<<20 - 1), "1.0 MiB"}, {size(5 << 40), "5.0 TiB"},
		{percent(0), "0.0%"}, {percent(0.0004), "<0.1%"}, {percent(0.5), "50.0%"}, {percent(0.9999), ">99.9%"}, {percent(1), "100.0%"},
		{shorten("void f()", 20), "f()"}, {shorten("abcdefghijklmnopqrstuvwxyz", 12), "abcdef...xyz"}, {shorten("ééééé", 5), "ééééé"},
	} {
		if c[0] != c[1] {
			t.Errorf("got %q, want %q", c[0], c[1])
		}
	}
}

func TestOutputs(t *testing.T) {
	s := func(pid int, start uint64) spoolFile { return spoolFile{pid: pid, start: start} }
	for _, c := range []struct {
		output string
		spools []spoolFile
		main   int
		want   []string
	}{
		{"trace.json.gz", []spoolFile{s(1, 1)}, 7, []string{"trace.json.gz"}},
		{"a/trace.json.gz", []spoolFile{s(1, 1), s(2, 1)}, 7, []string{"a/trace.1.json.gz", "a/trace.2.json.gz"}},
		{"t.json", []spoolFile{s(1, 1), s(2, 1)}, 7, []string{"t.1.json", "t.2.json"}},
		{"t", []spoolFile{s(1, 1), s(2, 1)}, 7, []string{"t.1", "t.2"}},
		{"t.gz", []spoolFile{s(1, 1), s(2, 1)}, 7, []string{"t.1.gz", "t.2.gz"}},
		{".json", []spoolFile{s(1, 1), s(2, 1)}, 7, []string{"1.json", "2.json"}},
		{"t.json", []spoolFile{s(1, 1), s(1, 9), s(0, 0), s(0, 0), s(0, 0)}, 7, []string{"t.1.json", "t.1.9.json", "t.0.json", "t.0.0.json", "t.0.0.2.json"}},
		{"t.json", []spoolFile{s(1, 1), s(2, 1)}, 2, []string{"t.1.json", "t.json"}},
		{"t.json", []spoolFile{s(2, 1), s(2, 5)}, 2, []string{"t.json", "t.2.json"}},
		{"/dev/null", []spoolFile{s(1, 1), s(2, 1)}, 7, []string{"/dev/null", "/dev/null"}},
	} {
		if got := outputs(c.output, c.spools, c.main, map[string]bool{}); !slices.Equal(got, c.want) {
			t.Errorf("%s %v: %v, want %v", c.output, c.spools, got, c.want)
		}
	}
}

func TestFindSpools(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"30.200.spool", "9.100.spool", "10.100.spool", "odd.spool", "30.200.log", "notes"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "1.1.spool"), 0o755); err != nil {
		t.Fatal(err)
	}
	found, err := findSpools(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range found {
		got = append(got, filepath.Base(f.path))
		if f.alive() {
			t.Errorf("%s counts as alive", f.path)
		}
	}
	if want := []string{"odd.spool", "9.100.spool", "10.100.spool", "30.200.spool"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAlive: this process lives, under its own start time only.
func TestAlive(t *testing.T) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Skip(err)
	}
	var start uint64
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	for _, c := range f[19] {
		start = start*10 + uint64(c-'0')
	}
	if !(spoolFile{pid: os.Getpid(), start: start}).alive() {
		t.Error("this process is not alive")
	}
	if (spoolFile{pid: os.Getpid(), start: start + 1}).alive() {
		t.Error("a start time of another process is taken")
	}
}
