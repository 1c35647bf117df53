package kernels

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

// TestFigures holds the model against figures worked out by hand.
func TestFigures(t *testing.T) {
	for _, c := range []struct {
		name           string
		args           string
		active, places int64
		theoretical    float64
		waves, last    float64
		tail, unfilled float64
		small          bool
		lost           int64 // of 1 ms
	}{
		// 2 blocks of 32 warps fill an SM of 64; 264 blocks are a wave on 132.
		{"a full wave", launched("264, 1, 1", "1024, 1, 1", 32, 0), 2, 264, 1, 1, 1, 0, 0, false, 0},
		{"a block more", launched("265, 1, 1", "1024, 1, 1", 32, 0), 2, 264, 1, 265. / 264, 1. / 264, 263. / 264 / 2, 0, false, 498106},
		{"one and a half", launched("396, 1, 1", "1024, 1, 1", 32, 0), 2, 264, 1, 1.5, 0.5, 0.25, 0, false, 250000},
		{"half a wave", launched("66, 2, 1", "1024, 1, 1", 32, 0), 2, 264, 1, 0.5, 0.5, 0, 0.5, true, 500000},
		{"three waves of a quarter", launched("396, 1, 1", "512, 1, 1", 128, 0), 1, 132, 0.25, 3, 1, 0, 0, false, 750000},
		// 200 KiB of shared memory: one block, above Kineto's limit.
		{"much shared memory", launched("132, 1, 1", "256, 1, 1", 32, 200<<10), 1, 132, 0.125, 1, 1, 0, 0, false, 875000},
	} {
		cfg := read(t, trace(fmt.Sprintf(h200, 0), kernel("k", "1000", c.args)), Options{}).Configurations[0]
		f := cfg.Figures
		if f == nil {
			t.Errorf("%s: %s", c.name, cfg.Reason)
			continue
		}
		near := func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }
		if f.ActiveBlocksPerSM != c.active || f.Places != c.places || !near(f.Theoretical(), c.theoretical) || !near(f.Waves, c.waves) ||
			!near(f.LastWave, c.last) || !near(f.Tail, c.tail) || !near(f.Unfilled, c.unfilled) || f.GridTooSmall != c.small || f.Lost != c.lost {
			t.Errorf("%s: %+v", c.name, *f)
		}
	}
}

