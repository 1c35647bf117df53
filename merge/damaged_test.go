package merge

import (
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// TestIsMerged: the record of a merge that names no pids, damaged or somebody else's, is
// none.
func TestIsMerged(t *testing.T) {
	for text, want := range map[string]bool{
		``:                             false,
		`"flagosMerge":[],`:            false,
		`"flagosMerge":{"parts":5},`:   false,
		`"flagosMerge":[1,"x",null],`:  false,
		`"flagosMerge":[{"label":1}],`: false,
		`"flagosMerge":[{"label":"rank 0","pids":[{"was":1,"is":1}]}],`: true,
	} {
		d, err := chrome.Read(strings.NewReader(`{`+text+`"traceEvents":[{"ph":"X","name":"k","pid":1,"tid":1,"ts":1,"dur":1}]}`), chrome.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := IsMerged(d.Trace); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
