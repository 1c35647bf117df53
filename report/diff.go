package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/flagos-ai/flagos-trace/compare"
)

// Diff is how one side compares with the other.
type Diff struct {
	Verdict string   `json:"verdict"`
	Why     string   `json:"why"`
	Notes   []string `json:"notes"`
	// Whole is measured of whole runs; Tables are device time by operator, kernel, ...
	Whole  []DiffRow   `json:"whole"`
	Tables []DiffTable `json:"tables"`
}

// DiffTable divides device time.
type DiffTable struct {
	By   string    `json:"by"`
	Of   int       `json:"of"`
	Rows []DiffRow `json:"rows"`
}

// DiffRow is a time, or another amount, of the mean run of each side.
type DiffRow struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Matched string  `json:"matched_by,omitempty"`
	Status  string  `json:"status"`
	Base    float64 `json:"base"`
	New     float64 `json:"new"`
	// Ratio is New over Base; nil where a side has nothing.
	Ratio *float64 `json:"ratio"`
	// Counts are spans of the first run of each side; nil for whole runs.
	Counts *[2]int64 `json:"counts,omitempty"`
}

func diffOf(r *compare.Report) *Diff {
	d := &Diff{Verdict: string(r.Verdict), Why: r.Why, Notes: append(append([]string{}, r.Incomparable...), r.Notes...), Whole: []DiffRow{}, Tables: []DiffTable{}}
	for i := range r.Whole {
		m := &r.Whole[i]
		d.Whole = append(d.Whole, diffRow(m.Name, m.Unit, &m.Change))
	}
	for i := range r.Tables {
		t := &r.Tables[i]
		if len(t.Rows) < 2 && t.By != "operator" && t.By != "kernel" {
			continue // all is in one row: nothing is divided
		}
		out := DiffTable{By: t.By, Of: len(t.Rows)}
		for _, row := range t.Rows {
			v := diffRow(row.Name, "ns", &row.Change)
			v.Matched = row.Level
			v.Counts = &[2]int64{row.Base[0].Works, row.New[0].Works}
			out.Rows = append(out.Rows, v)
		}
		sortByDelta(out.Rows)
		out.Rows = out.Rows[:min(len(out.Rows), maxRows)]
		d.Tables = append(d.Tables, out)
	}
	return d
}

func diffRow(name, unit string, c *compare.Change) DiffRow {
	v := DiffRow{Name: shorten(name), Unit: unit, Status: string(c.Status), Base: c.Base, New: c.New}
	if c.Effect != nil {
		ratio := rounded(c.Effect.Ratio)
		v.Ratio = &ratio
	}
	return v
}

// sortByDelta puts what changed most first.
func sortByDelta(rows []DiffRow) {
	slices.SortStableFunc(rows, func(a, b DiffRow) int {
		return cmp.Compare(math.Abs(b.New-b.Base), math.Abs(a.New-a.Base))
	})
}
