package shape

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestSequences: arrows from forward to backward operators join those of one sequence
// number and of the forward thread that the backward operator names. Two forward
// threads count their operators each from the same number.
func TestSequences(t *testing.T) {
	type arrow struct{ thread, sequence, fromThread, fromSequence int }
	trace := func(arrows []arrow) string {
		var b strings.Builder
		for thread := 1; thread <= 2; thread++ {
			for n := range 8 {
				fmt.Fprintf(&b, `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":%d,"ts":%d,"dur":5,"args":{"External id":%d,"Sequence number":%d,"Fwd thread id":0}},`, thread, 10*n, 100*thread+n, n)
				fmt.Fprintf(&b, `{"ph":"X","cat":"cpu_op","name":"MmBackward0","pid":1,"tid":9,"ts":%d,"dur":5,"args":{"External id":%d,"Sequence number":%d,"Fwd thread id":%d}},`, 1000*thread+10*n, 1000*thread+n, n, thread)
			}
		}
		for id, a := range arrows {
			fmt.Fprintf(&b, `{"ph":"s","cat":"fwdbwd","name":"fwdbwd","id":%d,"pid":1,"tid":%d,"ts":%d},`, id, a.fromThread, 10*a.fromSequence)
			fmt.Fprintf(&b, `{"ph":"f","bp":"e","cat":"fwdbwd","name":"fwdbwd","id":%d,"pid":1,"tid":9,"ts":%d},`, id, 1000*a.thread+10*a.sequence)
		}
		return `{"traceEvents":[` + strings.TrimSuffix(b.String(), ",") + `]}`
	}
	whole := func() (list []arrow) {
		for thread := 1; thread <= 2; thread++ {
			for n := range 8 {
				list = append(list, arrow{thread, n, thread, n})
			}
		}
		return list
	}
	for name, c := range map[string]struct {
		damage          func([]arrow)
		checked, broken int64
	}{
		"whole":                     {func([]arrow) {}, 16, 0},
		"two of a thread exchanged": {func(a []arrow) { a[0].fromSequence, a[1].fromSequence = 1, 0 }, 16, 2},
		"two of threads exchanged":  {func(a []arrow) { a[3].fromThread, a[11].fromThread = 2, 1 }, 16, 2},
		"one begins at no operator": {func(a []arrow) { a[0].fromSequence = 50 }, 15, 0},
		"all of one of two threads": {func(a []arrow) { clear(a[8:]) }, 8, 0},
		"half of those of one thread": {func(a []arrow) {
			for i := range 4 {
				a[i].fromThread = 2
			}
		}, 16, 0}, // which row the thread is cannot be told
	} {
		list := whole()
		c.damage(list)
		if name == "all of one of two threads" {
			list = list[:8]
		}
		d, err := chrome.Read(strings.NewReader(trace(list)), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		o, err := Observe(d)
		if err != nil {
			t.Fatal(err)
		}
		m := o.Measures[ArrowSequence]
		if m == nil || m.Checked != c.checked || m.Broken != c.broken {
			t.Errorf("%s: %+v, want %d of %d", name, m, c.broken, c.checked)
		}
	}
}
