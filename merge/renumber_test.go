package merge

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// doc is a document of a process with whatever events; %P is its pid.
func doc(members, events string, pid int) []byte {
	if members != "" {
		members += ",\n"
	}
	return []byte("{" + members + `"traceEvents": [` + "\n" + strings.ReplaceAll(events, "%P", fmt.Sprint(pid)) + "\n]}")
}

const launch = `{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": %%P, "tid": %%P, "ts": 1.000, "dur": 2.000, "args": {"External id": 5, "cbid": 211, "correlation": %[1]s}},
{"ph": "s", "id": %[2]s, "pid": %%P, "tid": %%P, "ts": 1.000, "cat": "ac2g", "name": "ac2g"},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4.000, "dur": 2.000, "args": {"External id": 5, "device": 0, "stream": 7, "correlation": %[1]s,  "grid": [1, 2, 3]}},
{"ph": "f", "id": %[2]s, "pid": 0, "tid": 7, "ts": 4.000, "cat": "ac2g", "name": "ac2g", "bp": "e"}`

// TestRenumbered: what of a second document is changed, and nothing else.
func TestRenumbered(t *testing.T) {
	for _, c := range []struct {
		name   string
		first  string // "" is the same as second
		second string
		want   []string // in the text of the merged document, of the second's events
		not    []string
	}{
		{"correlation ids that meet", "", fmt.Sprintf(launch, "9", "9"),
			[]string{`{"External id": 5, "cbid": 211, "correlation": 18}`, `"correlation": 18,  "grid": [1, 2, 3]}`, `"id": 18, "pid": 101`}, nil},
		{"correlation ids that do not", fmt.Sprintf(launch, "9", "9"), fmt.Sprintf(launch, "10", "10"),
			[]string{`"correlation": 10}`, `"id": 10, "pid": 101`}, []string{`"correlation": 19`}},
		{"quoted", "", fmt.Sprintf(launch, `"9"`, "9"), []string{`"correlation": "18"}`}, nil},
		{"of a wait", "", fmt.Sprintf(launch, "9", "9") + `,
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 8.000, "dur": 1.000, "args": {"wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 9, "wait_on_cuda_event_id": 3, "stream": 7, "correlation": 8}},
{"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 7, "ts": 9.000, "dur": 1.000, "args": {"wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": 3, "stream": 7, "correlation": 7}}`,
			[]string{`"wait_on_cuda_event_record_corr_id": 18, "wait_on_cuda_event_id": 3, "stream": 7, "correlation": 17}`, `"wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": 3, "stream": 7, "correlation": 16}`}, nil},
		{"Ev Idx and External id stay", "", `{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": %P, "tid": 3, "ts": 1.000, "dur": 2.000, "args": {"External id": 7,"Record function id": 0, "correlation": 9, "Ev Idx": 7}}`,
			[]string{`"args": {"External id": 7,"Record function id": 0, "correlation": 18, "Ev Idx": 7}}`}, nil},
		{"other arrows", "", `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": %P, "tid": 3, "ts": 1.000, "dur": 2.000},
{"ph": "s", "id": 1, "pid": %P, "tid": 3, "ts": 1.000, "cat": "fwdbwd", "name": "fwdbwd"},
{"ph": "f", "id": 1, "pid": %P, "tid": 3, "ts": 2.000, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}`,
			[]string{`"ph": "s", "id": 2, "pid": 101`, `"ph": "f", "id": 2, "pid": 101`}, nil},
		{"ids of arrows that are texts", "", `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": %P, "tid": 3, "ts": 1.000, "dur": 2.000},
{"ph": "s", "id": "0xab", "pid": %P, "tid": 3, "ts": 1.000, "cat": "x", "name": "x"}, {"ph": "f", "id": "0xab", "pid": %P, "tid": 3, "ts": 2.000, "cat": "x", "name": "x"},
{"ph": "s", "id": -4, "pid": %P, "tid": 3, "ts": 1.000, "cat": "y", "name": "y"}, {"ph": "f", "id": -4, "pid": %P, "tid": 3, "ts": 2.000, "cat": "y", "name": "y"},
{"ph": "s", "id": "5", "pid": %P, "tid": 3, "ts": 1.000, "cat": "z", "name": "z"}, {"ph": "f", "id": "5", "pid": %P, "tid": 3, "ts": 2.000, "cat": "z", "name": "z"}`,
			[]string{`"ph": "s", "id": "0xab@1"`, `"ph": "f", "id": "0xab@1"`, `"id": "-4 @1"`, `"ph": "s", "id": "10"`}, nil},
		{"asynchronous events", "", `{"ph": "b", "cat": "a", "name": "n", "id": 6, "pid": %P, "tid": 3, "ts": 1.000}, {"ph": "e", "cat": "a", "name": "n", "id": 6, "pid": %P, "tid": 3, "ts": 2.000},
{"ph": "b", "cat": "a", "name": "m", "id": "0x6", "tts": 5, "pid": %P, "tid": 3, "ts": 1.000}, {"ph": "e", "cat": "a", "name": "m", "id": "0x6", "pid": %P, "tid": 3, "ts": 2.000}`,
			[]string{`"id": 12`, `"id": "0x6@1"`}, nil},
		{"pids that are texts", "", `{"ph": "X", "cat": "Trace", "name": "w", "pid": "Spans", "tid": "P", "ts": 1.000, "dur": 5.000}, {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 6.000}`,
			[]string{`"pid": "Spans", "tid": "P"`, `"pid": "Spans rank 1", "tid": "P"`, `"pid": "", "tid": ""`, `"pid": "rank 1", "tid": ""`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.first == "" {
				c.first = c.second
			}
			base := `"baseTimeNanoseconds": 1000000`
			a, b := read(t, doc(base, c.first, 100)), read(t, doc(base, c.second, 101))
			m, out := there(t, []Part{{Trace: a, Label: "rank 0"}, {Trace: b, Label: "rank 1"}})
			all := string(text(t, m))
			for _, want := range c.want {
				if !strings.Contains(all, want) {
					t.Errorf("no %s in\n%s", want, all)
				}
			}
			for _, not := range c.not {
				if strings.Contains(all, not) {
					t.Errorf("%s in\n%s", not, all)
				}
			}
			for i, p := range []*timeline.Trace{a, b} {
				if x, y := text(t, p), text(t, out[i]); !bytes.Equal(x, y) {
					t.Errorf("part %d: %s", i, difference(x, y))
				}
			}
		})
	}
}

