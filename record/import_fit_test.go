package record

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// referenceClock fits ticks to the reference's time line by the kernels that
// stand in both: the least-squares line.
func referenceClock(t testing.TB, name string, ref *jsonTrace) correlate.Linear {
	t.Helper()
	d, err := cupti.NewDecoder(tracer.Config{APIVersion: pairsAPI, API: tracer.APIKineto, Strings: new(event.Strings)})
	if err != nil {
		t.Fatal(err)
	}
	if err := readNames(pairFile(name, ".names.tsv.gz"), d.Name); err != nil {
		t.Fatal(err)
	}
	ticks := map[string][]uint64{}
	err = readDump(pairFile(name, ".cupti.gz"), func(_ int64, data []byte) error {
		return d.Decode(tracer.Buffer{Data: data, Forced: true}, func(e *event.Event) {
			if e.Kind == event.Kernel {
				k := fmt.Sprint(e.Correlation)
				ticks[k] = append(ticks[k], e.Start, e.End)
			}
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	base := nsBase(t, ref)
	var t0 uint64
	var n0 int64
	var n, sx, sy, sxx, sxy float64
	for k, list := range ref.byCorrelation(t) {
		if k.cat != "kernel" {
			continue
		}
		var ns []int64
		for _, e := range list {
			ns = append(ns, nsOf(t, e.TS)+base, nsOf(t, e.TS)+nsOf(t, e.Dur)+base)
		}
		tk := slices.Sorted(slices.Values(ticks[k.correlation]))
		slices.Sort(ns)
		if len(tk) != len(ns) {
			t.Fatalf("correlation %s: %d kernels in the dump, %d in the reference", k.correlation, len(tk)/2, len(ns)/2)
		}
		for i := range tk {
			if t0 == 0 {
				t0, n0 = tk[i], ns[i]
			}
			x, y := float64(int64(tk[i]-t0)), float64(ns[i]-n0)
			n, sx, sy, sxx, sxy = n+1, sx+x, sy+y, sxx+x*x, sxy+x*y
		}
	}
	slope := (n*sxy - sx*sy) / (n*sxx - sx*sx)
	return correlate.Linear{T0: t0, NS0: n0 + int64(math.Round((sy-slope*sx)/n)), Slope: slope}
}

// TestFitKeepsItsWord: a clock fitted by operators alone is off the reference by
// no more than the uncertainty it states.
func TestFitKeepsItsWord(t *testing.T) {
	for _, name := range pairs {
		ref := parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz")))
		truth := referenceClock(t, name, ref)
		tr, err := ImportCUPTI(ImportOptions{
			APIVersion: pairsAPI, Host: pairFile(name, ".kineto.json.gz"), Clock: "fit",
			Buffers: pairFile(name, ".cupti.gz"), Names: pairFile(name, ".names.tsv.gz"),
		})
		if errors.Is(err, correlate.ErrNoFit) && name == "graph" {
			continue // recorded without operators
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		fitted := tr.Completeness.Clock
		if fitted.Source != timeline.ClockFit || fitted.UncertaintyNS == nil || *fitted.UncertaintyNS <= 0 {
			t.Errorf("%s: clock %+v", name, fitted)
			continue
		}
		// The same kernels by the reference's clock.
		want := map[string][]int64{}
		byTruth, err := ImportCUPTI(ImportOptions{
			APIVersion: pairsAPI, Host: pairFile(name, ".kineto.json.gz"), clock: truth,
			Buffers: pairFile(name, ".cupti.gz"), Names: pairFile(name, ".names.tsv.gz"),
		})
		if err != nil {
			t.Fatal(err)
		}
		kernels := func(tr *timeline.Trace, see func(key string, start int64)) {
			for i := range uint32(tr.Events.Len()) {
				if e := tr.Events.At(i); e.Kind == timeline.Kernel {
					see(fmt.Sprint(e.Correlation), e.Start)
				}
			}
		}
		kernels(byTruth, func(k string, start int64) { want[k] = append(want[k], start) })
		worst, n := 0.0, 0
		kernels(tr, func(k string, start int64) {
			if len(want[k]) > 0 {
				worst, n = max(worst, math.Abs(float64(start-want[k][0]))), n+1
				want[k] = want[k][1:]
			}
		})
		t.Logf("%s: %d kernels, at most %.0f ns off, %.0f stated", name, n, worst, *fitted.UncertaintyNS)
		if n == 0 || worst > *fitted.UncertaintyNS {
			t.Errorf("%s: a kernel of %d is %.0f ns off, and %.0f are stated", name, n, worst, *fitted.UncertaintyNS)
		}
	}
}