// TestReasons: what cannot be calculated says why, and is not guessed.
func TestReasons(t *testing.T) {
	good := launched("132, 1, 1", "128, 1, 1", 32, 0)
	ok := fmt.Sprintf(h200, 0)
	without := func(s, old string) string { return strings.Replace(s, old, "", 1) }
	for _, c := range []struct{ name, devices, args, reason string }{
		{"calculable", ok, good, ""},
		{"no devices", "", good, "the trace has no deviceProperties"},
		{"another device", fmt.Sprintf(h200, 3), good, "device 0 is not among"},
		{"another device, all AMD's", mi300, good, "device 0 is not among the trace's deviceProperties, and those are: an AMD device"},
		{"another device, all AMD's, and no facts", mi300, "", "device 0 is not among the trace's deviceProperties, and those are: an AMD device"},
		{"the same device twice", ok + "," + ok, good, ""},
		{"two devices of one id", ok + "," + strings.Replace(ok, "132", "114", 1), good, "different properties for device 0"},
		{"device without a compute capability", without(ok, `"computeMajor": 9,`), good, "compute capability"},
		{"unsupported capability", strings.Replace(ok, `"computeMajor": 9`, `"computeMajor": 3`, 1), good, "unsupported compute capability: 3.0"},
		{"no opt-in limit", without(ok, `, "sharedMemPerBlockOptin": 232448`), good, "device property unknown: SharedMemPerBlockOptin"},
		{"no SMs", without(ok, `"numSms": 132, `), good, "device property unknown: NumSMs"},
		{"property that is a text", strings.Replace(ok, `"numSms": 132`, `"numSms": "132"`, 1), good, "NumSMs"},
		{"huge property", strings.Replace(ok, `"regsPerBlock": 65536`, `"regsPerBlock": 99999999999999999999`, 1), good, "RegsPerBlock"},
		{"AMD by warp size and key", strings.Replace(mi300, `"id": 2`, `"id": 0`, 1), good, "an AMD device"},
		{"AMD by name", strings.Replace(ok, "NVIDIA H200", "AMD Radeon RX 7900", 1), good, "an AMD device"},
		{"another vendor by name", strings.Replace(ok, "NVIDIA H200", "MTT S4000", 1), good, "a device of Moore Threads"},
		{"another vendor by key", strings.Replace(ok, `"name"`, `"vendor": "Intel(R) Corporation", "name"`, 1), good, "a device of Intel(R) Corporation"},
		{"another vendor by warp size", strings.Replace(ok, `"warpSize": 32`, `"warpSize": 64`, 1), good, "its warp size is 64"},
		{"no grid", ok, without(good, `, "grid": [132, 1, 1]`), "does not carry: grid"},
		{"no arguments", ok, ``, "does not carry: grid, block, registers per thread, shared memory"},
		{"grid of two", ok, strings.Replace(good, "132, 1, 1", "132, 1", 1), "not a possible value: grid"},
		{"grid of four", ok, strings.Replace(good, "132, 1, 1", "132, 1, 1, 1", 1), "not a possible value: grid"},
		{"grid of 0", ok, strings.Replace(good, "132, 1, 1", "0, 1, 1", 1), "not a possible value: grid"},
		{"grid that is no list", ok, strings.Replace(good, "[132, 1, 1]", `{"x": 1}`, 1), "not a possible value: grid"},
		{"grid beyond 63 bits", ok, strings.Replace(good, "132, 1, 1", "2147483647, 2147483647, 2147483647", 1), "more blocks than can be counted"},
		{"fraction", ok, strings.Replace(good, "132, 1, 1", "1.5, 1, 1", 1), "not a possible value: grid"},
		{"registers beyond 16 bits", ok, strings.Replace(good, `thread": 32`, `thread": 65536`, 1), "not a possible value: registers per thread"},
		{"overflowed shared memory", ok, strings.Replace(good, `memory": 0`, `memory": -2147483648`, 1), "not a possible value: shared memory"},
		{"null", ok, strings.Replace(good, `memory": 0`, `memory": null`, 1), "not a possible value: shared memory"},
		{"block too large", ok, strings.Replace(good, "128, 1, 1", "2048, 1, 1", 1), "could not have been launched (WARPS)"},
		{"block of 2^62 threads", ok, strings.Replace(good, "128, 1, 1", "2147483647, 2147483647, 1", 1), "invalid kernel configuration"},
		{"shared memory too large", ok, strings.Replace(good, `memory": 0`, `memory": 400000`, 1), "could not have been launched (SMEM)"},
		{"the last of a key that stands twice counts", ok, good + `, "grid": 1`, "not a possible value: grid"},
	} {
		r := read(t, trace(c.devices, kernel("k", "1", c.args)), Options{})
		cfg := r.Configurations[0]
		if (c.reason == "") != (cfg.Figures != nil) || (c.reason == "") != (cfg.Reason == "") || !strings.Contains(cfg.Reason, c.reason) {
			t.Errorf("%s: figures %v, reason %q, want %q", c.name, cfg.Figures, cfg.Reason, c.reason)
		}
		for _, write := range []func(*bytes.Buffer) error{
			func(b *bytes.Buffer) error { return r.WriteText(b, View{}) },
			func(b *bytes.Buffer) error { return r.WriteJSON(b, View{}) },
			func(b *bytes.Buffer) error { return r.WriteCSV(b, View{}) },
		} {
			var b bytes.Buffer
			if err := write(&b); err != nil || b.Len() == 0 {
				t.Errorf("%s: %v", c.name, err)
			}
		}
	}
}

