// Command baseline makes the embedded baseline of torch-cuda from recordings of
// torch.profiler:
//
//	go run ./internal/gen/baseline -o baseline/torch-cuda.json [trace.json.gz...]
//
// Without traces it takes those of the tests' further inputs, where they are there.
//
// The shape is the union of the traces'. What it requires is exactly what Torch-FL's
// parity test does: six categories, and 13, 7, 7 and 3 arguments of kernels, copies,
// fills and API calls. Everything else is optional.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// required is what Torch-FL's baseline file requires. Source: Torch-FL
// tests/data/profiler_cuda_baseline.json.
var required = map[string][]string{
	"Trace":  nil,
	"cpu_op": nil,
	"kernel": {"External id", "block", "blocks per SM", "context", "correlation", "device", "est. achieved occupancy %", "grid", "queued",
		"registers per thread", "shared memory", "stream", "warps per SM"},
	"gpu_memcpy":   {"External id", "bytes", "context", "correlation", "device", "memory bandwidth (GB/s)", "stream"},
	"gpu_memset":   {"External id", "bytes", "context", "correlation", "device", "memory bandwidth (GB/s)", "stream"},
	"cuda_runtime": {"External id", "cbid", "correlation"},
}

func main() {
	out := flag.String("o", "torch-cuda.json", "file to write")
	flag.Parse()
	if err := run(*out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "baseline:", err)
		os.Exit(1)
	}
}

func run(out string, traces []string) error {
	if len(traces) == 0 {
		dir, ok := testrig.FindShared("traces/torch-cuda")
		if !ok {
			return fmt.Errorf("name the traces to make it of, or the folder of further inputs with %s", testrig.SharedVariable)
		}
		traces, _ = filepath.Glob(filepath.Join(dir, "*.json.gz"))
	}
	var union *shape.Shape
	slices.Sort(traces)
	for _, path := range traces {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
		if err != nil {
			return err
		}
		o, err := shape.Observe(docs[0])
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		o.Shape.Sources[0].File, o.Shape.Sources[0].SHA256 = filepath.Base(path), hex.EncodeToString(sum[:])
		if union == nil {
			union = &o.Shape
		} else {
			union.Merge(&o.Shape)
		}
	}
	like := &shape.Shape{Categories: map[string]*shape.Category{}}
	for name, keys := range required {
		c := &shape.Category{Required: true, Args: map[string]*shape.Arg{}}
		for _, key := range keys {
			c.Args[key] = &shape.Arg{Required: true}
		}
		like.Categories[name] = c
	}
	if err := union.RequireAs(like); err != nil {
		return err
	}
	union.Name = "torch-cuda"
	union.Note = "What torch.profiler writes on CUDA: the union of these recordings. Required is what Torch-FL's parity test requires; the rest is optional."
	var b bytes.Buffer
	if err := union.Write(&b); err != nil {
		return err
	}
	return os.WriteFile(out, b.Bytes(), 0o644)
}
