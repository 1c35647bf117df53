package repair

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomTrace has spans that overlap, arrows of all sorts, and ids that meet by
// chance.
func randomTrace(r *rand.Rand) string {
	form := []string{"%d", "%d.5", "%d.125"}[r.IntN(3)]
	origin := []int{0, 1000, 1695835535000000}[r.IntN(3)]
	at := func() string { return fmt.Sprintf(form, origin+r.IntN(40)) }
	var events []string
	for range r.IntN(40) + 1 {
		var e string
		switch id := r.IntN(8); r.IntN(8) {
		case 0, 1:
			names := []string{"cudaLaunchKernel", "cudaMalloc", "INVALID", "cuGraphLaunch"}
			e = fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":%q,"pid":9,"tid":%d,"ts":%s,"dur":%d,"args":{"cbid":%d,"correlation":%d}}`,
				names[r.IntN(len(names))], r.IntN(2), at(), r.IntN(12), r.IntN(300), id)
		case 2, 3:
			e = fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"_Z1av","pid":%d,"tid":%d,"ts":%s,"dur":%d,"args":{"stream":7,"correlation":%d}}`,
				r.IntN(2), 7, at(), r.IntN(12), id)
		case 4:
			cat := []string{"cuda_sync", "gpu_user_annotation", "python_function", "cpu_op", ""}[r.IntN(5)]
			e = fmt.Sprintf(`{"ph":"X","cat":%q,"name":"n","pid":0,"tid":%d,"ts":%s,"dur":%d,"args":{"correlation":%d}}`, cat, r.IntN(8), at(), r.IntN(20), id)
		case 5, 6:
			name := []string{"ac2g", "ac2g", "ac2g", "fwdbwd", "forward_backward", "x"}[r.IntN(6)]
			e = fmt.Sprintf(`{"ph":%q,"id":%d,"pid":%d,"tid":%d,"ts":%s,"cat":%q,"name":%q,"bp":"e"}`,
				[]string{"s", "f", "f", "s", "t"}[r.IntN(5)], id, []int{0, 9}[r.IntN(2)], r.IntN(8), at(), name, name)
		default:
			switch r.IntN(4) {
			case 0:
				e = fmt.Sprintf(`{"ph":"M","name":"thread_name","pid":%d,"tid":%d,"args":{"name":"row %d"}}`, r.IntN(3), r.IntN(8), r.IntN(3))
			case 1:
				e = fmt.Sprintf(`{"ph":"i","name":"i","pid":0,"tid":%d,"ts":%s,"s":"t"}`, r.IntN(8), at())
			case 2:
				e = fmt.Sprintf(`{"ph":%q,"name":"b%d","pid":0,"tid":%d,"ts":%s}`, []string{"B", "E"}[r.IntN(2)], r.IntN(2), r.IntN(3), at())
			default:
				e = fmt.Sprintf(`{"ph":"C","name":"c","pid":0,"tid":%d,"ts":%s,"args":{"v":1}}`, r.IntN(8), at())
			}
		}
		events = append(events, e)
		// An arrow's end right behind its event, as Kineto has it.
		if r.IntN(3) == 0 && strings.Contains(e, `"correlation"`) {
			row := ""
			if i := strings.Index(e, `"pid"`); i > 0 {
				row = e[i:strings.Index(e, `,"dur"`)]
			}
			id := e[strings.LastIndex(e, ":")+1 : len(e)-2]
			ph := "s"
			if strings.Contains(e, `"kernel"`) || r.IntN(4) == 0 {
				ph = "f"
			}
			events = append(events, fmt.Sprintf(`{"ph":%q,"id":%s,%s,"cat":"ac2g","name":"ac2g","bp":"e"}`, ph, id, row))
		}
	}
	if r.IntN(2) == 0 {
		return list(events...)
	}
	return object(events...)
}

// TestRandom: whatever a trace holds, a second repair changes nothing, no row has
// overlaps, and spans stay as many as they were.
func TestRandom(t *testing.T) {
	for seed := range uint64(150) {
		text := []byte(randomTrace(rand.New(rand.NewPCG(seed, 1))))
		o := Options{}
		if seed%3 == 0 {
			o.HostFlows = true
		}
		before := read(t, text).Trace.Events.Len()
		out, report := repaired(t, text, o)
		again, second := repaired(t, out, o)
		if second.Changed() || !bytes.Equal(out, again) {
			t.Fatalf("seed %d: a second repair changes %v after %v: %s\n%s\n%s", seed, second.Repaired, report.Repaired, differ(out, again), text, out)
		}
		d := read(t, out)
		if n := d.Trace.Events.Len(); n != before {
			t.Fatalf("seed %d: %d events of %d", seed, n, before)
		}
		if len(d.Findings) > 0 {
			t.Fatalf("seed %d: %v", seed, d.Findings)
		}
		for rule, n := range findings(t, out) {
			if strings.HasPrefix(rule, "overlap-") || rule == "sync-overlap" {
				t.Fatalf("seed %d: %d of %s\n%s", seed, n, rule, out)
			}
		}
	}
}