// TestGivenDevice: the device of Options stands in where the trace says nothing,
// and never where it says something else.
func TestGivenDevice(t *testing.T) {
	given := &occupancy.Device{
		ComputeMajor: 8, NumSMs: 108, MaxThreadsPerBlock: 1024, MaxThreadsPerSM: 2048, RegsPerBlock: 65536, RegsPerSM: 65536, WarpSize: 32,
		SharedMemPerBlock: 49152, SharedMemPerBlockOptin: 166912, SharedMemPerSM: 167936,
	}
	o := Options{Device: given, DeviceName: "A100"}
	k := kernel("k", "1", launched("108, 1, 1", "1024, 1, 1", 32, 0))
	for _, c := range []struct{ name, devices, device, reason string }{
		{"nothing known", "", "A100", ""},
		{"another device known", fmt.Sprintf(h200, 1), "A100", ""},
		{"the device known", fmt.Sprintf(h200, 0), "NVIDIA H200", ""},
		{"the device is AMD's", strings.Replace(mi300, `"id": 2`, `"id": 0`, 1), "AMD Instinct MI300X", "an AMD device"},
		{"other devices are AMD's", mi300, "", "device 0 is not among"},
	} {
		cfg := read(t, trace(c.devices, k), o).Configurations[0]
		if cfg.DeviceName() != c.device || !strings.HasPrefix(cfg.Reason, c.reason) || (c.reason == "") != (cfg.Figures != nil) {
			t.Errorf("%s: on %q, reason %q", c.name, cfg.DeviceName(), cfg.Reason)
		}
	}
	if given.ReservedSharedMemPerBlock != 0 {
		t.Error("the caller's device was changed")
	}
}

// TestAgreement: what a trace states is held against both arithmetics, in whatever
// way the numbers are written.
func TestAgreement(t *testing.T) {
	big := launched("256, 1, 1", "128, 1, 1", 32, 64<<10) // 3 blocks an SM, by shared memory
	for _, c := range []struct {
		name, stated string
		want         Agreement
	}{
		{"nothing", ``, StatesNothing},
		{"six decimals", `, "blocks per SM": 1.939394, "warps per SM": 7.757576, "est. achieved occupancy %": 0`, AgreesKineto},
		{"shortest", `, "blocks per SM": 1.9393939971923828, "warps per SM": 7.757575988769531, "est. achieved occupancy %": 0`, AgreesKineto},
		{"shortest of 32 bits", `, "blocks per SM": 1.939394, "warps per SM": 7.757576, "est. achieved occupancy %": 0`, AgreesKineto},
		{"correct", `, "blocks per SM": 1.939394, "est. achieved occupancy %": 12`, AgreesCorrect},
		{"correct, with the object", `, "est. achieved occupancy %": 12, "occupancy": {"activeBlocksPerMultiprocessor": 3}`, AgreesCorrect},
		{"another object", `, "est. achieved occupancy %": 12, "occupancy": {"activeBlocksPerMultiprocessor": 4}`, Disagrees},
		{"both", `, "blocks per SM": "1.939394"`, AgreesBoth},
		{"another number", `, "blocks per SM": 1.939395`, Disagrees},
		{"another percentage", `, "est. achieved occupancy %": 13`, Disagrees},
		{"a text", `, "est. achieved occupancy %": "many"`, Disagrees},
		{"inf", `, "blocks per SM": "inf"`, Disagrees},
	} {
		if got := read(t, trace(fmt.Sprintf(h200, 0), kernel("k", "1", big+c.stated)), Options{}).Configurations[0]; got.Agreement != c.want {
			t.Errorf("%s: %q, want %q (%+v)", c.name, got.Agreement, c.want, got.Kineto)
		}
	}
	// Calls of one configuration that do not say the same agree with nothing.
	r := read(t, trace(fmt.Sprintf(h200, 0), kernel("k", "1", big+`, "blocks per SM": 1.939394`), kernel("k", "1", big)), Options{})
	if c := r.Configurations[0]; len(r.Configurations) != 1 || !c.StatedDiffers || c.Agreement != Disagrees {
		t.Errorf("%+v", c)
	}
	// A device that Kineto had no properties of.
	r = read(t, trace("", kernel("k", "1", big+`, "blocks per SM": "inf", "est. achieved occupancy %": -99`)), Options{})
	if c := r.Configurations[0]; c.Agreement != StatesNothing || c.Figures != nil {
		t.Errorf("%+v", c)
	}
}

