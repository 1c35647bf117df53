package merge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// process makes the trace of a small process: a call, its kernel, an operator
// with arguments, a copy, a wait, an overhead, an arrow between operators.
func process(pid int, host string, start int64) *timeline.Trace {
	t := &timeline.Trace{
		Process: timeline.Process{PID: pid, Name: "python", Host: host},
		Window:  timeline.Window{Start: start, End: start + 1000},
		Devices: []timeline.Device{{ID: 0, Name: "GPU", Properties: []timeline.DeviceProperty{{Key: "numSms", Value: 132}}}},
		Metadata: []timeline.Property{
			{Key: "cupti_version", Raw: []byte("130001")},
			{Key: "distributedInfo", Raw: []byte(fmt.Sprintf(`{"rank": %d}`, pid))},
		},
		Completeness: &timeline.Completeness{Ended: timeline.EndExit, Written: map[string]uint64{"kernel": 1}, Verdict: timeline.Complete},
	}
	thread := t.Row(timeline.Row{PID: int64(pid), TID: int64(pid), Kind: timeline.RowThread})
	stream := t.Row(timeline.Row{PID: 0, TID: 7, Stream: 7, Kind: timeline.RowStream})
	over := t.Row(timeline.Row{PID: -1, Kind: timeline.RowOverhead})
	place := t.Place(timeline.Place{Device: 0, Context: 1, Stream: 7, Has: event.HasDevice | event.HasStream})
	id := t.Strings.ID
	t.Events.Add(timeline.Event{Kind: timeline.Host, Name: id("aten::mm"), Category: id("cpu_op"), Row: thread, Start: start, End: start + 90,
		External: 3, Flags: timeline.HasExternal, Detail: t.Args.Add([]byte(`"Ev Idx": 1`))})
	t.Events.Add(timeline.Event{Kind: timeline.Runtime, Name: id("cudaLaunchKernel"), Row: thread, Start: start + 10, End: start + 20,
		Correlation: 1, Flags: timeline.FlowOut, Detail: t.Calls.Add(timeline.CallDetail{CBID: 211})})
	t.Events.Add(timeline.Event{Kind: timeline.Kernel, Name: id("gemm"), Row: stream, Place: place, Start: start + 30, End: start + 80, Correlation: 1,
		Flags: timeline.FlowIn, Detail: t.Kernels.Add(timeline.KernelDetail{Launch: t.Launch(event.Launch{Grid: [3]int32{1, 1, 1}, Block: [3]int32{32, 1, 1}, Registers: uint32(pid)})})})
	t.Events.Add(timeline.Event{Kind: timeline.Overhead, Name: id("Buffer Flush"), Row: over, Start: start + 1, End: start + 2})
	for i, begin := range []bool{true, false} {
		t.Flows = append(t.Flows, timeline.FlowPoint{ID: 1, TS: start + int64(i), Row: thread, Name: id("fwdbwd"), Start: begin})
	}
	return t
}

type written struct {
	Events []struct {
		Ph, Cat, Name string
		PID, TID, ID  any
		Args          map[string]any
	} `json:"traceEvents"`
	Flagos timeline.Completeness `json:"flagosTrace"`
	Info   json.RawMessage       `json:"distributedInfo"`
}

func write(t *testing.T, tr *timeline.Trace) written {
	t.Helper()
	var b bytes.Buffer
	if err := chrome.Write(&b, tr, chrome.Options{TraceName: "merged"}); err != nil {
		t.Fatal(err)
	}
	var w written
	if err := json.Unmarshal(b.Bytes(), &w); err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	return w
}

