package calltree

import (
	"bytes"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// FuzzNew builds trees of whatever can be read as a trace.
func FuzzNew(f *testing.F) {
	for _, s := range []string{
		span("cpu_op", "a", 1, 1, 0, 10, `"External id":5`) + "," + span("kernel", "k", 0, 7, 3, 4, `"External id":5,"correlation":5`),
		span("python_function", "f", 0, 0, 0, 10, "") + "," + span("cpu_op", "a", 1, 1, 2, 4, ""),
		span("user_annotation", "ProfilerStep#1", 1, 1, -5, 1e15, "") + "," + span("kernel", "k", 0, 7, 9e15, 4, `"correlation":-1`),
		arrow("s", "fwdbwd", 1, 1, 1, 0) + "," + arrow("f", "fwdbwd", 1, 1, 1, 0) + "," + span("cpu_op", "a", 1, 1, 0, 0, ""),
	} {
		f.Add([]byte(`{"traceEvents":[` + s + `]}`))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
		if err != nil {
			return
		}
		check(t, "fuzz", New(d.Trace))
	})
}