// TestForms: a bare list, compressed text, devices behind the events, capitals of
// 2021, a kernel without a device argument.
func TestForms(t *testing.T) {
	k := kernel("k", "1", launched("132, 1, 1", "128, 1, 1", 32, 0))
	whole := trace(fmt.Sprintf(h200, 0), k)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(whole)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, in, reason string }{
		{"compressed", packed.String(), ""},
		{"a list", "[" + k + "]", "no deviceProperties"},
		{"devices behind", `{"traceEvents": [` + k + `], "deviceProperties": [` + fmt.Sprintf(h200, 0) + `]}`, ""},
		{"capitals", strings.Replace(whole, `"kernel"`, `"Kernel"`, 1), ""},
		{"the row's device", strings.Replace(whole, `"device": 0, `, "", 1), ""},
		{"deviceProperties that are none", `{"deviceProperties": 7, "traceEvents": [` + k + `]}`, "no deviceProperties"},
	} {
		cfg := read(t, c.in, Options{}).Configurations[0]
		if !strings.Contains(cfg.Reason, c.reason) || (c.reason == "") != (cfg.Figures != nil) {
			t.Errorf("%s: %q", c.name, cfg.Reason)
		}
	}
	for _, c := range []struct {
		name, in string
		want     error
	}{
		{"cut off", whole[:len(whole)-40], chrome.ErrTruncated},
		{"cut compressed", packed.String()[:packed.Len()/2], chrome.ErrTruncated},
		{"nothing", "", chrome.ErrTruncated},
		{"no trace", "hello", chrome.ErrSyntax},
		{"broken", strings.Replace(whole, `"dur"`, `dur`, 1), chrome.ErrSyntax},
		{"no kernels", trace(fmt.Sprintf(h200, 0)), ErrNoKernels},
		{"no complete kernels", trace("", `{"ph": "B", "cat": "kernel"}`), ErrNoKernels},
	} {
		if r, err := Read(strings.NewReader(c.in), Options{}); !errors.Is(err, c.want) || r != nil {
			t.Errorf("%s: %v, %v", c.name, r, err)
		}
	}
}

// TestHiddenCharacters: what is not seen is an escape in what is printed.
func TestHiddenCharacters(t *testing.T) {
	r := read(t, trace(fmt.Sprintf(h200, 0), kernel("a\u202eb\u0085c", "1", launched("132, 1, 1", "128, 1, 1", 32, 0))), Options{})
	var text, document bytes.Buffer
	if err := errors.Join(r.WriteText(&text, View{}), r.WriteJSON(&document, View{})); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{text.String(), document.String()} {
		if !strings.Contains(s, `a\u202eb\u0085c`) && !strings.Contains(s, `a\u202eb\x85c`) {
			t.Error(s)
		}
	}
}

// TestGrouping: configurations are told apart by everything that matters, and add
// up; a selection leaves totals alone.
func TestGrouping(t *testing.T) {
	base := launched("132, 1, 1", "128, 1, 1", 32, 0)
	r := read(t, trace(fmt.Sprintf(h200, 0),
		kernel("a", "1", base), kernel("a", "2.0005", base), kernel("a", "4", strings.Replace(base, `thread": 32`, `thread": 33`, 1)),
		kernel("b", "8", base), kernel("a", "16", base+`, "local memory per thread": 8`), kernel("a", "-1", base),
		kernel("a", "9223372036854775.807", strings.Replace(base, "132", "133", 1)), kernel("a", "9223372036854775.807", strings.Replace(base, "132", "133", 1)),
	), Options{Kernel: regexp.MustCompile("^a$")})
	if r.Distinct != 5 || len(r.Configurations) != 4 || r.Kernels != (Count{8, math.MaxInt64}) || r.Calculable != r.Kernels || r.Untimed != 1 {
		t.Errorf("%d of %d configurations, %+v, %+v, untimed %d", len(r.Configurations), r.Distinct, r.Kernels, r.Calculable, r.Untimed)
	}
	first := r.Configurations[len(r.Configurations)-1]
	if first.Count != (Count{3, 3001}) || first.Untimed != 1 {
		t.Errorf("%+v", first)
	}
}