func TestMerge(t *testing.T) {
	a, b, c := process(100, "one", 5000), process(101, "one", 5500), process(100, "two", 4000)
	merged, err := Traces([]Part{{Trace: a, Label: "rank 0"}, {Trace: b, Label: "rank 1"}, {Trace: c, Label: "rank 2"}})
	if err != nil {
		t.Fatal(err)
	}
	if merged.Window != (timeline.Window{Start: 4000, End: 6500}) {
		t.Errorf("window %+v", merged.Window)
	}
	w := write(t, merged)
	rows, flows := map[string]map[string]bool{}, map[string]map[string]int{}
	names, labels := map[string]string{}, map[string]string{}
	kernels := map[string]bool{}
	for _, e := range w.Events {
		pid := fmt.Sprint(e.PID)
		switch e.Ph {
		case "X":
			if rows[e.Cat] == nil {
				rows[e.Cat] = map[string]bool{}
			}
			rows[e.Cat][pid+"/"+fmt.Sprint(e.TID)] = true
			if e.Cat == "kernel" {
				kernels[fmt.Sprint(e.Args["registers per thread"], " ", e.Args["correlation"])] = true
				if fmt.Sprint(e.Args["device"]) != "0" {
					t.Errorf("a kernel of device %v", e.Args["device"])
				}
			}
		case "s", "f":
			k := e.Cat + fmt.Sprint(e.ID)
			if flows[k] == nil {
				flows[k] = map[string]int{}
			}
			flows[k][e.Ph]++
		case "M":
			switch e.Name {
			case "process_name":
				names[pid] = fmt.Sprint(e.Args["name"])
			case "process_labels":
				labels[pid] = fmt.Sprint(e.Args["labels"])
			}
		}
	}
	for _, cat := range []string{"cpu_op", "cuda_runtime", "kernel", "overhead"} {
		if len(rows[cat]) != 3 {
			t.Errorf("%s events are on %d rows, want one for each process: %v", cat, len(rows[cat]), rows[cat])
		}
	}
	if len(flows) != 6 {
		t.Errorf("%d arrows, want 6: %v", len(flows), flows)
	}
	for id, n := range flows {
		if n["s"] != 1 || n["f"] != 1 {
			t.Errorf("arrow %s: %v", id, n)
		}
	}
	if len(kernels) != 3 {
		t.Errorf("kernels %v", kernels)
	}
	if labels["100"] != "rank 0 CPU (one pid 100)" || names["100"] != "python" || len(labels) != 9 {
		t.Errorf("labels %v, names %v", labels, names)
	}
	if w.Info != nil {
		t.Errorf("the merged trace has the rank of one: %s", w.Info)
	}
	if len(w.Flagos.Processes) != 3 || w.Flagos.Verdict != timeline.Complete || w.Flagos.Written["kernel"] != 3 {
		t.Errorf("completeness %+v", w.Flagos)
	}
	if a.Events.At(1).Correlation != 1 || len(a.Rows) != 3 {
		t.Error("a part was changed")
	}
}

func TestWorstVerdictCounts(t *testing.T) {
	a, b := process(1, "h", 0), process(2, "h", 0)
	b.Completeness.Verdict = timeline.Incomplete
	c := process(3, "h", 0)
	c.Completeness = nil
	for _, x := range []struct {
		parts []Part
		want  timeline.Verdict
	}{{[]Part{{Trace: a, Label: ""}, {Trace: c, Label: ""}}, timeline.Unknown}, {[]Part{{Trace: a, Label: ""}, {Trace: b, Label: ""}, {Trace: c, Label: ""}}, timeline.Incomplete}} {
		m, err := Traces(x.parts)
		if err != nil || m.Completeness.Verdict != x.want {
			t.Errorf("%v, %v, want %s", m.Completeness, err, x.want)
		}
	}
	if _, err := Traces(nil); !errors.Is(err, ErrNothing) {
		t.Errorf("nothing: %v", err)
	}
}

// Where the device 0 of two processes differ, the merged trace claims of device 0
// only what is true of both.
func TestDevicesThatDiffer(t *testing.T) {
	a, b := process(1, "h", 0), process(2, "i", 0)
	b.Devices[0].Name = "other"
	b.Devices[0].Properties = []timeline.DeviceProperty{{Key: "numSms", Value: 8}}
	m, err := Traces([]Part{{Trace: a, Label: ""}, {Trace: b, Label: ""}})
	if err != nil || len(m.Devices) != 1 || m.Devices[0].Name != "" || len(m.Devices[0].Properties) != 0 {
		t.Errorf("%+v, %v", m.Devices, err)
	}
}
