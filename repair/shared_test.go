package repair

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/validate"
)

// mendedRules are the rules of validate that no trace breaks after its repair.
var mendedRules = map[string]bool{
	"json-truncated": true, "json-unclosed": true, "json-syntax": true, "json-trailing-comma": true, "json-duplicate-key": true, "json-utf8": true, "json-control": true,
	"json-escape": true, "json-number": true, "json-bom": true, "time-text": true, "duration-missing": true, "duration-negative": true,
	"begin-alone": true, "end-alone": true, "end-order": true, "overlap-device": true, "overlap-host": true, "overlap-concurrent": true, "overlap-annotation": true,
	"row-named-twice": true, "flow-start-alone": true, "flow-end-alone": true, "name-mangled": true, "sync-overlap": true,
}

// TestProducers repairs traces of many producers: nothing of what is repaired is
// found any more, nothing is found that was not, and a second repair changes
// nothing.
func TestProducers(t *testing.T) {
	dir := testrig.Shared(t, "traces")
	for _, path := range files(t, dir) {
		name, _ := filepath.Rel(dir, path)
		text := plain(t, path)
		if testing.Short() && len(text) > 4<<20 {
			continue
		}
		out, report := repaired(t, text, Options{})
		again, second := repaired(t, out, Options{})
		if !bytes.Equal(out, again) || second.Changed() {
			t.Errorf("%s: a second repair changes %v: %s", name, second.Repaired, differ(out, again))
		}
		before, after := findings(t, text), findings(t, out)
		sameBut(t, name, read(t, text), read(t, out), report)
		for rule, n := range after {
			if n > before[rule] || mendedRules[rule] {
				t.Errorf("%s: %s: %d findings before, %d after", name, rule, before[rule], n)
			}
		}
	}
}

// sameBut holds a repaired trace against the one that it was: as many events differ
// as the report counts, and in nothing else; and both are of one producer.
func sameBut(t *testing.T, name string, from, to *chrome.Document, report *Report) {
	t.Helper()
	a, b := from.Trace, to.Trace
	if a.Events.Len() != b.Events.Len() {
		t.Errorf("%s: %d events, then %d", name, a.Events.Len(), b.Events.Len())
		return
	}
	if from.Producer != to.Producer {
		t.Errorf("%s: by %v, then %v", name, from.Producer, to.Producer)
	}
	var names, times, rows, other uint64
	for i := range uint32(a.Events.Len()) {
		x, y := a.Events.At(i), b.Events.At(i)
		sx, sy := a.Source.Events.At(i), b.Source.Events.At(i)
		if a.Strings.At(x.Name) != b.Strings.At(y.Name) {
			names++
		}
		if x.Start != y.Start || x.End != y.End {
			times++
		}
		if p, q := a.Rows[x.Row], b.Rows[y.Row]; p.PID != q.PID || p.TID != q.TID || p.PIDText != q.PIDText || p.TIDText != q.TIDText {
			rows++
		}
		const ends = timeline.FlowIn | timeline.FlowOut
		if a.Strings.At(x.Category) != b.Strings.At(y.Category) || x.Correlation != y.Correlation || x.External != y.External || x.Kind != y.Kind ||
			x.Flags&^ends != y.Flags&^ends || sx.Phase != sy.Phase || a.Strings.At(sx.Fields) != b.Strings.At(sy.Fields) || !bytes.Equal(a.RawArgs(i), b.RawArgs(i)) {
			other++
		}
	}
	n := report.Repaired
	if names != n["names_demangled"]+n["calls_named"] {
		t.Errorf("%s: %d names differ: %v", name, names, n)
	}
	if shifted := n["device_times_shifted"]; times < shifted || times > shifted+n["durations_cut"]+report.Remaining[RemainingStamps] {
		t.Errorf("%s: %d times differ: %v", name, times, n)
	}
	if rows > n["moved_to_sub_row"]+n["waits_moved_to_sync_row"] || rows < n["moved_to_sub_row"] {
		t.Errorf("%s: %d events are on other rows: %v", name, rows, n)
	}
	if other > 0 && n["duplicate_key"] == 0 {
		t.Errorf("%s: %d events differ in something else", name, other)
	}
	moved := len(a.Flows) - len(b.Flows)
	if limit := int(n["flows_removed"] + n["flows_paired"]); moved < 0 || moved > limit {
		t.Errorf("%s: %d arrows' ends, then %d: %v", name, len(a.Flows), len(b.Flows), n)
	}
}

func findings(t *testing.T, text []byte) map[string]int {
	r, err := validate.Run(bytes.NewReader(text), validate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, c := range r.Counts {
		out[c.Rule] = int(c.N)
	}
	return out
}
