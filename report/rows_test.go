package report

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/summary"
)

// TestOutOfOrder: kernels that begin together, the shorter one first, are drawn like all
// others where there are too many for a page.
func TestOutOfOrder(t *testing.T) {
	for _, durations := range [][2]string{{"0.004", "0.008"}, {"0.008", "0.004"}} {
		var b strings.Builder
		b.WriteString(`[{"ph": "X", "cat": "kernel", "name": "last", "pid": 0, "tid": 7, "ts": 12000, "dur": 1, "args": {"device": 0, "stream": 7}}`)
		const pairs = 3000
		for i := range 2 * pairs {
			fmt.Fprintf(&b, `, {"ph": "X", "cat": "kernel", "name": "k%d", "pid": 0, "tid": 7, "ts": %.3f, "dur": %s, "args": {"device": 0, "stream": 7}}`, i%5, 1000+float64(i/2)*0.02, durations[i%2])
		}
		path := filepath.Join(t.TempDir(), "trace.json")
		if err := os.WriteFile(path, []byte(b.String()+"]"), 0o600); err != nil {
			t.Fatal(err)
		}
		rules, shown := chrome.DefaultRules(), 0
		_, err := summary.Files([]string{path}, summary.Options{Look: func(r summary.Reading) {
			trace := r.Tree.Trace()
			v := &view{t: trace, x: r.Tree, m: r.Run, kinds: kindsOf(r.Tree, rules), names: &names{}, ids: make([]int32, trace.Strings.Len())}
			const most = 1000
			got, resolution, _ := v.rows(most)
			want, _ := v.lines(nil, detail{most: most})
			window := trace.Window.End - trace.Window.Start
			if r := fit(want, window, 0, most); len(got) != 1 || len(want) != 1 || got[0].Spans != 2*pairs+1 || r != resolution || coarser(0, window) < 20 {
				t.Fatalf("%v: %d rows at %d, want %d at %d", durations, len(got), resolution, len(want), r)
			}
			for i := range want[0].Pieces {
				want[0].Pieces[i].name = uint32(v.name(want[0].Pieces[i].name))
			}
			if !slices.Equal(got[0].Pieces, want[0].Pieces) {
				t.Errorf("%v: %d pieces, want %d others", durations, len(got[0].Pieces), len(want[0].Pieces))
			}
			shown++
		}})
		if err != nil || shown != 1 {
			t.Fatalf("%v: %d traces: %v", durations, shown, err)
		}
	}
}
