package chrome

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// kindsOf counts events by kind, and says what of the rest is usual to ask for.
func kindsOf(t *timeline.Trace) string {
	n := map[string]int{}
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		n[e.Kind.String()]++
		if e.Kind == timeline.Kernel {
			if l := t.Launches[t.Kernels.At(e.Detail).Launch]; l.Has&event.HasDims != 0 && l.Grid[0] > 0 && l.Block[0] > 0 {
				n["kernel with dims"]++
			}
		}
		if e.Kind.OnDevice() && t.Places[e.Place].Has&event.HasStream != 0 && t.Rows[e.Row].Kind == timeline.RowStream {
			n["on a stream"]++
		}
		if e.Flags&timeline.FlowOut != 0 {
			n["out"]++
		}
		if e.Flags&timeline.FlowIn != 0 {
			n["in"]++
		}
	}
	n["arrow ends"] = len(t.Flows)
	var out []string
	for k, v := range n {
		if v > 0 {
			out = append(out, fmt.Sprintf("%s %d", k, v))
		}
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// TestReadKinds: the vocabularies of the producers there are in the world come to
// the same kinds.
func TestReadKinds(t *testing.T) {
	const public = "traces/public/"
	for _, test := range []struct{ path, producer, kinds string }{
		{"testdata/basic.kineto.json.gz", "torch 2.7 or newer (cuda)",
			"gpu_user_annotation 5, host 172, in 90, kernel 30, kernel with dims 30, memcpy 25, memset 5, on a stream 60, other 3, out 79, overhead 1, runtime 109"},
		{public + "old-capital-categories.json.gz", "torch 2021 (cuda)",
			"in 4, kernel 4, kernel with dims 4, on a stream 4, other 2, out 4, runtime 8"},
		{public + "ascend-trace-view.json.gz", "torch_npu (ascend)",
			"arrow ends 1426, host 1007, kernel 274, memcpy 2, on a stream 276, other 547, runtime 382"},
		{public + "rocm-mi250-train.json.gz", "torch 2.4 to 2.6 (rocm)",
			"arrow ends 8, gpu_user_annotation 2, host 73, in 21, kernel 14, memcpy 2, on a stream 16, other 3, out 16, runtime 21"},
		{public + "diff-v100-test.json.gz", "torch older than 2.4 (cuda)",
			"host 31524, in 26815, kernel 9876, kernel with dims 9876, memcpy 4856, memset 900, on a stream 15632, other 3, out 9984, runtime 21167"},
		{public + "a100-alexnet-sync.json.gz", "torch older than 2.4 (cuda)",
			"host 367, in 345, kernel 79, kernel with dims 79, memcpy 16, memset 3, on a stream 98, other 3, out 155, runtime 361, sync 41"},
	} {
		path := test.path
		if strings.HasPrefix(path, public) {
			var ok bool
			if path, ok = testrig.FindShared(path); !ok {
				continue
			}
		}
		docs, err := ReadFile(path, ReadOptions{})
		if err != nil {
			t.Error(err)
			continue
		}
		if got := docs[0].Producer.String(); got != test.producer {
			t.Errorf("%s: producer %s, want %s", test.path, got, test.producer)
		}
		if got := kindsOf(docs[0].Trace); got != test.kinds {
			t.Errorf("%s: %s, want %s", test.path, got, test.kinds)
		}
	}
}

// TestReadVendors: vendors' spellings of which there is no trace at hand.
func TestReadVendors(t *testing.T) {
	const launch = `{"ph":"X","cat":"%s","name":"%s","pid":9,"tid":9,"ts":1,"dur":1,"args":{"correlation":1}},` +
		`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2,"dur":1,"args":{"correlation":1,"device":0,"stream":7%s}}`
	for _, test := range []struct{ name, text, producer, kinds string }{
		{"musa", fmt.Sprintf(launch, "privateuse1_runtime", "musaLaunchKernel", ""), "torch_musa (musa)", "kernel 1, on a stream 1, runtime 1"},
		{"musa 2024", fmt.Sprintf(launch, "musa_driver", "muLaunchKernel", ""), "torch_musa (musa)", "driver 1, kernel 1, on a stream 1"},
		{"mlu", fmt.Sprintf(launch, "mlu_runtime", "cnInvokeKernel", `,"tasktopo":1`), "torch_mlu (mlu)", "kernel 1, on a stream 1, runtime 1"},
		{"xpu", fmt.Sprintf(launch, "xpu_runtime", "urEnqueueKernelLaunch", ""), "torch (xpu)", "kernel 1, on a stream 1, runtime 1"},
		{"mtia", fmt.Sprintf(launch, "mtia_runtime", "x", ""), "torch (mtia)", "kernel 1, on a stream 1, runtime 1"},
		{"rocm", fmt.Sprintf(launch, "cuda_runtime", "hipLaunchKernel", ""), "torch (rocm)", "kernel 1, on a stream 1, runtime 1"},
		{"Torch-FL", `{"ph":"M","name":"process_labels","pid":0,"tid":0,"args":{"labels":"flagos:GPU"}},` + fmt.Sprintf(launch, "privateuse1_runtime", "x", ""),
			"Torch-FL (flagos)", "kernel 1, on a stream 1, runtime 1"},
		{"2021", `{"ph":"X","cat":"Operator","name":"aten::mm","pid":"9","tid":"9","ts":1,"dur":1},{"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":2,"dur":1,"args":{"device":0}}`,
			"torch 2021 (cuda)", "host 1, kernel 1, on a stream 1"},
	} {
		d, err := Read(strings.NewReader("["+test.text+"]"), ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Producer.String(); got != test.producer {
			t.Errorf("%s: producer %s, want %s", test.name, got, test.producer)
		}
		if got := kindsOf(d.Trace); got != test.kinds {
			t.Errorf("%s: %s, want %s", test.name, got, test.kinds)
		}
		if test.name == "2021" && d.Trace.Places[d.Trace.Events.At(1).Place].Stream != 7 {
			t.Errorf("places %+v", d.Trace.Places)
		}
	}
	ours := readText(t, written(t, sampleTrace(), Options{}))
	if ours.Producer.Name != "flagos-trace" || ours.Trace.Completeness == nil {
		t.Errorf("%+v", ours.Producer)
	}
}
