package occupancy

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestAppendPerSM(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		v                 float32
		classic, shortest string
	}{
		{256. / 132, "1.939394", "1.9393939971923828"},
		{8, "8.000000", "8"},
		{0, "0.000000", "0"},
		{5e-7, "0.000000", "4.999999987376214e-07"}, // a hair below half
		{1.0 / (1 << 7), "0.007812", "0.0078125"},   // a tie, to even
		{3.0 / (1 << 7), "0.023438", "0.0234375"},   // a tie, to even
		{-16268815, "-16268815.000000", "-16268815"},
		{inf, `"inf"`, `"inf"`},
		{-inf, `"inf"`, `"-inf"`},
		{float32(math.NaN()), `"nan"`, `"nan"`},
	} {
		if got := string(AppendPerSM(nil, c.v, Classic)); got != c.classic {
			t.Errorf("%v: classic %s, want %s", c.v, got, c.classic)
		}
		if got := string(AppendPerSM(nil, c.v, Shortest)); got != c.shortest {
			t.Errorf("%v: shortest %s, want %s", c.v, got, c.shortest)
		}
	}
}

// checkFixed compares the integer arithmetic with strconv's.
func checkFixed(t *testing.T, bits uint32) {
	v := math.Float32frombits(bits)
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	if got, want := string(appendFixed6(nil, v)), strconv.FormatFloat(float64(v), 'f', 6, 64); got != want {
		t.Fatalf("%#08x (%g): %s, want %s", bits, v, got, want)
	}
}

func TestFixedAgainstStrconv(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for exp := range uint32(255) { // every exponent, either end and some within
		for _, mant := range []uint32{0, 1, 1<<23 - 1, 1 << 22, rng.Uint32() >> 9, rng.Uint32() >> 9} {
			checkFixed(t, exp<<23|mant)
			checkFixed(t, 1<<31|exp<<23|mant)
		}
	}
	for range 20000 { // quotients, as they occur
		checkFixed(t, math.Float32bits(float32(rng.IntN(1<<20))/float32(1+rng.IntN(200))))
	}
	for n := range uint32(1 << 12) { // ties
		checkFixed(t, math.Float32bits(float32(n)/(1<<7)))
	}
}

func FuzzFixed(f *testing.F) {
	f.Add(uint32(0))
	f.Add(math.Float32bits(1.0 / (1 << 7)))
	f.Fuzz(checkFixed)
}

func TestAppendBandwidth(t *testing.T) {
	kineto, classic, shortest := Options{Mode: Kineto}, Options{}, Options{Mode: Kineto, Format: Shortest}
	for _, c := range []struct {
		bytes uint64
		ns    int64
		opts  Options
		want  string
		ok    bool
	}{
		{4, 2, classic, "2", true},
		{288, 1, shortest, "288", true},
		{1, 10000, classic, "0.0001", true},
		{9, 100000, classic, "9e-05", true},
		{0, 5, classic, "0", true},
		{9999999999999998, 1, classic, "9999999999999998", true},
		{1e16, 1, classic, "1e+16", true},
		{math.MaxUint64, 1, kineto, "1.8446744073709552e+19", true},
		{4, 0, kineto, `"N/A"`, true},
		{4, 0, classic, "", false},
		{4, 0, shortest, "", false},
		{4, -1, classic, "", false},
	} {
		got, ok := AppendBandwidth([]byte("x"), c.bytes, c.ns, c.opts)
		if ok != c.ok || string(got) != "x"+c.want {
			t.Errorf("%d bytes in %d ns, %+v: %s, %v, want %s, %v", c.bytes, c.ns, c.opts, got[1:], ok, c.want, c.ok)
		}
		if ok && !json.Valid(got[1:]) {
			t.Errorf("%s is not JSON", got[1:])
		}
	}
}
