package compare

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

func sharedTree(t testing.TB, name string) *calltree.Tree {
	t.Helper()
	docs, err := chrome.ReadFile(testrig.Shared(t, filepath.Join("traces", name)), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return calltree.New(docs[0].Trace)
}

// sumKernels adds up device time by name over the JSON itself, in ns.
func sumKernels(t *testing.T, name string) map[string]int64 {
	t.Helper()
	f, err := os.Open(testrig.Shared(t, filepath.Join("traces", name)))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		TraceEvents []struct {
			Ph, Cat, Name string
			Dur           json.Number
		}
	}
	d := json.NewDecoder(z)
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	sums := map[string]int64{}
	for _, e := range doc.TraceEvents {
		if e.Ph == "X" && slices.Contains([]string{"kernel", "gpu_memcpy", "gpu_memset"}, e.Cat) {
			us, ok := new(big.Rat).SetString(e.Dur.String())
			if ns := us.Mul(us, big.NewRat(1000, 1)); !ok || !ns.IsInt() {
				t.Fatalf("dur %s", e.Dur)
			} else {
				sums[e.Name] += ns.Num().Int64()
			}
		}
	}
	return sums
}

// TestAcrossVendors: of the device time that has an operator, 95 % and more meets its
// counterpart on the other vendor's device.
func TestAcrossVendors(t *testing.T) {
	for _, name := range []string{"bert-small", "qwen1.5-0.5b"} {
		t.Run(name, func(t *testing.T) {
			files := [2]string{"public/h100-" + name + ".json.gz", "public/mi300-" + name + ".json.gz"}
			trees := [2]*calltree.Tree{sharedTree(t, files[0]), sharedTree(t, files[1])}
			m := Match(trees[:1], trees[1:], DefaultRules())
			for side := range files {
				linked, matched := m.Linked[side], m.Matched[side]
				if linked.DeviceNS == 0 || float64(matched.DeviceNS) < 0.95*float64(linked.DeviceNS) {
					t.Errorf("%s: %d of %d ns are matched by call path", Side(side), matched.DeviceNS, linked.DeviceNS)
				}
				t.Logf("%s: %d of %d ns by call path", Side(side), matched.DeviceNS, linked.DeviceNS)
				got := map[string]int64{}
				for w := range trees[side].Works() {
					got[trees[side].WorkName(w)] += trees[side].WorkAt(w).Duration()
				}
				if want := sumKernels(t, files[side]); !maps.Equal(got, want) {
					t.Errorf("%s: sums by kernel differ from those over the JSON", Side(side))
				}
			}
			conserves(t, m)
			byLevel := map[string][2]Sum{}
			for i := range m.Groups {
				g := &m.Groups[i]
				s := byLevel[g.Level.String()]
				s[0].add(g.Sums[0])
				s[1].add(g.Sums[1])
				byLevel[g.Level.String()] = s
				if g.Level != ByPath {
					t.Logf("%s %s %s %v", g.Level, m.Paths.String(g.Path), g.Kernel, g.Sums)
				}
			}
			t.Log(fmt.Sprint(byLevel))
		})
	}
}

// conserves: every span is in one group, one-sided groups have one side, and the
// others two.
func conserves(t *testing.T, m *Matching) {
	t.Helper()
	var all [2]Sum
	for i := range m.Groups {
		g := &m.Groups[i]
		for side := range all {
			all[side].add(g.Sums[side])
		}
		sides := 0
		for side := range g.Sums {
			if g.Sums[side].Works > 0 {
				sides++
			}
		}
		if want := map[bool]int{true: 1, false: 2}[g.Level == OneSided]; sides != want {
			t.Errorf("group %s %q has %d sides", g.Level, m.Name(g), sides)
		}
	}
	for side, runs := range m.runs {
		var want Sum
		for _, r := range runs {
			for w := range r.tree.Works() {
				want.add(Sum{1, r.tree.WorkAt(w).Duration()})
			}
		}
		if all[side] != want || m.Total[side] != want {
			t.Errorf("%s: %v in groups, %v in all, of %v", Side(side), all[side], m.Total[side], want)
		}
	}
}
