package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/summary"
)

// number reads an integer of the summary's JSON: "whole.busy_ns".
func number(t *testing.T, v any, path string) float64 {
	t.Helper()
	for _, key := range strings.Split(path, ".") {
		v = v.(map[string]any)[key]
	}
	return v.(float64)
}

func testTotals(t *testing.T, b *browser) {
	b.t = t
	for _, files := range [][]string{{"train"}, {"basic"}, {"streams"}, {"graph"}, {"ddp.rank0", "ddp.rank1"}} {
		var paths []string
		for _, f := range files {
			paths = append(paths, pairs+f+".kineto.json.gz")
		}
		at, _ := page(t, Options{}, paths...)
		b.open(at)
		s, err := summary.Files(paths, summary.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := s.WriteJSON(&text); err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(text.String()), &want); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"device_work.device_ns", "whole.window_ns", "whole.busy_ns", "occupancy.lost_ns"} {
			var got string
			b.eval(fmt.Sprintf(`document.querySelector('[data-key=%q]').dataset.value`, key), &got)
			if w := fmt.Sprintf("%.0f", number(t, want, key)); got != w {
				t.Errorf("%v: %s is %s, not %s", files, key, got, w)
			}
		}
		// What the window divides into.
		for _, part := range []string{"busy", "idle"} {
			for key, v := range want["whole"].(map[string]any)[part].(map[string]any) {
				if v.(float64) == 0 {
					continue
				}
				var got string
				b.eval(fmt.Sprintf(`(document.querySelector('#overview .legend [data-key=%q]') || { dataset: { value: "none" } }).dataset.value`, key), &got)
				if w := fmt.Sprintf("%.0f", v); got != w && key != "communication_waiting_for_peer_ns" {
					t.Errorf("%v: %s is %s, not %s", files, key, got, w)
				}
			}
		}
		// Tables: each row, and the sums below them.
		for tab, key := range map[string]string{"operators": "operators", "kernels": "kernels"} {
			names, sum, count := map[string]float64{}, 0.0, 0
			take := func(name string, row any) {
				ns, _ := row.(map[string]any)["device_ns"].(float64) // absent: no work
				names[shorten(name)] += ns
				sum += ns
				count++
			}
			for _, row := range want[key].([]any) {
				take(row.(map[string]any)["name"].(string), row)
			}
			if tab == "operators" {
				for why, row := range want["without_operator"].(map[string]any) {
					take("(no operator: "+strings.ReplaceAll(why, "_", " ")+")", row)
				}
			}
			b.eval(fmt.Sprintf(`document.querySelector('[data-tab=%q]').click()`, tab), nil)
			b.eval(`(() => { for (let n = 0; n < 100; n++) [...document.querySelectorAll('#tables button')].filter(b => b.textContent.startsWith("Show more") && !b.hidden).forEach(b => b.click()); })()`, nil)
			var got struct {
				Sum  string
				Rows [][]string
			}
			b.eval(fmt.Sprintf(`(() => { const t = document.querySelector('table[data-table=%q]'), keys = [...t.querySelectorAll('thead button')].map(b => b.dataset.sort), d = keys.indexOf("device_ns");
				return { Sum: t.querySelector('[data-sum="device_ns"]').dataset.value, Rows: [...t.tBodies[0].rows].map(r => [r.cells[0].title, r.cells[d].dataset.value]) }; })()`, tab), &got)
			if got.Sum != fmt.Sprintf("%.0f", sum) || len(got.Rows) != count {
				t.Errorf("%v: %s add up to %s in %d rows, not %.0f in %d", files, tab, got.Sum, len(got.Rows), sum, count)
			}
			shown := map[string]float64{}
			for _, r := range got.Rows {
				var v float64
				fmt.Sscan(r[1], &v)
				shown[r[0]] += v
			}
			for name, ns := range names {
				if shown[name] != ns {
					t.Errorf("%v: %s %q has %.0f ns, not %.0f", files, tab, name, shown[name], ns)
				}
			}
		}
		b.quiet(t, at)
	}
}

// testEvery opens the pages of traces of all kinds, and all of its tables.
func testEvery(t *testing.T, b *browser) {
	b.t = t
	// One of each kind: browsers are slow.
	kinds := []string{"comp.", "graph.", "cpu-only-gloo", "ascend-trace-view", "rocm-mi250-train", "simple-add", "train-stacks-shapes-memory"}
	for _, path := range traces(t) {
		if !slices.ContainsFunc(kinds, func(k string) bool { return strings.HasPrefix(filepath.Base(path), k) }) {
			continue
		}
		at, r := page(t, Options{}, path)
		b.open(at)
		var tabs, rows int
		b.eval(`document.querySelectorAll('#tables [role="tab"]').length`, &tabs)
		b.eval(`(() => { let n = 0; for (const b of document.querySelectorAll('#tables [role="tab"]')) { b.click(); n += document.querySelectorAll('#tables tbody tr').length > 0; } return n; })()`, &rows)
		want := 0
		for _, table := range r.Sides[0].Tables {
			if !strings.HasPrefix(table.Name, "rank") {
				want++
			}
		}
		if tabs != want || rows != want {
			t.Errorf("%s: %d tabs, %d of them with rows, for %d tables", path, tabs, rows, want)
		}
		b.eval(`document.querySelector('#time').scrollIntoView()`, nil)
		b.wait(`[...document.querySelectorAll('#time .controls')].every(c => c.nextElementSibling.childElementCount > 0)`)
		b.quiet(t, at)
	}
}