// TestPIDs: what shows as which process.
func TestPIDs(t *testing.T) {
	events := `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": %P, "tid": 3, "ts": 1.000, "dur": 2.000},
{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 4.000, "dur": 2.000, "args": {"stream": 7}},
{"ph": "M", "name": "process_name", "pid": %P, "tid": 0, "ts": 0.000, "args": {"name": "python"}},
{"ph": "M", "name": "process_labels", "pid": %P, "tid": 0, "ts": 0.000, "args": {"labels": "CPU"}},
{"ph": "M", "name": "process_sort_index", "pid": %P, "tid": 0, "ts": 0.000, "args": {"sort_index": 44}},
{"ph": "M", "name": "process_labels", "pid": 0, "tid": 0, "ts": 0.000, "args": {"labels": "GPU 0"}},
{"ph": "M", "name": "thread_name", "pid": 0, "tid": 7, "ts": 0.000, "args": {"name": "stream 7 "}},
{"ph": "M", "name": "thread_sort_index", "pid": 0, "tid": 7, "ts": 0.000, "args": {"sort_index": 7}}`
	var parts []Part
	// The third is another host's, with the number of the first; the fourth has the
	// number that a device was given.
	for i, pid := range []int{100, 101, 100, 1} {
		parts = append(parts, Part{Trace: read(t, doc("", events, pid)), Label: fmt.Sprintf("rank %d", i)})
	}
	m, out := there(t, parts)
	var got []string
	for _, g := range m.Groups {
		got = append(got, fmt.Sprintf("%d %s %s %d", g.PID, g.Name, g.Label, g.SortIndex))
	}
	want := []string{"100 python rank 0 CPU 44", "0  rank 0 GPU 0 0", "101 python rank 1 CPU 44", "2  rank 1 GPU 0 0",
		"1000000100 python rank 2 CPU 44", "3  rank 2 GPU 0 0", "1 python rank 3 CPU 44", "4  rank 3 GPU 0 0"}
	if !slices.Equal(got, want) {
		t.Errorf("groups\n%q\nwant\n%q", got, want)
	}
	for i := range parts {
		if x, y := text(t, parts[i].Trace), text(t, out[i]); !bytes.Equal(x, y) {
			t.Errorf("part %d: %s", i, difference(x, y))
		}
	}
	names := 0
	for _, r := range m.Rows {
		if r.Name == "stream 7 " && r.SortIndex == 7 {
			names++
		}
	}
	if names != 4 {
		t.Errorf("%d rows of streams are named", names)
	}
}