func TestBelow(t *testing.T) {
	r := read(t, trace(fmt.Sprintf(h200, 0),
		kernel("low", "30", launched("1320, 1, 1", "128, 1, 1", 255, 0)),  // 12.5 %
		kernel("low", "20", launched("1320, 1, 1", "128, 1, 1", 128, 0)),  // 25 %
		kernel("high", "49.5", launched("1, 1, 1", "1024, 1, 1", 32, 0)),  // 100 %, achieved 0.4 %
		kernel("rare", "0.5", launched("132, 1, 1", "128, 1, 1", 255, 0)), // 12.5 %
		kernel("blind", "0", `"device": 0`),
	), Options{})
	for _, c := range []struct {
		m    Minimum
		want []string
	}{
		{Minimum{Percent: 12.5, Share: 0}, nil},
		{Minimum{Percent: 12.6, Share: 1}, []string{"low: theoretical occupancy 12.5 % is below 12.6 % (REGS; block 128, grid 1320, 255 registers, 0 bytes of shared memory on device 0; 30.0 % of the time)"}},
		{Minimum{Percent: 50, Share: 45}, []string{"the lowest of 2 configurations below; 50.0 % of the time"}}, // neither alone
		{Minimum{Percent: 50, Share: 51}, nil},
		{Minimum{Percent: 50, Share: 0.1}, []string{"low: ", "rare: "}},
		{Minimum{AchievedPercent: 5, Share: 1}, []string{"high: estimated achieved occupancy 0.4 %"}},
	} {
		found, judged, unjudged := r.Below(c.m)
		ok := len(found) == len(c.want) && judged.Calls == 4 && unjudged.Calls == 1
		for i := range c.want {
			ok = ok && strings.Contains(found[i].String(), c.want[i])
		}
		if !ok {
			t.Errorf("%+v: judged %d, unjudged %d:", c.m, judged.Calls, unjudged.Calls)
			for i := range found {
				t.Errorf("  %s", found[i].String())
			}
		}
	}
}

// FuzzRead: whatever the text, nothing breaks, and what is read adds up.
func FuzzRead(f *testing.F) {
	f.Add([]byte(sample()))
	f.Add([]byte(`[` + kernel("k", "1e300", launched("1, 1, 1", "1, 1, 1", 0, 0)) + `]`))
	f.Add([]byte(trace(`{"id": 0}, 7, {"id": -1}`, kernel("k", "1", `"grid": [[], "]"]`))))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := Read(bytes.NewReader(in), Options{})
		if err != nil {
			return
		}
		var all Count
		for i := range r.Configurations {
			c := &r.Configurations[i]
			all.Calls += c.Calls
			all.Time = saturate(all.Time, c.Time)
			if (c.Figures == nil) != (c.Reason != "") {
				t.Errorf("figures %v, reason %q", c.Figures, c.Reason)
			}
			if f := c.Figures; f != nil && !(f.Resident > 0 && f.Resident <= 1.0000001 && f.Lost >= 0 && f.Lost <= c.Time && f.Tail >= 0 && f.Tail < 1) {
				t.Errorf("%+v", *f)
			}
		}
		if all != r.Kernels {
			t.Errorf("%+v of %+v", all, r.Kernels)
		}
		var text, ratchet bytes.Buffer
		if err := errors.Join(r.WriteText(&text, View{}), r.WriteJSON(&text, View{}), r.WriteCSV(&text, View{}), r.Ratchet().Write(&ratchet)); err != nil {
			t.Error(err)
		}
		if _, err := ReadRatchet(&ratchet); err != nil {
			t.Error(err)
		}
	})
}

// BenchmarkRead reads what a long recording holds: 64 configurations, launches and
// arrows between the kernels.
func BenchmarkRead(b *testing.B) {
	var doc bytes.Buffer
	doc.WriteString(`{"deviceProperties": [` + fmt.Sprintf(h200, 0) + `], "traceEvents": [`)
	name := "void at::native::vectorized_elementwise_kernel<4, " + strings.Repeat("at::native::templates::cuda::normal_and_transform<float, ", 4) + ">>>>(int, std::array<char*, 2ul>)"
	for i := range 100_000 {
		fmt.Fprintf(&doc, `{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 419, "tid": 419, "ts": 5099088897456.648, "dur": 4.1, "args": {"External id": %d, "cbid": 211, "correlation": %d}},
{"ph": "s", "id": %[2]d, "pid": 419, "tid": 419, "ts": 5099088897456.648, "cat": "ac2g", "name": "ac2g"},
`, i, 2*i)
		doc.WriteString(kernel(name, "12.768", launched(fmt.Sprint(1+i%64, ", 1, 1"), "384, 1, 1", 168, 0)+`, "blocks per SM": 0.969697, "warps per SM": 11.636364, "est. achieved occupancy %": 0`))
		fmt.Fprintf(&doc, ",\n"+`{"ph": "f", "id": %d, "pid": 0, "tid": 7, "ts": 5099088897456.648, "cat": "ac2g", "name": "ac2g", "bp": "e"},`+"\n", 2*i)
	}
	doc.WriteString("{}]}")
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if r, err := Read(bytes.NewReader(doc.Bytes()), Options{}); err != nil || r.Distinct != 64 {
			b.Fatal(err)
		}
	}
}
