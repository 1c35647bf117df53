package occupancy

import (
	"io"
	"strings"
	"testing"
)

var benchKernel = Kernel{Grid: [3]int32{8, 16, 4}, Block: [3]int32{128, 1, 1}, RegsPerThread: 122, DynamicSharedMem: 12672}

func BenchmarkCalculate(b *testing.B) {
	dev := h200()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Calculate(dev, &benchKernel, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKernelFigures is all that one kernel's args need.
func BenchmarkKernelFigures(b *testing.B) {
	dev, buf := h200(), make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Calculate(dev, &benchKernel, Options{})
		if err != nil {
			b.Fatal(err)
		}
		blocks, _ := BlocksPerSM(dev.NumSMs, benchKernel.Grid, Correct)
		warps, _ := WarpsPerSM(blocks, benchKernel.Block, Correct)
		occ, _ := Achieved(r.ActiveBlocksPerSM, blocks, benchKernel.Block, dev.MaxThreadsPerSM, Correct)
		buf = AppendPerSM(buf[:0], blocks, Classic)
		buf = AppendPerSM(buf, warps, Classic)
		buf = append(buf, r.Limiting.String()...)
		_ = Percent(occ, Classic)
	}
}

func BenchmarkAppendPerSM(b *testing.B) {
	buf := make([]byte, 0, 64)
	for name, format := range map[string]Format{"classic": Classic, "shortest": Shortest} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf = AppendPerSM(buf[:0], 256./132, format)
			}
		})
	}
}

func BenchmarkAppendBandwidth(b *testing.B) {
	buf := make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = AppendBandwidth(buf[:0], 4194304, 334977, Options{})
	}
}

// TestNoAllocations: the trace writer calls these for every kernel.
func TestNoAllocations(t *testing.T) {
	dev, buf := h200(), make([]byte, 0, 256)
	n := testing.AllocsPerRun(100, func() {
		r, _ := Calculate(dev, &benchKernel, Options{Mode: Kineto})
		blocks, _ := BlocksPerSM(dev.NumSMs, benchKernel.Grid, Kineto)
		buf = AppendPerSM(buf[:0], blocks, Classic)
		buf = AppendPerSM(buf, blocks, Shortest)
		buf = AppendPerSM(buf, 3e30, Classic)
		buf, _ = AppendBandwidth(buf, 4194304, 334977, Options{})
		buf = append(buf, r.Limiting.String()...)
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkConfigurations: the configurations of the sample, one after the other, so
// that no branch is always taken the same way.
func BenchmarkConfigurations(b *testing.B) {
	type config struct {
		dev *Device
		k   Kernel
	}
	var configs []config
	for _, r := range sample(b) {
		configs = append(configs, config{tableDevices[[2]int64{r.major, r.minor}], r.kernel()})
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		c := &configs[i]
		if i++; i == len(configs) {
			i = 0
		}
		if _, err := Calculate(c.dev, &c.k, Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "configs/s")
}

// BenchmarkTable is the same through CSV.
func BenchmarkTable(b *testing.B) {
	in := tableText(sample(b))
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	rows := int64(0)
	for b.Loop() {
		stats, err := Table(strings.NewReader(in), io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		rows += stats.Rows
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}
