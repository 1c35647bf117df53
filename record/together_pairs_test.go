package record

import (
	"bytes"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestTied merges two recorded ranks as record --merge does: their collectives are
// joined by arrows, and the trace that is written says the same.
func TestTied(t *testing.T) {
	var parts []merge.Part
	for _, name := range []string{"ddp.rank0", "ddp.rank1"} {
		o := ImportOptions{
			clock: referenceClock(t, name, parseTrace(t, readGzip(t, pairFile(name, ".kineto.json.gz")))), KinetoRows: true,
			APIVersion: pairsAPI, Host: pairFile(name, ".kineto.json.gz"), Buffers: pairFile(name, ".cupti.gz"), Names: pairFile(name, ".names.tsv.gz"),
		}
		tr, err := ImportCUPTI(o)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, merge.Part{Trace: tr, Label: merge.DefaultLabel(tr), Clock: &timeline.Alignment{Method: timeline.AlignSameHost}})
	}
	all, err := merge.Traces(parts)
	if err != nil {
		t.Fatal(err)
	}
	drawn := tie(all)
	if drawn < 10 {
		t.Errorf("%d arrows between the ranks", drawn)
	}
	var out bytes.Buffer
	if err := chrome.Write(&out, all, chrome.Options{}); err != nil {
		t.Fatal(err)
	}
	d, err := chrome.Read(&out, chrome.ReadOptions{})
	if err != nil || len(d.Findings) > 0 {
		t.Fatal(err, d.Findings)
	}
	list := ranks.Collect(d.Trace, "")
	if m := ranks.MatchAll(list); len(list) != 2 || len(m) < drawn {
		t.Errorf("the written trace has %d ranks with %d operations in common, %d arrows were drawn", len(list), len(m), drawn)
	}
}
