package measure

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func TestMeasures(t *testing.T) {
	if m := Of(calltree.New(&timeline.Trace{})); m.Whole != (Whole{}) {
		t.Errorf("nothing measures %+v", m.Whole)
	}
	read := func(events ...string) *Run {
		d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return Of(calltree.New(d.Trace))
	}
	kernel := func(device, stream, ts, dur int, id int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":%d,"tid":%d,"ts":%d,"dur":%d,"args":{"device":%d,"stream":%d,"correlation":%d}}`, device, stream, ts, dur, device, stream, id)
	}
	call := func(ts, id int) string {
		return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":%d,"dur":1,"args":{"correlation":%d}}`, ts, id)
	}
	m := read(call(0, 1), call(100, 3),
		kernel(0, 7, 10, 10, 1), kernel(0, 8, 15, 10, 1), // 10..20 and 15..25, by one call
		kernel(0, 7, 30, 5, 2), // without call
		kernel(0, 7, 99, 1, 3), // before its call
		kernel(1, 7, 12, 4, 4)) // of another device
	want := []Measures{
		{Works: 1, DeviceNS: 10_000, OverlapNS: 5000, DelayNS: 10_000, Launches: 1},
		{Works: 1, DeviceNS: 10_000, OverlapNS: 5000},
		{Works: 1, DeviceNS: 5000, IdleNS: 5000},
		{Works: 1, DeviceNS: 1000, IdleNS: 64_000},
		{Works: 1, DeviceNS: 4000},
	}
	if !slices.Equal(m.Works, want) {
		t.Errorf("got  %+v\nwant %+v", m.Works, want)
	}
	// A call on a clock of another zone of time: no delay is known.
	if m := read(call(0, 1), kernel(0, 7, 3601e6, 10, 1), call(5, 2), kernel(0, 7, 3600e6, 10, 2)); m.Whole.Launches != 1 || m.Whole.DelayNS != 3599_999_995_000 {
		t.Errorf("%d launches took %d ns", m.Whole.Launches, m.Whole.DelayNS)
	}
	if m.Whole.BusyNS != 15_000+5000+1000+4000 || m.Whole.SpanNS != 90_000+4000 {
		t.Errorf("busy %d, span %d", m.Whole.BusyNS, m.Whole.SpanNS)
	}
}
