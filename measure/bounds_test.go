package measure

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func TestBounds(t *testing.T) {
	read := func(events ...string) *timeline.Trace {
		d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Trace
	}
	span := func(category string, pid int, ts, dur float64) string {
		return fmt.Sprintf(`{"ph":"X","cat":%q,"name":"k","pid":%d,"tid":7,"ts":%f,"dur":%f,"args":{"device":%d}}`, category, pid, ts, dur, pid)
	}
	epoch := span("kernel", 0, 1.7e15, 10)
	for _, c := range []struct {
		name   string
		traces []*timeline.Trace
		ok     bool
	}{
		{"nothing", []*timeline.Trace{{}}, true},
		{"one event at zero", []*timeline.Trace{read(span("cpu_op", 9, 0, 1), epoch)}, true},
		{"the same on many devices", []*timeline.Trace{read(span("cpu_op", 9, 0, 1), epoch, span("kernel", 1, 1.7e15, 10), span("kernel", 2, 1.7e15, 10))}, false},
		{"and in many traces", []*timeline.Trace{read(span("cpu_op", 9, 0, 1), epoch), read(epoch), read(span("kernel", 1, 1.7e15, 10))}, false},
		{"far apart", []*timeline.Trace{read(span("cpu_op", 9, -4e15, 1), span("cpu_op", 9, 4e15, 1))}, false},
		{"traces far apart", []*timeline.Trace{read(span("cpu_op", 9, -4e15, 1)), read(span("cpu_op", 9, 4e15, 1))}, false},
		{"long ones", []*timeline.Trace{read(span("cpu_op", 8, 0, 4e15), span("cpu_op", 9, 0, 4e15))}, false},
	} {
		var b Bounds
		var err error
		for _, trace := range c.traces {
			err = errors.Join(err, b.Add(trace))
		}
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrBounds) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestBytes(t *testing.T) {
	d, err := chrome.Read(strings.NewReader(`{"traceEvents":[
		{"ph":"X","cat":"gpu_memcpy","name":"m","pid":0,"tid":7,"ts":1,"dur":1,"args":{"bytes":4096}},
		{"ph":"X","cat":"gpu_memcpy","name":"m","pid":0,"tid":7,"ts":3,"dur":1,"args":{"bytes":0}},
		{"ph":"X","cat":"gpu_memcpy","name":"m","pid":0,"tid":7,"ts":5,"dur":1,"args":{"bytes":4611686018427387904}},
		{"ph":"X","cat":"gpu_memcpy","name":"m","pid":0,"tid":7,"ts":7,"dur":1,"args":{"bytes":-5}},
		{"ph":"X","cat":"gpu_memcpy","name":"m","pid":0,"tid":7,"ts":9,"dur":1}]}`), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range d.Trace.Events.Len() {
		n, ok := Bytes(d.Trace, d.Trace.Events.At(uint32(i)))
		got = append(got, fmt.Sprint(n, ok))
	}
	if text := strings.Join(got, ", "); text != "4096 true, 0 true, 0 false, 0 false, 0 false" {
		t.Error(text)
	}
}
