package shape

import (
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestGraphs: launches into a capture have no work, and the work of a graph that no
// operator replays has no operator; neither breaks a rule. What is launched before,
// behind or beside a capture does, and so does a graph inside an operator.
func TestGraphs(t *testing.T) {
	const (
		op      = `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":10,"dur":5,"args":{"External id":1}},`
		begin   = `{"ph":"X","cat":"cuda_runtime","name":"cudaStreamBeginCapture","pid":1,"tid":1,"ts":20,"dur":1,"args":{"correlation":20}},`
		end     = `{"ph":"X","cat":"cuda_runtime","name":"cudaStreamEndCapture","pid":1,"tid":1,"ts":40,"dur":1,"args":{"correlation":40}},`
		capture = begin + end
		launch  = `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":TID,"ts":TS,"dur":1,"args":{"correlation":30}},`
		replay  = `{"ph":"X","cat":"cuda_runtime","name":"NAME","pid":1,"tid":1,"ts":TS,"dur":1,"args":{"correlation":50}},` +
			`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":60.5,"dur":1,"args":{"correlation":50}},`
	)
	at := func(text, ts, tid string) string { return strings.NewReplacer("TS", ts, "TID", tid).Replace(text) }
	graph, plain := strings.ReplaceAll(replay, "NAME", "cudaGraphLaunch"), strings.ReplaceAll(replay, "NAME", "cudaLaunchKernel")
	for _, c := range []struct {
		name, events             string
		launches, launchesBroken int64
		linked, linkedBroken     int64
	}{
		{"in a capture", op + capture + at(launch, "30", "1"), 0, 0, 0, 0},
		{"before it", op + capture + at(launch, "15", "1"), 1, 1, 0, 0},
		{"behind it", op + capture + at(launch, "45", "1"), 1, 1, 0, 0},
		{"on another thread", op + capture + at(launch, "30", "2"), 1, 1, 0, 0},
		{"on another thread, and in the graph", op + capture + at(launch, "30", "2") + at(graph, "50", ""), 1, 0, 0, 0},
		{"on both threads, and in the graph once", op + capture + at(launch, "30", "2") + strings.Replace(at(launch, "31", "1"), `30}`, `31}`, 1) + at(graph, "50", ""), 2, 1, 0, 0},
		{"behind an end alone", op + end + at(launch, "45", "1"), 1, 1, 0, 0},
		{"a graph", op + at(graph, "50", ""), 1, 0, 0, 0},
		{"a graph in an operator", op + at(graph, "12", ""), 1, 0, 1, 1},
		{"a kernel without an operator", op + at(plain, "50", ""), 1, 0, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.TrimSuffix(c.events, ",")+`]}`), chrome.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			o, err := Observe(d)
			if err != nil {
				t.Fatal(err)
			}
			for id, want := range map[string][2]int64{WorkOfLaunch: {c.launches, c.launchesBroken}, Linked: {c.linked, c.linkedBroken}} {
				if m := o.Measures[id]; m == nil && want != [2]int64{} || m != nil && [2]int64{m.Checked, m.Broken} != want {
					t.Errorf("%s: %+v, want %v", id, m, want)
				}
			}
		})
	}
}
