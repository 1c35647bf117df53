package occupancy

import (
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

var update = flag.Bool("update", false, "rewrite testdata/nvidia-calculator.csv.gz from the whole table")

const (
	sampleFile = "testdata/nvidia-calculator.csv.gz"
	sampleRows = 20000 // at least
	tableHead  = "major,minor,block,regs,static_smem,dyn_smem,status,blocks_per_sm,limiting,by_regs,by_smem,by_warps,by_blocks"
)

// calculated is a row of NVIDIA's results.
type calculated struct {
	line                                                     int
	major, minor, block, regs, static, dynamic               int64
	status, blocks, limiting, byRegs, bySmem, byWarps, byMax int64
}

func (r *calculated) kernel() Kernel {
	return Kernel{Block: [3]int32{int32(r.block), 1, 1}, RegsPerThread: int32(r.regs), StaticSharedMem: int32(r.static), DynamicSharedMem: int32(r.dynamic)}
}

func (r *calculated) input() string {
	return fmt.Sprintf("%d,%d,%d,%d,%d,%d", r.major, r.minor, r.block, r.regs, r.static, r.dynamic)
}

func (r *calculated) text() string {
	return fmt.Sprintf("%s,%d,%d,%d,%d,%d,%d,%d", r.input(), r.status, r.blocks, r.limiting, r.byRegs, r.bySmem, r.byWarps, r.byMax)
}

func readCalculated(t testing.TB, path string) (out []calculated) {
	t.Helper()
	rows(t, path, ",", func(line int, col func(string) string) {
		num := func(name string) int64 { return number(t, col(name)) }
		out = append(out, calculated{line, num("major"), num("minor"), num("block"), num("regs"), num("static_smem"), num("dyn_smem"),
			num("status"), num("blocks_per_sm"), num("limiting"), num("by_regs"), num("by_smem"), num("by_warps"), num("by_blocks")})
	})
	return out
}

func sample(t testing.TB) []calculated { return readCalculated(t, sampleFile) }

// wholeTable is the table that the sample is of, where it is at hand.
func wholeTable(t testing.TB) string { return testrig.Shared(t, "occupancy/nvidia-calculator.csv.gz") }

// checkCalculated holds rows against Calculate: whether it succeeds, the blocks, what
// limits them, and every limit; and the device against that of the catalogue.
func checkCalculated(t *testing.T, all []calculated) {
	wrong := 0
	for i := range all {
		r := &all[i]
		dev := tableDevices[[2]int64{r.major, r.minor}]
		if dev == nil {
			t.Fatalf("line %d: no device %d.%d", r.line, r.major, r.minor)
		}
		k := r.kernel()
		got, err := Calculate(dev, &k, Options{})
		have := *r
		have.status = 0
		if err != nil {
			have.status = 1
		}
		have.blocks, have.limiting, have.byRegs, have.bySmem, have.byWarps, have.byMax =
			got.ActiveBlocksPerSM, int64(got.Limiting), got.ByRegs, got.BySharedMem, got.ByWarps, got.ByBlocks
		if have != *r {
			if wrong++; wrong <= 10 {
				t.Errorf("line %d: %s\n got %s", r.line, r.text(), have.text())
			}
		}
	}
	if wrong > 10 {
		t.Errorf("%d of %d rows are wrong", wrong, len(all))
	}
}

// TestCalculator is over the committed sample.
func TestCalculator(t *testing.T) {
	if *update {
		writeSample(t)
	}
	all := sample(t)
	checkCalculated(t, all)
	by := map[[2]int64]int{}
	limits, none := map[int64]int{}, 0
	for _, r := range all {
		by[[2]int64{r.major, r.minor}]++
		limits[r.limiting]++
		if r.blocks == 0 {
			none++
		}
	}
	if len(all) < sampleRows || len(by) != len(tableDevices) || none < 1000 || len(all)-none < 1000 || len(limits) < 15 {
		t.Errorf("%d rows of %d capabilities and %d sets of limits, %d without a block", len(all), len(by), len(limits), none)
	}
	for cc, n := range by {
		if n < 1000 {
			t.Errorf("%d rows of %v", n, cc)
		}
	}
}

// TestCalculatorWhole is over the whole table.
func TestCalculatorWhole(t *testing.T) {
	all := readCalculated(t, wholeTable(t))
	if len(all) <= sampleRows {
		t.Errorf("%d rows", len(all))
	}
	checkCalculated(t, all)
}

// TestTableEqualsNVIDIA has the sample go through the CSV reader: byte for byte what
// NVIDIA's calculator gave.
func TestTableEqualsNVIDIA(t *testing.T) {
	all := sample(t)
	var want, got strings.Builder
	want.WriteString(tableHead + "\n")
	for i := range all {
		want.WriteString(all[i].text() + "\n")
	}
	stats, err := Table(strings.NewReader(tableText(all)), &got)
	if err != nil || stats.Rows != int64(len(all)) || stats.Refused != 0 {
		t.Fatalf("%+v, %v", stats, err)
	}
	if got.String() != want.String() {
		w, g := strings.Split(want.String(), "\n"), strings.Split(got.String(), "\n")
		for i := range w {
			if i >= len(g) || w[i] != g[i] {
				t.Fatalf("line %d: want %s", i+1, w[i])
			}
		}
	}
}

// tableText is the input of Table for the rows.
func tableText(all []calculated) string {
	var b strings.Builder
	b.WriteString(strings.Join(tableIn, ",") + "\n")
	for i := range all {
		b.WriteString(all[i].input() + "\n")
	}
	return b.String()
}

// writeSample takes the first rows of each kind: capability, what limits, and whether
// a block fits. As many of each as make sampleRows in all.
func writeSample(t *testing.T) {
	all := readCalculated(t, wholeTable(t))
	type kind struct {
		major, minor, limiting, status int64
		fits                           bool
	}
	pick := func(most int) (out []calculated) {
		seen := map[kind]int{}
		for _, r := range all {
			k := kind{r.major, r.minor, r.limiting, r.status, r.blocks > 0}
			if seen[k]++; seen[k] <= most {
				out = append(out, r)
			}
		}
		return out
	}
	most := 1
	for len(pick(most)) < sampleRows {
		most += 10
	}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	fmt.Fprintln(z, tableHead)
	for _, r := range pick(most) {
		fmt.Fprintln(z, r.text())
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sampleFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
