package occupancy

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// kinetoTrace is the part of torch.profiler's traces that the figures are of. Numbers
// keep their text.
type kinetoTrace struct {
	DeviceProperties []map[string]any `json:"deviceProperties"`
	TraceEvents      []struct {
		Cat  string         `json:"cat"`
		Name string         `json:"name"`
		Dur  json.Number    `json:"dur"`
		Args map[string]any `json:"args"`
	} `json:"traceEvents"`
}

func readTrace(t *testing.T, path string) (tr kinetoTrace) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&tr); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return tr
}

func jsonInt(v any) int64 {
	n, _ := v.(json.Number)
	i, _ := strconv.ParseInt(n.String(), 10, 64)
	return i
}

func jsonDims(v any) (d [3]int32) {
	list, _ := v.([]any)
	for i := range min(len(list), 3) {
		d[i] = int32(jsonInt(list[i]))
	}
	return d
}

func (tr *kinetoTrace) devices() map[int64]*Device {
	out := map[int64]*Device{}
	for _, p := range tr.DeviceProperties {
		get := func(name string) int64 { return jsonInt(p[name]) }
		d := &Device{ComputeMajor: get("computeMajor"), ComputeMinor: get("computeMinor"), NumSMs: get("numSms"),
			MaxThreadsPerBlock: get("maxThreadsPerBlock"), MaxThreadsPerSM: get("maxThreadsPerMultiprocessor"),
			RegsPerBlock: get("regsPerBlock"), RegsPerSM: get("regsPerMultiprocessor"), WarpSize: get("warpSize"),
			SharedMemPerBlock: get("sharedMemPerBlock"), SharedMemPerBlockOptin: get("sharedMemPerBlockOptin"),
			SharedMemPerSM: get("sharedMemPerMultiprocessor")}
		d.FillReserved()
		out[get("id")] = d
	}
	return out
}

// checkTrace holds every figure of every kernel and copy against what torch.profiler
// wrote, character for character, and the correct occupancy against Kineto's.
func checkTrace(t *testing.T, path string) (kernels, above, copies int) {
	tr := readTrace(t, path)
	devices := tr.devices()
	for i := range tr.TraceEvents {
		e := &tr.TraceEvents[i]
		text := func(key string) string { n, _ := e.Args[key].(json.Number); return n.String() }
		if want, ok := e.Args["memory bandwidth (GB/s)"].(json.Number); ok {
			copies++
			us, err := strconv.ParseFloat(e.Dur.String(), 64)
			ns := int64(us*1000 + 0.5)
			got, ok := AppendBandwidth(nil, uint64(jsonInt(e.Args["bytes"])), ns, Options{Mode: Kineto})
			if err != nil || !ok || string(got) != want.String() {
				t.Errorf("%s: event %d: bandwidth %s, want %s", path, i, got, want)
			}
		}
		if e.Cat != "kernel" {
			continue
		}
		kernels++
		dev := devices[jsonInt(e.Args["device"])]
		if dev == nil {
			t.Fatalf("%s: event %d: no device %v", path, i, e.Args["device"])
		}
		k := &Kernel{Grid: jsonDims(e.Args["grid"]), Block: jsonDims(e.Args["block"]),
			RegsPerThread: int32(jsonInt(e.Args["registers per thread"])), DynamicSharedMem: int32(jsonInt(e.Args["shared memory"]))}
		percent := func(mode Mode) int64 {
			blocks, ok := BlocksPerSM(dev.NumSMs, k.Grid, mode)
			r, err := Calculate(dev, k, Options{Mode: mode})
			occ, ok2 := Achieved(r.ActiveBlocksPerSM, blocks, k.Block, dev.MaxThreadsPerSM, mode)
			if err != nil || !ok || !ok2 {
				t.Fatalf("%s: event %d (%s): %v", path, i, e.Name, err)
			}
			return Percent(occ, Classic)
		}
		blocks, _ := BlocksPerSM(dev.NumSMs, k.Grid, Kineto)
		warps, _ := WarpsPerSM(blocks, k.Block, Kineto)
		got := [3]string{string(AppendPerSM(nil, blocks, Classic)), string(AppendPerSM(nil, warps, Classic)), strconv.FormatInt(percent(Kineto), 10)}
		want := [3]string{text("blocks per SM"), text("warps per SM"), text("est. achieved occupancy %")}
		if got != want {
			t.Errorf("%s: event %d (%s): blocks per SM, warps per SM, occupancy: %v, want %v", path, i, e.Name, got, want)
		}
		switch correct := percent(Correct); {
		case k.DynamicSharedMem > 48<<10:
			if above++; want[2] != "0" || correct == 0 && blocks > 0.5 {
				t.Errorf("%s: event %d (%s): Kineto %s %%, correct %d %%", path, i, e.Name, want[2], correct)
			}
		case strconv.FormatInt(correct, 10) != want[2]:
			t.Errorf("%s: event %d (%s): correct %d %%, Kineto %s %%", path, i, e.Name, correct, want[2])
		}
	}
	return kernels, above, copies
}

// TestKinetoTraces is over the traces that torch.profiler wrote.
func TestKinetoTraces(t *testing.T) {
	paths, err := filepath.Glob("../testdata/pairs/*.kineto.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal("no traces", err)
	}
	var more []string
	if dir, ok := testrig.FindShared("traces/torch-cuda"); ok {
		more, _ = filepath.Glob(filepath.Join(dir, "*.json.gz"))
	}
	var kernels, above, copies int
	for _, path := range append(paths, more...) {
		k, a, c := checkTrace(t, path)
		t.Logf("%s: %d kernels, %d above 48 KiB of shared memory, %d copies", filepath.Base(path), k, a, c)
		kernels, above, copies = kernels+k, above+a, copies+c
	}
	if kernels == 0 || above == 0 || copies == 0 {
		t.Errorf("%d kernels, %d above 48 KiB, %d copies", kernels, above, copies)
	}
}
