package summary

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// torchTime prints as torch's tables do.
func torchTime(ns int64) string {
	us := float64(ns) / 1000
	switch {
	case us >= 1e6:
		return fmt.Sprintf("%.3fs", us/1e6)
	case us >= 1e3:
		return fmt.Sprintf("%.3fms", us/1e3)
	}
	return fmt.Sprintf("%.3fus", us)
}

// TestKeyAverages holds operators and kernels against the tables that torch printed of
// the same runs: device times, own and total, and calls. CPU times torch prints without
// the profiler's own.
func TestKeyAverages(t *testing.T) {
	columns := regexp.MustCompile(`\s{2,}`)
	for _, name := range []string{"basic", "train", "comp", "graph"} {
		t.Run(name, func(t *testing.T) {
			table, err := os.Open(testrig.Shared(t, filepath.Join("traces/torch-cuda", name+".key_averages.txt")))
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			s := read(t, Options{}, testrig.Shared(t, filepath.Join("traces/torch-cuda", name+".json.gz")))
			type row struct {
				self, total string
				calls       string
			}
			rows := map[string][]row{}
			for _, o := range s.Operators {
				rows[o.Name] = append(rows[o.Name], row{torchTime(o.DeviceNS), torchTime(o.DeviceTotalNS), strconv.FormatInt(o.Calls, 10)})
			}
			for _, k := range s.Kernels {
				rows[k.Name] = append(rows[k.Name], row{torchTime(k.DeviceNS), torchTime(k.DeviceNS), strconv.FormatInt(k.Works, 10)})
			}
			for _, c := range s.Calls {
				rows[c.Name] = append(rows[c.Name], row{torchTime(0), torchTime(0), strconv.FormatInt(c.Calls, 10)})
			}
			compared, total := 0, ""
			for lines := bufio.NewScanner(table); lines.Scan(); {
				if text, ok := strings.CutPrefix(lines.Text(), "Self CUDA time total: "); ok {
					total = text
				}
				f := columns.Split(strings.TrimSpace(lines.Text()), -1)
				if len(f) < 11 || f[0] == "Name" || strings.HasPrefix(f[0], "---") {
					continue
				}
				cut, isCut := strings.CutSuffix(f[0], "...")
				found, ok := false, false
				for have, list := range rows {
					if have != f[0] && !(isCut && strings.HasPrefix(have, cut)) {
						continue
					}
					found = true
					for _, r := range list {
						// Of an operator inside one of its name torch counts the work twice.
						ok = ok || r == row{f[6], f[8], f[len(f)-1]} || name == "train" && r == row{f[6], f[6], f[len(f)-1]} && f[0] == "aten::copy_"
					}
				}
				switch {
				case ok:
					compared++
				case found:
					t.Errorf("%s: %v, torch says %q", f[0], rows[f[0]], f)
				default: // an annotation on the device, or the profiler itself
					t.Logf("%s is no operator, kernel or call", f[0])
				}
			}
			if got := torchTime(s.Work.DeviceNS); got != total {
				t.Errorf("device time is %s, torch says %s", got, total)
			}
			if compared < 5 {
				t.Errorf("only %d rows were compared", compared)
			}
		})
	}
}
