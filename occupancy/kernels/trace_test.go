package kernels

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// h200 is an element of deviceProperties; id stands where the ordinal goes.
const h200 = `{"id": %d, "name": "NVIDIA H200", "totalGlobalMem": 150109880320, "computeMajor": 9, "computeMinor": 0, "maxThreadsPerBlock": 1024, ` +
	`"maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 32, "sharedMemPerBlock": 49152, "numSms": 132, ` +
	`"regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472}`

const mi300 = `{"id": 2, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992, "computeMajor": 9, "computeMinor": 4, "maxThreadsPerBlock": 1024, ` +
	`"maxThreadsPerMultiprocessor": 2048, "regsPerBlock": 65536, "warpSize": 64, "sharedMemPerBlock": 65536, "numSms": 304, "maxSharedMemoryPerMultiProcessor": 65536}`

// trace is a document of devices (elements of deviceProperties) and kernels.
func trace(devices string, kernels ...string) string {
	return `{"schemaVersion": 1, "deviceProperties": [` + devices + `], "traceEvents": [` + strings.Join(kernels, ",\n") + `], "traceName": "t"}`
}

// kernel is an event; args are the text between the braces, dur in microseconds.
func kernel(name, dur, args string) string {
	return fmt.Sprintf(`{"ph": "X", "cat": "kernel", "name": %q, "pid": 0, "tid": 7, "ts": 1.5, "dur": %s, "args": {%s}}`, name, dur, args)
}

// launched are the arguments that Kineto writes of a launch, without derived ones.
func launched(grid, block string, regs, smem int) string {
	return fmt.Sprintf(`"External id": 4, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 9, "registers per thread": %d, "shared memory": %d, "grid": [%s], "block": [%s]`,
		regs, smem, grid, block)
}

func read(t *testing.T, text string, o Options) *Report {
	t.Helper()
	r, err := Read(strings.NewReader(text), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sample has kernels of every sort on four devices, one of them unknown.
func sample() string {
	big := launched("16, 1, 1", "640, 1, 1", 96, 103808)
	return trace(strings.Join([]string{fmt.Sprintf(h200, 0), fmt.Sprintf(h200, 1), mi300}, ", "),
		`{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"grid": [1, 1, 1]}}`,
		kernel("void gemm<128, 256>(float*)", "400.25", launched("300, 1, 1", "384, 1, 1", 168, 152576)+`, "blocks per SM": 2.272727, "warps per SM": 27.272728, "est. achieved occupancy %": 0`),
		kernel("void gemm<128, 256>(float*)", "399.75", launched("300, 1, 1", "384, 1, 1", 168, 152576)+`, "blocks per SM": 2.272727, "warps per SM": 27.272728, "est. achieved occupancy %": 0`),
		kernel("elementwise", "10", launched("4224, 1, 1", "128, 1, 1", 32, 0)+`, "blocks per SM": 32.000000, "warps per SM": 128.000000, "est. achieved occupancy %": 100`),
		kernel("elementwise", "10", launched("4225, 1, 1", "128, 1, 1", 32, 0)+`, "blocks per SM": 32.007576, "warps per SM": 128.030304, "est. achieved occupancy %": 50`),
		kernel("ncclDevKernel_SendRecv", "20", big+`, "est. achieved occupancy %": 4`),
		kernel("spills", "7", launched("1, 1, 1", "33, 1, 1", 255, 0)+`, "local memory per thread": 96, "cluster": [2, 1, 1]`),
		strings.Replace(kernel("other device", "5", launched("64, 64, 1", "256, 1, 1", 40, 1024)), `"device": 0`, `"device": 1`, 1),
		strings.Replace(kernel("unknown device", "6", launched("64, 64, 1", "256, 1, 1", 40, 1024)), `"device": 0`, `"device": 9`, 1),
		kernel("Cijk_Ailk_Bljk", "50", `"device": 2, "stream": 0, "correlation": 5, "kind": "Dispatch Kernel", "grid": [36, 1, 1], "block": [256, 1, 1]`),
		kernel("graph node", "3", `"device": 0, "kind": "Dispatch Task"`),
		kernel("odd\u202e\nname", "1", `"device": 0, "grid": [0, 1, 1], "block": [32], "registers per thread": -1, "shared memory": 99999999999`),
		`{"ph": "B", "cat": "kernel", "name": "begun", "pid": 0, "tid": 7, "ts": 1}`,
		kernel("no time", `"x"`, launched("132, 1, 1", "1024, 1, 1", 32, 0)),
	)
}

// TestGolden holds every form of the report against files.
func TestGolden(t *testing.T) {
	r := read(t, sample(), Options{})
	below, _, _ := r.Below(Minimum{Percent: 30, AchievedPercent: 5, Share: 0.1})
	var findings []string
	for i := range below {
		findings = append(findings, below[i].String())
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"report.txt":   func(b *bytes.Buffer) error { return r.WriteText(b, View{Trace: "sample.json"}) },
		"report.json":  func(b *bytes.Buffer) error { return r.WriteJSON(b, View{Trace: "sample.json", Findings: findings}) },
		"report.csv":   func(b *bytes.Buffer) error { return r.WriteCSV(b, View{}) },
		"top.txt":      func(b *bytes.Buffer) error { return r.WriteText(b, View{Top: 2, FullNames: true}) },
		"ratchet.json": func(b *bytes.Buffer) error { return r.Ratchet().Write(b) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

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
