package summary

import (
	"fmt"
	"testing"
)

// TestCriticalDeep: time of the host is that of the innermost operator, to any depth; a
// call's is that of the operator around it.
func TestCriticalDeep(t *testing.T) {
	const depth = 200
	w := new(writer)
	w.span("python_function", "f", 9, 9, 0, 10*depth+4, "")
	for i := range depth {
		w.span("cpu_op", fmt.Sprint("op", i), 9, 9, 2+i, 10*depth-2*i, "")
	}
	middle := 2 + 5*depth
	w.call("cudaLaunchKernel", middle-5, 1, 1)
	w.call("cudaDeviceSynchronize", middle, 2, 2)
	w.kernel("k", 7, middle-2, 3, 1, "")
	s := read(t, Options{}, w.file(t, "deep.json", ""))
	got := map[string]int64{}
	for _, e := range s.CriticalPath.Entries {
		if e.Kind == PathHost {
			got[e.Name] = e.NS
		}
	}
	want := map[string]int64{}
	for i := range depth - 1 {
		want[fmt.Sprint("op", i)] = 2000
	}
	// Less 7 us: from the launch to the end of the kernel, and from there to that of the wait.
	want["op199"] = int64(10*depth-2*(depth-1))*1000 - 7000
	for name, ns := range want {
		if got[name] != ns {
			t.Errorf("%s is on the path for %d ns, not %d", name, got[name], ns)
		}
	}
}
