package ranks

import (
	"fmt"
	"time"

	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Seconds says in words which ranks have more than one trace.
func (a *Analysis) Seconds() []string {
	var out []string
	for i := range a.Ranks {
		if r := &a.Ranks[i]; r.SecondOf == r.File && r.File != "" {
			out = append(out, fmt.Sprintf("%s has two traces named %s: the second takes no part in steps and operations", r.Name, r.File))
		} else if r.SecondOf != "" {
			out = append(out, fmt.Sprintf("%s has two traces, %s and %s: the second takes no part in steps and operations", r.Name, r.SecondOf, r.File))
		}
	}
	return out
}

// Ends says in words which ranks died and when, and which have nothing where others
// go on with what they were to take part in.
func (a *Analysis) Ends() []string {
	last := int64(0)
	for i := range a.Ranks {
		last = max(last, a.Ranks[i].LastSeen)
	}
	var out []string
	for i := range a.Ranks {
		if s := a.Ranks[i].end(last); s != "" {
			out = append(out, s)
		}
	}
	return out
}

func (r *RankReport) end(last int64) string {
	if !r.Died && r.Missed == 0 {
		return ""
	}
	s := r.Name
	if r.PID != 0 {
		s += fmt.Sprintf(" (pid %d)", r.PID)
	}
	switch {
	case r.Died && r.Signal != "":
		s += " died of " + r.Signal
	case r.Died:
		s += " died, or was cut off"
	default:
		s += " has nothing more"
	}
	if r.LastSeen != 0 {
		s += ": its last event ends at " + time.Unix(0, r.LastSeen).UTC().Format("2006-01-02T15:04:05.000000Z")
		if d := last - r.LastSeen; d > 0 {
			s += fmt.Sprintf(", %s before the last of the others", time.Duration(d))
		}
	}
	if r.Missed > 0 {
		s += fmt.Sprintf("; %d more operations of its groups began after that", r.Missed)
	}
	return s
}

// MarkEnds puts an instant into a merged trace where a rank died, on the first row of
// its process's threads. ranks are those collected from the trace, and a their
// analysis. The texts of Ends go to the completeness record, if there is one. It
// returns the number of instants.
func MarkEnds(t *timeline.Trace, a *Analysis) int {
	infos := merge.Infos(t)
	marked := 0
	for i := range a.Ranks {
		r := &a.Ranks[i]
		if !r.Died || r.LastSeen == 0 || i >= len(infos) {
			continue
		}
		row, ok := hostRow(t, &infos[i])
		if !ok {
			continue
		}
		what := r.Signal
		if what == "" {
			what = "the record ends"
		}
		t.Events.Add(timeline.Event{
			Kind: timeline.Other, Name: t.Strings.ID(fmt.Sprintf("%s died: %s", r.Name, what)), Category: t.Strings.ID(merge.EndCategory),
			Row: row, Start: r.LastSeen, End: r.LastSeen, Flags: timeline.Instant,
		})
		if t.Source != nil {
			t.Source.Events.Add(timeline.SourceEvent{Fields: t.Strings.ID(`"s": "p"`)})
		}
		marked++
	}
	if t.Completeness != nil {
		t.Completeness.Diagnoses = append(t.Completeness.Diagnoses, a.Ends()...)
	}
	return marked
}

func hostRow(t *timeline.Trace, info *merge.Info) (uint32, bool) {
	for _, p := range info.IDs {
		if !p.Host {
			continue
		}
		for i := range t.Rows {
			r := &t.Rows[i]
			if r.Kind == timeline.RowThread && r.PID == p.Is.Number && r.PIDText == p.Is.Text {
				return uint32(i), true
			}
		}
	}
	return 0, false
}
