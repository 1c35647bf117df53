package kernels

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/occupancy"
)

// TestKinetoTraces holds the figures of every kernel of real traces against what
// Kineto wrote into them: equal in its own arithmetic; in the correct one they may
// differ above 48 KiB of shared memory alone, and are not 0 there.
func TestKinetoTraces(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/pairs/*.kineto.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal("no traces", err)
	}
	kernels, large := uint64(0), uint64(0)
	if dir, ok := testrig.FindShared("traces/torch-cuda"); ok {
		more, _ := filepath.Glob(filepath.Join(dir, "*.json.gz"))
		paths = append(paths, more...)
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Read(f, Options{})
		f.Close()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if r.Calculable != r.Kernels || r.Beyond.Calls+r.Untimed > 0 || r.Kernels.Time == 0 {
			t.Errorf("%s: %+v of %+v kernels calculable, %d beyond, %d untimed", path, r.Calculable, r.Kernels, r.Beyond.Calls, r.Untimed)
		}
		for i := range r.Configurations {
			c := &r.Configurations[i]
			kernels += c.Calls
			if c.Stated.BlocksPerSM == "" || c.Stated.WarpsPerSM == "" || c.Stated.Percent == "" || c.StatedDiffers {
				t.Errorf("%s: %s: states %+v, differs %v", path, c.Name, c.Stated, c.StatedDiffers)
			}
			if c.Figures == nil {
				t.Errorf("%s: %s: %s", path, c.Name, c.Reason)
				continue
			}
			// Agreement compares numbers; here the text counts.
			if got := string(occupancy.AppendPerSM(nil, c.Kineto.BlocksPerSM, occupancy.Classic)); got != c.Stated.BlocksPerSM {
				t.Errorf("%s: %s: blocks per SM %s, want %s", path, c.Name, got, c.Stated.BlocksPerSM)
			}
			if got := string(occupancy.AppendPerSM(nil, c.Kineto.WarpsPerSM, occupancy.Classic)); got != c.Stated.WarpsPerSM {
				t.Errorf("%s: %s: warps per SM %s, want %s", path, c.Name, got, c.Stated.WarpsPerSM)
			}
			if got := strconv.FormatInt(occupancy.Percent(c.Kineto.Achieved, occupancy.Classic), 10); got != c.Stated.Percent {
				t.Errorf("%s: %s: %s %%, want %s %%", path, c.Name, got, c.Stated.Percent)
			}
			want := AgreesBoth
			if c.SharedMem > 48<<10 {
				large += c.Calls
				if c.Stated.Percent != "0" || c.Figures.Theoretical() <= 0 || c.Figures.Achieved <= 0 {
					t.Errorf("%s: %s: %d bytes of shared memory: Kineto says %s %%, theoretical %v, achieved %v",
						path, c.Name, c.SharedMem, c.Stated.Percent, c.Figures.Theoretical(), c.Figures.Achieved)
				}
				want = AgreesKineto
				if c.Figures.Achieved < 0.005 {
					want = AgreesBoth // 0 %, rounded
				}
			}
			if c.Agreement != want {
				t.Errorf("%s: %s: agrees with %q, want %q: states %+v, Kineto %+v, correct %+v", path, c.Name, c.Agreement, want, c.Stated, *c.Kineto, *c.Figures)
			}
		}
	}
	if kernels < 2000 || large == 0 {
		t.Errorf("%d kernels, %d with more than 48 KiB of shared memory", kernels, large)
	}
	t.Logf("%d kernels of %d traces, %d with more than 48 KiB of shared memory", kernels, len(paths), large)
}
