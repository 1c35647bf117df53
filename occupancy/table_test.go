package occupancy

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// tableDevices are the properties behind nvidia-calculator.csv.gz, written down apart
// from those of the catalogue.
var tableDevices = func() map[[2]int64]*Device {
	m := map[[2]int64]*Device{}
	for _, r := range [][7]int64{
		// cc, threads/SM, shared memory/SM, opt-in, reserved, SMs
		{5, 0, 2048, 65536, 49152, 0, 5},
		{5, 2, 2048, 98304, 49152, 0, 16},
		{6, 0, 2048, 65536, 49152, 0, 56},
		{6, 1, 2048, 98304, 49152, 0, 28},
		{7, 0, 2048, 98304, 98304, 0, 80},
		{7, 5, 1024, 65536, 65536, 0, 40},
		{8, 0, 2048, 167936, 166912, 1024, 108},
		{8, 6, 1536, 102400, 101376, 1024, 84},
		{8, 7, 1536, 167936, 166912, 1024, 16},
		{8, 9, 1536, 102400, 101376, 1024, 128},
		{9, 0, 2048, 233472, 232448, 1024, 132},
		{10, 0, 2048, 233472, 232448, 1024, 148},
		{10, 3, 2048, 233472, 232448, 1024, 148},
		{12, 0, 1536, 102400, 101376, 1024, 170},
	} {
		m[[2]int64{r[0], r[1]}] = &Device{
			ComputeMajor: r[0], ComputeMinor: r[1], MaxThreadsPerBlock: 1024, MaxThreadsPerSM: r[2],
			RegsPerBlock: 65536, RegsPerSM: 65536, WarpSize: 32, SharedMemPerBlock: 49152,
			SharedMemPerSM: r[3], SharedMemPerBlockOptin: r[4], ReservedSharedMemPerBlock: r[5], NumSMs: r[6],
		}
	}
	return m
}()

func h200() *Device { d := *tableDevices[[2]int64{9, 0}]; return &d }

// rows calls f with each row of a CSV or TSV, gzipped or not, by column name.
func rows(t testing.TB, path, sep string, f func(line int, col func(string) string)) int {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var sc *bufio.Scanner
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		sc = bufio.NewScanner(z)
	} else {
		sc = bufio.NewScanner(file)
	}
	sc.Scan()
	index := map[string]int{}
	for i, name := range strings.Split(sc.Text(), sep) {
		index[name] = i
	}
	n := 0
	for sc.Scan() {
		n++
		fields := strings.Split(sc.Text(), sep)
		f(n+1, func(name string) string {
			i, ok := index[name]
			if !ok || i >= len(fields) {
				t.Fatalf("%s:%d: no column %s", path, n+1, name)
			}
			return fields[i]
		})
	}
	if err := sc.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return n
}

func number(t testing.TB, s string) int64 {
	t.Helper()
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestCalculator126 covers what the other table does not: the default limit of
// shared memory, more compute capabilities, barriers, too many registers and
// threads, and what is allocated.
func TestCalculator126(t *testing.T) {
	n := rows(t, "testdata/nvidia-calculator-12.6.csv.gz", ",", func(line int, col func(string) string) {
		num := func(name string) int64 { return number(t, col(name)) }
		dev := &Device{
			ComputeMajor: num("major"), ComputeMinor: num("minor"), MaxThreadsPerBlock: 1024,
			MaxThreadsPerSM: num("threads_sm"), RegsPerBlock: num("regs_block"), RegsPerSM: 65536, WarpSize: 32,
			SharedMemPerBlock: 49152, SharedMemPerSM: num("smem_sm"), SharedMemPerBlockOptin: num("smem_optin"),
			NumSMs: num("sms"),
		}
		if !dev.FillReserved() || dev.ReservedSharedMemPerBlock != num("reserved") {
			t.Errorf("line %d: reserve %d, want %s", line, dev.ReservedSharedMemPerBlock, col("reserved"))
		}
		opts := Options{Mode: Kineto}
		if num("optin") == 1 {
			opts.Mode = Correct
		}
		r, err := Calculate(dev, &Kernel{
			Block: [3]int32{int32(num("block")), 1, 1}, RegsPerThread: int32(num("regs")),
			StaticSharedMem: int32(num("static_smem")), DynamicSharedMem: int32(num("dyn_smem")),
			Barriers: int32(num("barriers")),
		}, opts)
		if (err != nil) != (num("status") != 0) {
			t.Errorf("line %d: error %v, status %s", line, err, col("status"))
			return
		}
		got := fmt.Sprint(r.ActiveBlocksPerSM, r.ByRegs, r.BySharedMem, r.ByWarps, r.ByBlocks, r.ByBarriers,
			r.AllocatedRegsPerBlock, r.AllocatedSharedMemPerBlock)
		want := fmt.Sprint(num("blocks_per_sm"), num("by_regs"), num("by_smem"), num("by_warps"), num("by_blocks"), num("by_barriers"),
			num("alloc_regs"), num("alloc_smem"))
		if got != want {
			t.Errorf("line %d: blocks, by regs, smem, warps, blocks, barriers, allocated regs, smem:\n got %s\nwant %s", line, got, want)
		}
		limiting := Limit(num("limiting"))
		if limiting&LimitBarriers != 0 && r.ByBarriers < min(r.ByRegs, r.BySharedMem, r.ByWarps, r.ByBlocks) {
			limiting = LimitBarriers // see Result.Limiting
		}
		if r.Limiting != limiting {
			t.Errorf("line %d: limiting %v, want %v", line, r.Limiting, limiting)
		}
	})
	if n != 2000 {
		t.Errorf("%d rows, want 2000", n)
	}
}
