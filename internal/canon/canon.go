package canon

import (
	"fmt"
	"slices"
	"testing"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Lines lists what a trace that was read holds, a line each event, arrow's end, row,
// process and member, sorted, so that the order of events does not count.
func Lines(t *timeline.Trace) []string {
	var out []string
	used := make([]bool, len(t.Rows)) // a row with nothing on it, and no name, is as good as none
	row := func(i uint32) string {
		r := t.Rows[i]
		return fmt.Sprintf("%d%q%v/%d%q%v", r.PID, r.PIDText, r.EmptyPID, r.TID, r.TIDText, r.EmptyTID)
	}
	s := t.Strings.At
	for i := range uint32(t.Events.Len()) {
		e := *t.Events.At(i)
		src := t.Source.Events.At(i)
		used[e.Row] = true
		var detail any
		switch {
		case e.Kind == timeline.Kernel:
			k := *t.Kernels.At(e.Detail)
			detail = fmt.Sprint(k.GraphID, k.GraphNodeID, k.Queued, k.Channel, k.Priority, k.Has, k.Collective != 0, t.Launches[k.Launch])
		case e.Kind.OnDevice():
			detail = *t.Copies.At(e.Detail)
		case e.Kind.IsAPI():
			detail = *t.Calls.At(e.Detail)
		case e.Kind == timeline.Sync:
			detail = *t.Syncs.At(e.Detail)
		}
		place := timeline.Place{}
		if e.Kind.OnDevice() || e.Kind == timeline.Sync {
			place = t.Places[e.Place]
		}
		out = append(out, fmt.Sprintf("event %d %d %c %q %q %s %v %d %d %x %v %v {%s} %s", e.Start, e.End, src.Phase, s(e.Name), s(e.Category),
			row(e.Row), e.Kind, e.Correlation, e.External, e.Flags, detail, place, t.RawArgs(i), s(src.Fields)))
	}
	for i, p := range t.Flows {
		used[p.Row] = true
		category := "none"
		if p.Category != timeline.NoCategory {
			category = s(p.Category)
		}
		out = append(out, fmt.Sprintf("flow %d %d %s %q %q %v%v%v %s", p.ID, p.TS, row(p.Row), s(p.Name), category, p.Start, p.Step, p.Enclosing,
			s(t.Source.Flows.At(uint32(i)).Fields)))
	}
	for i, r := range t.Rows {
		if !used[i] && r.Name == "" && !r.HasSortIndex {
			continue
		}
		out = append(out, fmt.Sprintf("row %s %q %d %v %v", row(uint32(i)), r.Name, r.SortIndex, r.HasSortIndex, r.Kind))
	}
	for _, g := range t.Groups {
		out = append(out, fmt.Sprintf("group %+v", g))
	}
	for _, m := range t.Metadata {
		out = append(out, fmt.Sprintf("member %s %s", m.Key, m.Raw))
	}
	out = append(out, fmt.Sprintf("window %v process %v devices %v base %v %v", t.Window, t.Process, t.Devices, t.Source.Base, t.Source.HasBase),
		fmt.Sprintf("flows are %q %q", s(t.Source.FlowName), s(t.Source.FlowCategory)))
	slices.Sort(out)
	return out
}

// Compare fails a test where lines differ, and says what was lost and added.
func Compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	g, w := map[string]int{}, map[string]int{}
	for _, s := range got {
		g[s]++
	}
	for _, s := range want {
		w[s]++
	}
	shown := 0
	for _, s := range want {
		if g[s] < w[s] && shown < 5 {
			t.Errorf("%s: lost  %.600s", what, s)
			shown++
		}
	}
	for _, s := range got {
		if w[s] < g[s] && shown < 10 {
			t.Errorf("%s: added %.600s", what, s)
			shown++
		}
	}
}
