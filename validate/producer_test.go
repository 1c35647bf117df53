package validate

import "testing"

func TestProducers(t *testing.T) {
	of := func(members, events string) string {
		return "{" + members + `"traceEvents": [` + events + "]}"
	}
	call := func(category, name string) string {
		return `{"ph": "X", "cat": "` + category + `", "name": "` + name + `", "pid": 1, "tid": 1, "ts": 1.5, "dur": 1, "args": {"correlation": 1}}`
	}
	for _, c := range []struct {
		text string
		want Family
	}{
		{of(`"flagosTrace": {"verdict": "complete"}, `, call("cuda_runtime", "cudaMalloc")), Flagos},
		{of(`"flagosTrace": {"repaired": {"unclosed": 1}, "repaired_by": "flagos-trace 1"}, `, call("cuda_runtime", "cudaMalloc")), CUDA},
		{of(`"flagosTrace": {"tool": "flagos-trace 1", "repaired_by": "flagos-trace 1"}, `, call("cuda_runtime", "cudaMalloc")), Flagos},
		{of("", call("cuda_runtime", "cudaMalloc")), CUDA},
		{of("", call("Runtime", "cudaMalloc")), CUDA},
		{of(`"roctracer_version": 4.1, `, call("cuda_runtime", "hipMalloc")), ROCm},
		{of("", call("cuda_runtime", "hipMalloc")), ROCm},
		{of("", call("xpu_runtime", "urEnqueueKernelLaunch")), XPU},
		{of("", call("mtia_runtime", "runFunction")), MTIA},
		{of("", call("mlu_runtime", "cnInvokeKernel")), MLU},
		{of("", call("privateuse1_runtime", "musaLaunchKernel")), MUSA},
		{of("", call("privateuse1_runtime", "launch")), PrivateUse1},
		{of("", call("privateuse1_runtime", "launch")+`, {"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "args": {"labels": "flagos:GPU 0"}}`), TorchFL},
		{of("", call("privateuse1_runtime", "aclrtLaunch")+","+call("collective_comm", "allreduce")), NPUMSPTI},
		{`[` + call("cpu_op", "aten::mm") + `, {"ph": "M", "name": "process_name", "pid": 2, "tid": 0, "args": {"name": "Ascend Hardware"}}]`, NPUTraceView},
		{of(`"schemaVersion": 1, `, call("cpu_op", "aten::mm")), CPUOnly},
		{of("", call("", "main")), Generic},
	} {
		if got := run(t, c.text, Options{}).Producer; got.Family != c.want || got.Name == "" {
			t.Errorf("%s: %+v, want %s", c.text, got, c.want)
		}
	}
	// What a repair added does not date the producer.
	const base = `"baseTimeNanoseconds": 1688296932000000000, `
	for _, c := range []struct{ members, since string }{
		{base, "Kineto of May 2024 (baseTimeNanoseconds)"},
		{base + `"flagosTrace": {"repaired": {"absolute_times": 1}, "repaired_by": "flagos-trace 1"}, `, "Kineto of March 2024 (times with decimals)"},
		{base + `"flagosTrace": {"repaired": {"unclosed": 1}, "repaired_by": "flagos-trace 1"}, `, "Kineto of May 2024 (baseTimeNanoseconds)"},
	} {
		if got := run(t, of(c.members, call("cuda_runtime", "cudaMalloc")), Options{}).Producer; got.Since != c.since {
			t.Errorf("%s: since %q, want %q", c.members, got.Since, c.since)
		}
	}
}

// TestSubRows: the tid of a sub-row is that of its stream and a multiple of
// ten million, and further on for copies that the host timed.
func TestSubRows(t *testing.T) {
	for tid, want := range map[string]int{"7": 0, "10000007": 0, "20000007": 0, "8": 1, "10000008": 1, "1000007": 1, "2000007": 0} {
		text := `{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": ` + tid + `, "ts": 1.5, "dur": 1, "args": {"device": 0, "stream": 7}}]}`
		if n := len(run(t, text, Options{Only: []string{"arg-row"}}).Findings); n != want {
			t.Errorf("stream 7 on row %s: %d findings, want %d", tid, n, want)
		}
	}
}
