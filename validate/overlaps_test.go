package validate

import (
	"fmt"
	"testing"
)

// TestOverlaps: kernels of a stream that overlap are an error unless the device and
// the launch let them.
func TestOverlaps(t *testing.T) {
	const device, concurrent = "overlap-device", "overlap-concurrent"
	for _, c := range []struct {
		name         string
		major        int
		first, other string // calls; "" is none
		second       string // category of the second span
		sameLaunch   bool
		rule         string
	}{
		{"launched with attributes on 9.0", 9, "cudaLaunchKernel", "cudaLaunchKernelExC", "kernel", false, concurrent},
		{"driver, on 10.0", 10, "cuLaunchKernelEx", "cuLaunchKernelEx", "kernel", false, concurrent},
		{"launched with attributes on 8.0", 8, "cudaLaunchKernelExC", "cudaLaunchKernelExC", "kernel", false, device},
		{"launched without", 9, "cudaLaunchKernelExC", "cudaLaunchKernel", "kernel", false, device},
		{"no deviceProperties", 0, "cudaLaunchKernelExC", "cudaLaunchKernelExC", "kernel", false, device},
		{"a copy", 9, "cudaLaunchKernelExC", "cudaMemcpyAsync", "gpu_memcpy", false, device},
		{"the call is not there", 9, "cudaLaunchKernel", "", "kernel", false, concurrent},
		{"the call is not there, on 7.0", 7, "cudaLaunchKernel", "", "kernel", false, device},
		{"branches of a graph", 7, "cudaGraphLaunch", "", "kernel", true, concurrent},
		{"two launches of a graph", 7, "cudaGraphLaunch", "cudaGraphLaunch", "kernel", false, device},
	} {
		properties := ""
		if c.major > 0 {
			properties = fmt.Sprintf(`"deviceProperties": [{"id": 0, "computeMajor": %d, "computeMinor": 0, "numSms": 132}], `, c.major)
		}
		events := ""
		id := 1
		for i, name := range []string{c.first, c.other} {
			if name != "" {
				events += fmt.Sprintf(`{"ph": "X", "cat": "cuda_runtime", "name": %q, "pid": 90, "tid": 90, "ts": %d.000, "dur": 1.000, "args": {"cbid": 1, "correlation": %d}},`, name, 1_000_000+i, i+1)
			}
			category := "kernel"
			if i == 1 {
				category = c.second
				if !c.sameLaunch {
					id = 2
				}
			}
			events += fmt.Sprintf(`{"ph": "X", "cat": %q, "name": "k%d", "pid": 0, "tid": 7, "ts": %d.000, "dur": 10.000, "args": {"device": 0, "context": 1, "stream": 7, "correlation": %d}},`, category, i, 1_000_010+5*i, id)
		}
		r := run(t, `{`+properties+`"traceEvents": [`+events[:len(events)-1]+`]}`, Options{Only: []string{device, concurrent}})
		if len(r.Findings) != 1 || r.Findings[0].Rule != c.rule {
			t.Errorf("%s: %+v", c.name, r.Findings)
		}
	}
}
