package report

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestCoarsen(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		var list []piece
		at := int64(0)
		for range r.IntN(400) {
			at += r.Int64N(40)
			length := 1 + r.Int64N(30)
			if r.IntN(10) == 0 {
				length *= 50
			}
			list = append(list, one(at, at+length, r.Uint32N(9), uint8(r.IntN(int(numKinds)))))
			at += length
		}
		inOrder(list)
		var spans, busy, longest int64
		for i := range list {
			spans, busy, longest = spans+int64(list[i].n), busy+list[i].busy, max(longest, list[i].longest)
		}
		rows := []Row{{Pieces: slices.Clone(list)}}
		most := 1 + r.IntN(200)
		resolution := fit(rows, at+1, 0, most)
		got := rows[0].Pieces
		if len(got) > most && resolution <= at {
			t.Fatalf("seed %d: %d pieces, not %d", seed, len(got), most)
		}
		if len(list) <= most && (resolution != 0 || !slices.Equal(got, list)) {
			t.Fatalf("seed %d: what fits was changed, at %d", seed, resolution)
		}
		var n, covered, top int64
		for i := range got {
			p := &got[i]
			n, covered, top = n+int64(p.n), covered+p.busy, max(top, p.longest)
			if p.busy > p.end-p.start || i > 0 && p.start < got[i-1].end {
				t.Fatalf("seed %d: piece %d is %+v after %+v", seed, i, p, got[max(0, i-1)])
			}
			if p.n > 1 && p.longest >= resolution {
				t.Fatalf("seed %d: a span of %d is in a piece of several, at %d", seed, p.longest, resolution)
			}
		}
		// The spans do not overlap, so that nothing is covered twice.
		if n != spans || covered != busy || top != longest {
			t.Fatalf("seed %d: %d spans of %d ns, not %d of %d; the longest is %d, not %d", seed, n, covered, spans, busy, top, longest)
		}
	}
}

// TestLine: joining spans while they come is joining them afterwards.
func TestLine(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		n, window := 1+r.IntN(400), int64(1)
		type span struct{ start, end int64 }
		var spans []span
		for range n {
			start := r.Int64N(1 << 22)
			length := r.Int64N(40)
			if r.IntN(10) == 0 {
				length *= 1000
			}
			spans = append(spans, span{start, start + length})
			window = max(window, start+length)
		}
		ordered := seed%4 != 0
		if ordered {
			slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
		}
		most := 1 + r.IntN(200)
		d := detail{resolution: coarser(0, window), most: most}
		fine, coarse := newLine(Row{}, n, detail{most: most}), newLine(Row{}, n, d)
		for i, s := range spans {
			fine.put(s.start, s.end, uint32(i), uint8(i%int(numKinds)))
			coarse.put(s.start, s.end, uint32(i), uint8(i%int(numKinds)))
		}
		if !fine.order() || coarse.order() != (ordered || !fine.unordered) {
			t.Fatalf("seed %d: order is %v", seed, ordered)
		}
		if fine.Spans != int64(n) || fine.Spans != coarse.Spans || fine.NS != coarse.NS {
			t.Fatalf("seed %d: %d spans of %d ns, and %d of %d, not %d", seed, fine.Spans, fine.NS, coarse.Spans, coarse.NS, n)
		}
		if fine.unordered || n <= most {
			continue
		}
		want, got := []Row{fine.Row}, []Row{coarse.Row}
		if a, b := fit(want, window, 0, most), fit(got, window, d.resolution, most); a != b || !slices.Equal(want[0].Pieces, got[0].Pieces) {
			t.Fatalf("seed %d: %d pieces at %d, want %d at %d", seed, len(got[0].Pieces), b, len(want[0].Pieces), a)
		}
	}
}

func TestCoveredOnce(t *testing.T) {
	// Two that overlap, one inside of another, one behind: 0-10, 5-15, 6-8, 20-22.
	list := []piece{one(0, 10, 1, 0), one(5, 15, 2, 0), one(6, 8, 3, 0), one(20, 22, 4, 0)}
	got := coarsen(list, 100)
	if len(got) != 1 || got[0].busy != 17 || got[0].end != 22 || got[0].n != 4 || got[0].name != 1 {
		t.Errorf("%+v", got)
	}
}

func TestBins(t *testing.T) {
	for _, c := range []struct {
		start, end int64
		most, n    int
	}{{0, 0, 10, 0}, {5, 5, 10, 0}, {0, 7, 10, 7}, {100, 1100, 10, 10}, {0, 1001, 10, 10}, {-5, 16, 4, 4}} {
		b := newBins(c.start, c.end, c.most)
		if b.n != c.n {
			t.Errorf("%d to %d: %d bins, not %d", c.start, c.end, b.n, c.n)
		}
		got := make([]int64, b.n)
		// What lies outside is in no bin.
		b.spread(c.start-100, c.end+100, func(bin int, ns int64) { got[bin] += ns })
		var sum int64
		for i, ns := range got {
			sum += ns
			if ns > b.ns || ns < b.ns && i < len(got)-1 {
				t.Errorf("%d to %d: bin %d has %d of %d", c.start, c.end, i, ns, b.ns)
			}
		}
		if sum != c.end-c.start {
			t.Errorf("%d to %d: bins hold %d", c.start, c.end, sum)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, s := range []string{"", "short", strings.Repeat("x", maxName), strings.Repeat("ü", maxName), strings.Repeat("a", maxName-1) + "é", "\xff" + strings.Repeat("\x80", 2*maxName)} {
		got := shorten(s)
		if len(s) <= maxName && got != s || len(got) > maxName+len(" … ") || utf8.ValidString(s) && !utf8.ValidString(got) {
			t.Errorf("%.20q of %d bytes became %.20q of %d", s, len(s), got, len(got))
		}
	}
	var n names
	long := strings.Repeat("a", maxName)
	a, b := n.id(long+"1"+long), n.id(long+"2"+long)
	if a == b || n.id(long+"1"+long) != a || n.list[a] != n.list[b] {
		t.Errorf("names that look alike: %d, %d", a, b)
	}
}

func TestRounded(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 0.123456789: "0.123457", 1234567.891: "1.23457e+06", -0.00001234567: "-1.23457e-05", 1e300: "1e+300"} {
		if got := fmt.Sprint(rounded(v)); got != want {
			t.Errorf("%v became %s, not %s", v, got, want)
		}
	}
}

func TestMemorySampling(t *testing.T) {
	s := memorySeries{hasReserved: true}
	for i := range int64(10_000) {
		s.points.Add(memoryPoint{at: 1000 + i*7, allocated: i % 1000, reserved: 5000})
	}
	s.points.At(7777).allocated = 4999 // a peak of one moment
	c := s.chart(1000)
	if len(c.At) > maxMemoryPoints || len(c.At) != len(c.Allocated) || len(c.At) != len(c.Reserved) {
		t.Errorf("%d points", len(c.At))
	}
	if c.PeakAllocated != 4999 || c.PeakAt != 7777*7 || !slices.Contains(c.Allocated, 4999) || c.PeakReserved != 5000 || c.Events != 10_000 {
		t.Errorf("peak %d at %d, reserved %d, of %d", c.PeakAllocated, c.PeakAt, c.PeakReserved, c.Events)
	}
	if !slices.IsSorted(c.At) || c.At[0] != 0 {
		t.Errorf("times %v ...", c.At[:5])
	}
}
