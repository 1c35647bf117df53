package report

import (
	"math"
	"strconv"

	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/summary"
)

// maxRows is how many rows of a table a page has.
const maxRows = 2000

// additive are the columns that add up to something.
var additive = map[string]bool{
	"calls": true, "count": true, "device_ns": true, "overlap_ns": true, "idle_ns": true, "launches": true, "cpu_self_ns": true,
	"bytes": true, "time_ns": true, "lost_ns": true, "started": true, "busy_ns": true, "duration_ns": true, "ns": true,
	"wait_ns": true, "transfer_ns": true, "operations": true, "spans": true, "window_ns": true, "failed": true,
}

// tablesOf are the tables of a summary, and those of its ranks.
func tablesOf(s *summary.Summary) []Table {
	out := []Table{}
	for _, t := range s.Tables() {
		if len(t.Rows) > 0 {
			out = append(out, tableOf(t))
		}
	}
	if s.Ranks != nil {
		out = append(out, rankTables(s.Ranks)...)
	}
	return out
}

func tableOf(t *summary.Table) Table {
	out := Table{Name: t.Name, Title: t.Title, Note: t.Note, Of: len(t.Rows), Rows: t.Rows[:min(len(t.Rows), maxRows)], Sums: make([]any, len(t.Columns))}
	for i, c := range t.Columns {
		out.Columns = append(out.Columns, Column{c.Key, c.Title, c.Unit, c.Wide})
		if !additive[c.Key] || t.Name == "gaps" {
			continue
		}
		sum, any := int64(0), false
		for _, row := range t.Rows {
			if v, ok := row[i].(int64); ok {
				sum, any = sum+v, true
			}
		}
		if any {
			out.Sums[i] = sum
		}
	}
	for i, row := range out.Rows {
		out.Rows[i] = cells(row)
	}
	return out
}

// cells makes a row short: names that nobody would read to their end, and digits that
// mean nothing.
func cells(row []any) []any {
	out := make([]any, len(row))
	for i, v := range row {
		switch v := v.(type) {
		case string:
			out[i] = shorten(v)
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue // JSON has no such numbers
			}
			out[i] = rounded(v)
		default:
			out[i] = v
		}
	}
	return out
}

// rounded leaves six digits.
func rounded(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return r
}

// rankTables are what ranks waited for, by step and by kind of operation.
func rankTables(a *ranks.Analysis) []Table {
	ns := func(key, title string) summary.Column {
		return summary.Column{Key: key, Title: title, Unit: summary.NS}
	}
	text := func(key, title string) summary.Column { return summary.Column{Key: key, Title: title} }
	number := func(key, title string) summary.Column {
		return summary.Column{Key: key, Title: title, Unit: summary.Number}
	}
	steps := &summary.Table{Name: "rank_steps", Title: "Steps of all ranks", Note: "own: the longest duration of a rank without its waits for others",
		Columns: []summary.Column{number("step", "step"), number("ranks", "ranks"), text("slowest", "slowest"), ns("own_ns", "own"), ns("mean_own_ns", "mean own"), ns("longest_ns", "longest"), ns("wait_ns", "waits")}}
	for i := range a.Steps {
		r := &a.Steps[i]
		steps.Rows = append(steps.Rows, []any{r.Number, int64(r.Ranks), r.Slowest, r.Own, r.MeanOwn, r.Duration, r.Wait})
	}
	kinds := &summary.Table{Name: "rank_kinds", Title: "What ranks waited in", Note: "of all ranks together; last: the rank that most often was the last to begin",
		Columns: []summary.Column{text("name", "operation"), text("dtype", "type"), number("in_elements", "in"), number("group_size", "ranks"), number("count", "count"), ns("wait_ns", "waits"), ns("transfer_ns", "transfers"), ns("max_wait_ns", "longest wait"), text("most_often_last", "last"), number("most_often_last_count", "times")}}
	for i := range a.Kinds {
		r := &a.Kinds[i]
		var in any
		if r.In != nil {
			in = *r.In
		}
		kinds.Rows = append(kinds.Rows, []any{r.Name, r.Dtype, in, int64(r.Size), int64(r.Count), r.Wait, r.Transfer, r.MaxWait, r.Last, int64(r.LastCount)})
	}
	var out []Table
	for _, t := range []*summary.Table{steps, kinds} {
		if len(t.Rows) > 0 {
			out = append(out, tableOf(t))
		}
	}
	return out
}