// TestTimes: bases are added back, and clocks moved.
func TestTimes(t *testing.T) {
	event := `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": %P, "tid": 3, "ts": 1000.000, "dur": 2.000}`
	at := func(tr *timeline.Trace, i uint32) int64 { return tr.Events.At(i).Start }
	for _, c := range []struct {
		name    string
		members [2]string
		clock   *timeline.Alignment
		base    int64
		hasBase bool
		start   [2]int64
	}{
		{"one base", [2]string{`"baseTimeNanoseconds": 5000000000`, `"baseTimeNanoseconds": 5000000000`}, nil, 5e9, true, [2]int64{5_001_000_000, 5_001_000_000}},
		{"two", [2]string{`"baseTimeNanoseconds": 7000000000`, `"baseTimeNanoseconds": 5000000000`}, nil, 5e9, true, [2]int64{7_001_000_000, 5_001_000_000}},
		{"a base and none", [2]string{`"baseTimeNanoseconds": 7000000000`, `"x": 1`}, nil, 0, true, [2]int64{7_001_000_000, 1_000_000}},
		{"none", [2]string{"", ""}, nil, 0, false, [2]int64{1_000_000, 1_000_000}},
		{"moved", [2]string{`"baseTimeNanoseconds": 5000000000`, `"baseTimeNanoseconds": 5000000000`},
			&timeline.Alignment{Method: timeline.AlignCollectives, OffsetNS: -77, DriftPPM: 10, AtNS: 5_000_000_000}, 5e9, true, [2]int64{5_001_000_000, 5_000_999_933}},
	} {
		a, b := read(t, doc(c.members[0], event, 1)), read(t, doc(c.members[1], event, 2))
		m, _ := there(t, []Part{{Trace: a}, {Trace: b, Clock: c.clock}})
		if m.Source.Base != c.base || m.Source.HasBase != c.hasBase || at(m, 0) != c.start[0] || at(m, 1) != c.start[1] {
			t.Errorf("%s: base %d, %v, starts %d and %d", c.name, m.Source.Base, m.Source.HasBase, at(m, 0), at(m, 1))
		}
		if clock := Infos(m)[1].Clock; (clock == nil) != (c.clock == nil) || clock != nil && *clock != *c.clock {
			t.Errorf("%s: the clock is written as %+v", c.name, clock)
		}
	}
}

// TestMembers: what all have in the same words stays; the rest stands with its part.
func TestMembers(t *testing.T) {
	event := `{"ph": "X", "cat": "cpu_op", "name": "a", "pid": %P, "tid": 3, "ts": 1.000, "dur": 2.000}`
	a := read(t, doc(`"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "A", "numSms": 132}], "distributedInfo": {"rank": 0}, "cuda": 13`, event, 1))
	b := read(t, doc(`"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "B", "numSms": 132}, {"id": 1, "name": "C"}], "distributedInfo": {"rank": 1}, "extra": {"x":  [1,2]}`, event, 2))
	array := read(t, []byte("["+strings.ReplaceAll(event, "%P", "3")+"]"))
	m, out := there(t, []Part{{Trace: a, Label: "rank 0"}, {Trace: b, Label: "rank 1"}})
	var keys []string
	for _, p := range m.Metadata {
		keys = append(keys, p.Key)
	}
	if !slices.Equal(keys, []string{"schemaVersion", "deviceProperties", KeyMerge}) {
		t.Errorf("members %q", keys)
	}
	if s := regexp.MustCompile(`\s`).ReplaceAllString(string(m.Metadata[1].Raw), ""); s != `[{"id":0,"numSms":132},{"id":1,"name":"C"}]` {
		t.Errorf("devices %s", s)
	}
	if !bytes.Contains(text(t, m), []byte(`"extra": {"x":  [1,2]}`)) {
		t.Error("a member of one part is not kept as it stood")
	}
	for i, p := range []*timeline.Trace{a, b} {
		if x, y := text(t, p), text(t, out[i]); !bytes.Equal(x, y) {
			t.Errorf("part %d: %s", i, difference(x, y))
		}
		if DefaultLabel(out[i]) != fmt.Sprintf("rank %d", i) {
			t.Errorf("part %d is %q", i, DefaultLabel(out[i]))
		}
	}
	// A merged trace is merged again: its parts stay parts. An array has no members.
	m, out = there(t, []Part{{Trace: array, Label: "c"}, {Trace: m}})
	if infos := Infos(m); len(infos) != 3 || infos[0].Label != "c" || infos[1].Label != "rank 0" || infos[2].Label != "rank 1" {
		t.Fatalf("%+v", infos)
	}
	for i, p := range []*timeline.Trace{array, a, b} {
		if x, y := text(t, p), text(t, out[i]); !bytes.Equal(x, y) {
			t.Errorf("merged twice, part %d: %s", i, difference(x, y))
		}
	}
}

