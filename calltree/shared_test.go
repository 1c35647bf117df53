package calltree

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func readShared(t testing.TB, name string) []*chrome.Document {
	t.Helper()
	path := testrig.Shared(t, name)
	docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

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

// TestKeyAverages holds self times and calls of operators against the table that
// torch printed of the same run.
func TestKeyAverages(t *testing.T) {
	columns := regexp.MustCompile(`\s{2,}`)
	for _, name := range []string{"basic", "train", "comp", "graph"} {
		t.Run(name, func(t *testing.T) {
			table, err := os.Open(testrig.Shared(t, filepath.Join("traces/torch-cuda", name+".key_averages.txt")))
			if err != nil {
				t.Fatal(err)
			}
			defer table.Close()
			x := New(readShared(t, filepath.Join("traces/torch-cuda", name+".json.gz"))[0].Trace)
			type sums struct {
				cpu, device int64
				calls       int
			}
			ops := map[string]*sums{}
			for n := range x.Nodes() {
				s := ops[x.Name(n)]
				if s == nil {
					s = new(sums)
					ops[x.Name(n)] = s
				}
				s.cpu += x.SelfTime(n)
				s.device += x.SelfDevice(n)
				if p := x.Parent(n); p == None || x.Name(p) != x.Name(n) || x.End(p) != x.End(n) || p+1 != n {
					s.calls++ // torch makes one of two of a name, if the inner is all there is
				}
			}
			// torch takes the profiler's own time from what was running then.
			overhead := map[string]bool{}
			for i := range uint32(x.t.Events.Len()) {
				e := x.t.Events.At(i)
				if e.Kind != timeline.Overhead {
					continue
				}
				overhead[x.t.Strings.At(e.Name)] = true
				for _, row := range x.rows {
					if n := x.Around(row, e.Start); n != None {
						ops[x.Name(n)].cpu -= e.Duration()
						break
					}
				}
			}
			rows := 0
			for lines := bufio.NewScanner(table); lines.Scan(); {
				f := columns.Split(strings.TrimSpace(lines.Text()), -1)
				if len(f) < 11 || f[0] == "Name" || f[2] == "0.000us" || strings.HasPrefix(f[0], "---") || overhead[f[0]] {
					continue // a kernel, or an annotation on the device
				}
				s := ops[f[0]]
				if s == nil {
					for name, v := range ops { // the table cuts names
						if cut, ok := strings.CutSuffix(f[0], "..."); ok && strings.HasPrefix(name, cut) {
							s = v
						}
					}
				}
				if s == nil {
					t.Errorf("no node is called %q", f[0])
					continue
				}
				rows++
				if got := torchTime(s.device); got != f[6] {
					t.Errorf("%s: self device time %s, torch says %s", f[0], got, f[6])
				}
				if got := torchTime(s.cpu); got != f[2] {
					t.Errorf("%s: self CPU time %s, torch says %s", f[0], got, f[2])
				}
				if got := strconv.Itoa(s.calls); got != f[len(f)-1] {
					t.Errorf("%s: %s calls, torch says %s", f[0], got, f[len(f)-1])
				}
			}
			t.Logf("%d rows", rows)
			if rows == 0 {
				t.Error("no row of the table was compared")
			}
		})
	}
}

// TestEveryTrace holds what must be true of any trace against all there are.
func TestEveryTrace(t *testing.T) {
	for _, dir := range []string{"traces/torch-cuda", "traces/public", "traces/public/edge", "traces/pairs"} {
		files, _ := filepath.Glob(filepath.Join(testrig.Shared(t, dir), "*.json*"))
		for _, path := range files {
			docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
			if err != nil {
				t.Logf("%s: %v", path, err)
				continue
			}
			for _, d := range docs {
				check(t, filepath.Base(path), New(d.Trace))
			}
		}
	}
}
