package shape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestInTurn: work of a stream that begins before the one ahead of it ends is real, and
// so are the branches of a graph; work that runs all at once is not, unless it is on
// streams of its own, or too little to tell.
func TestInTurn(t *testing.T) {
	kernel := func(b *strings.Builder, id, stream int, ts, dur float64) {
		fmt.Fprintf(b, `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":{"device":0,"stream":%d,"correlation":%d}},`, stream, ts, dur, stream, id)
	}
	call := func(b *strings.Builder, name string, id int, ts float64) {
		fmt.Fprintf(b, `{"ph":"X","cat":"cuda_runtime","name":"%s","pid":1,"tid":1,"ts":%.3f,"dur":0.5,"args":{"correlation":%d}},`, name, ts, id)
	}
	apart := func(n int, dur float64, stream func(i int) int) string {
		var b strings.Builder
		for i := range n {
			call(&b, "cudaLaunchKernel", i+1, float64(i))
			kernel(&b, i+1, stream(i), 100.5+10*float64(i), dur)
		}
		return b.String()
	}
	one := func(int) int { return 7 }
	graphs := func() string {
		var b strings.Builder
		for i := range 10 {
			call(&b, "cudaGraphLaunch", i+1, float64(i))
			for range 20 {
				kernel(&b, i+1, 7, 100.5+10*float64(i), 9)
			}
		}
		return b.String()
	}
	for name, c := range map[string]struct {
		events          string
		checked, broken int64
	}{
		"one after the other":      {apart(40, 9, one), 1, 0},
		"one before the last ends": {apart(40, 15, one), 1, 0},
		"a thousand times as long": {apart(40, 9000, one), 1, 1},
		"on streams of their own":  {apart(40, 9000, func(i int) int { return i }), 0, 0},
		"few":                      {apart(7, 9000, one), 0, 0},
		"a graph with 20 branches": {graphs(), 1, 0},
		"one of two streams":       {apart(40, 9, one) + strings.ReplaceAll(apart(40, 9000, func(int) int { return 8 }), `"correlation":`, `"correlation":1`), 2, 1},
	} {
		d, err := chrome.Read(strings.NewReader(`{"traceEvents":[`+strings.TrimSuffix(c.events, ",")+`]}`), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Observe(d)
		if err != nil {
			t.Fatal(err)
		}
		m := o.Measures[InTurn]
		if m == nil {
			m = &Measure{}
		}
		if m.Checked != c.checked || m.Broken != c.broken {
			t.Errorf("%s: %+v, want %d of %d", name, m, c.broken, c.checked)
		}
	}
}