// TestArrowNames: parts whose arrows between calls and device work have other names.
func TestArrowNames(t *testing.T) {
	one := fmt.Sprintf(launch, "9", "9")
	a, b := read(t, doc("", one, 1)), read(t, doc("", strings.ReplaceAll(one, "ac2g", "async_gpu"), 2))
	m, _ := there(t, []Part{{Trace: a}, {Trace: b}})
	for _, want := range []string{`"ph": "s", "id": 9, "pid": 1, "tid": 1, "ts": 1.000, "cat": "ac2g"`, `"ph": "s", "id": 18, "pid": 2, "tid": 2, "ts": 1.000, "cat": "async_gpu"`,
		`"ph": "f", "id": 18, "pid": 3, "tid": 7, "ts": 4.000, "cat": "async_gpu", "name": "async_gpu", "bp": "e"`} {
		if !bytes.Contains(text(t, m), []byte(want)) {
			t.Errorf("no %s in\n%s", want, text(t, m))
		}
	}
}

// TestMixed: a recorded trace merged with one that was read is as its document.
func TestMixed(t *testing.T) {
	recorded, b := process(100, "one", 5000), read(t, doc("", fmt.Sprintf(launch, "1", "1"), 2))
	m, out := there(t, []Part{{Trace: recorded, Label: "rank 0"}, {Trace: b, Label: "rank 1"}})
	if x, y := text(t, read(t, text(t, recorded))), text(t, out[0]); !bytes.Equal(x, y) {
		t.Errorf("the recorded one: %s", difference(x, y))
	}
	if c := m.Completeness; c == nil || c.Verdict != timeline.Unknown || len(c.Processes) != 2 || c.Processes[1].Completeness != nil {
		t.Errorf("%+v", c)
	}
	if recorded.Source != nil {
		t.Error("the part was changed")
	}
}

func TestTooLargeIDs(t *testing.T) {
	huge := fmt.Sprint(uint64(math.MaxUint64 - 3))
	events := fmt.Sprintf(launch, huge, huge)
	_, err := Traces([]Part{{Trace: read(t, doc("", events, 1))}, {Trace: read(t, doc("", events, 2)), Label: "rank 1"}})
	if !errors.Is(err, ErrIDs) || !strings.Contains(err.Error(), "part 1 (rank 1): correlation ids") {
		t.Error(err)
	}
	if _, err := Extract(read(t, doc("", events, 1)), 0); !errors.Is(err, ErrNoPart) {
		t.Error(err)
	}
}

// FuzzInfo: a record of a merge that is not one must do no harm.
func FuzzInfo(f *testing.F) {
	f.Add([]byte(`[{"label": "rank 0", "pids": [{"was": 1, "is": 2, "host": true}, {"was": "a", "is": ""}], "correlation_added": 18446744073709551615, "keys": ["traceEvents", "x"], "members": {"x": 1}, "clock": {"method": "none"}}]`))
	f.Add([]byte(`[{"pids": 3, "keys": {}, "members": []}, 7]`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := chrome.Read(bytes.NewReader(doc(`"flagosMerge": `+string(raw), strings.ReplaceAll(fmt.Sprintf(launch, "1", "1"), "%P", "2"), 2)), chrome.ReadOptions{})
		if err != nil {
			return
		}
		for i := range Infos(d.Trace) {
			if _, err := Extract(d.Trace, i); err != nil {
				t.Error(err)
			}
		}
	})
}

// FuzzTraces: whatever two documents hold, they can be merged, and taken out again as
// they were.
func FuzzTraces(f *testing.F) {
	one := fmt.Sprintf(launch, "9", "9")
	f.Add(doc(`"baseTimeNanoseconds": 1000000`, one, 1), doc("", one, 1))
	f.Add(doc(`"x": 1`, `{"ph": "b", "cat": "a", "name": "n", "id": "6", "pid": "%P", "tid": "", "ts": 1.000}, {"ph": "s", "id": -4, "pid": 1, "tid": 3, "ts": 1.000, "cat": "y", "name": "y"}`, 3), doc("", one, 2))
	f.Add([]byte(`[{"ph": "X", "name": "a", "pid": 0, "tid": 0, "ts": 1, "dur": 1, "id": 7, "bind_id": "x"}]`), doc("", one, 0))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var parts []Part
		for i, raw := range [][]byte{a, b} {
			d, err := chrome.Read(bytes.NewReader(raw), chrome.ReadOptions{})
			if err != nil {
				return
			}
			// Written once, so that nothing is left to mend.
			d, err = chrome.Read(bytes.NewReader(text(t, d.Trace)), chrome.ReadOptions{})
			if err != nil || len(d.Findings) > 0 || len(Infos(d.Trace)) > 0 {
				return
			}
			parts = append(parts, Part{Trace: d.Trace, Label: fmt.Sprint("rank ", i)})
		}
		m, err := Traces(parts)
		if errors.Is(err, ErrIDs) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			x, err := Extract(m, i)
			if err != nil {
				t.Fatal(err)
			}
			was, is := text(t, parts[i].Trace), text(t, x)
			if !bytes.Equal(was, is) {
				t.Errorf("part %d: %s", i, difference(was, is))
			}
		}
	})
}
