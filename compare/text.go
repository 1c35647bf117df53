package compare

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// View says what of a report to print. The JSON always has all.
type View struct {
	By   []string // tables; empty: the operators
	Top  int      // rows of a table; 0: 15
	Wide bool     // launch delay, idle time and overlap, too
}

func (v *View) tables(r *Report) (list []*Table) {
	by := v.By
	if len(by) == 0 {
		by = Tables[:1]
	}
	for _, name := range by {
		for i := range r.Tables {
			if r.Tables[i].By == name {
				list = append(list, &r.Tables[i])
			}
		}
	}
	return list
}

func (v *View) top() int {
	if v.Top <= 0 {
		return 15
	}
	return v.Top
}

// ReportSchema is the JSON Schema (draft 2020-12) of what WriteJSON writes.
//
//go:embed schema.json
var ReportSchema []byte

// WriteJSON writes the whole report; its form is named by Schema.
func (r *Report) WriteJSON(w io.Writer) error {
	return plain.JSON(w, r, " ")
}

// WriteText writes a page for a terminal, the worst first.
func (r *Report) WriteText(w io.Writer, v View) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", strings.ToUpper(string(r.Verdict)), printable(r.Why))
	for side, runs := range [2][]verdict.Side{r.Base, r.New} {
		fmt.Fprintf(&b, "  %-4s  %s\n", Side(side), printable(runsLine(runs)))
	}
	if len(r.Incomparable) > 1 {
		for _, s := range r.Incomparable[1:] {
			fmt.Fprintf(&b, "  also: %s\n", printable(s))
		}
	}
	for _, s := range r.Notes {
		fmt.Fprintf(&b, "  note: %s\n", printable(s))
	}
	if len(r.Whole) > 0 {
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintf(&b, "\n")
		line(t, "whole runs", "base", "new", "change", r.interval(), "")
		for i := range r.Whole {
			m := &r.Whole[i]
			c := &m.Change
			line(t, m.Name, amount(c.Base, m.Unit), amount(c.New, m.Unit), c.change(), c.bounds(), string(c.Status))
		}
		t.Flush()
	}
	for _, table := range v.tables(r) {
		fmt.Fprintf(&b, "\n")
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		line(t, r.head(table.By, &v)...)
		rows, hidden := table.Rows, 0
		if len(rows) > v.top() {
			hidden = len(rows) - v.top()
			rows = rows[:v.top()]
		}
		for _, row := range rows {
			line(t, row.cells(&v, func(s string) string { return cut(printable(s), 52) })...)
		}
		t.Flush()
		if hidden > 0 {
			fmt.Fprintf(&b, "and %d more: --top %d, or --json\n", hidden, len(table.Rows))
		}
	}
	r.writeMatching(&b)
	_, err := io.WriteString(w, trimLines(b.String()))
	return err
}

// writeMatching says what met its counterpart, and names the largest of the rest.
func (r *Report) writeMatching(b *strings.Builder) {
	if r.Matched.Total[Base].Works == 0 || r.Matched.Total[New].Works == 0 {
		return
	}
	fmt.Fprintf(b, "\n")
	for side, all := range r.Matched.Total {
		linked := r.Matched.Linked[side]
		fmt.Fprintf(b, "%-4s  %s of device time with an operator is matched by operators, %s of all by anything\n", Side(side),
			share(r.Matched.LinkedMatched[side].DeviceNS, linked.DeviceNS), share(r.Matched.Met[side].DeviceNS, all.DeviceNS))
	}
	for i, o := range r.OneSided {
		if i == 5 {
			fmt.Fprintf(b, "  and %d more of one side only; --json has all\n", len(r.OneSided)-i)
			break
		}
		name := o.Name
		if o.Path != "" {
			name = o.Path
		}
		runs := float64(len(r.Base))
		if o.Side == New.String() {
			runs = float64(len(r.New))
		}
		fmt.Fprintf(b, "  only %s: %s, %s a run\n", o.Side, tail(printable(name), 70), duration(float64(o.DeviceNS)/runs))
	}
	for s, list := range [2][]WorkChange{r.Less, r.More} {
		shown := 0
		for i := range list {
			w := &list[i]
			if w.only(Side(s)) {
				continue // it stands above
			}
			if shown == 5 {
				fmt.Fprintf(b, "  and others of %s; --json has all\n", [2]string{"less work", "more work"}[s])
				break
			}
			shown++
			fmt.Fprintf(b, "  %s in new: %s, %s, %s a run\n", [2]string{"less", "more"}[s], tail(printable(w.Name), 70), w.counts(Side(s)), duration(w.DeviceNS))
		}
	}
}

func line(w io.Writer, cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }

func trimLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (r *Report) interval() string {
	if s := fmt.Sprintf("%.6g %%", 100*(1-r.Settings.Alpha)); s != "100 %" {
		return s
	}
	return "over 99.9999 %"
}

// head is the first line of a table.
func (r *Report) head(by string, v *View) []string {
	cells := []string{by, "base", "new", "change", r.interval(), "share", "count"}
	if v.Wide {
		cells = append(cells, "launch delay", "idle before", "overlap")
	}
	return append(cells, "")
}

// cells are a row of a table.
func (r *Row) cells(v *View, name func(string) string) []string {
	c := &r.Change
	cells := []string{name(r.Name), duration(c.Base), duration(c.New), c.change(), c.bounds(),
		arrow(fmt.Sprintf("%.1f", 100*c.BaseShare), fmt.Sprintf("%.1f", 100*c.NewShare)) + " %",
		r.both(func(m *Measures, n float64) string { return fmt.Sprintf("%.6g", float64(m.Works)/n) })}
	if v.Wide {
		cells = append(cells,
			r.both(func(m *Measures, _ float64) string {
				if m.Launches == 0 {
					return "-"
				}
				return duration(float64(m.DelayNS) / float64(m.Launches))
			}),
			r.both(func(m *Measures, n float64) string { return duration(float64(m.IdleNS) / n) }),
			r.both(func(m *Measures, _ float64) string { return share(m.OverlapNS, m.DeviceNS) }))
	}
	status := string(c.Status)
	switch {
	case r.explained && c.Status == Faster:
		status += ", of less work"
	case r.explained:
		status += ", of more work"
	}
	return append(cells, status)
}

// both shows something of the sums over the runs of both sides; n is their number.
func (r *Row) both(show func(m *Measures, n float64) string) string {
	var text [2]string
	for side := range text {
		var sum Measures
		runs := r.of(Side(side))
		for i := range runs {
			sum.Add(&runs[i])
		}
		text[side] = show(&sum, float64(len(runs)))
	}
	return arrow(text[0], text[1])
}

func arrow(a, b string) string {
	if a == b {
		return a
	}
	return a + " > " + b
}

func (c *Change) change() string {
	if c.Effect == nil {
		return ""
	}
	return percent(c.Effect.Ratio)
}

func (c *Change) bounds() string {
	if c.Effect == nil || c.Effect.High == 0 {
		return ""
	}
	return fmt.Sprintf("%+.1f to %+.1f", 100*(c.Effect.Low-1), 100*(c.Effect.High-1))
}

func share(part, all int64) string {
	if all == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(all))
}

func amount(v float64, unit string) string {
	if unit == "ns" {
		return duration(v)
	}
	return fmt.Sprintf("%.6g", v)
}

func duration(ns float64) string {
	switch {
	// Limits are where three decimals would round to the next unit.
	case ns >= 999_999_500:
		return fmt.Sprintf("%.3f s", ns/1e9)
	case ns >= 999_999.5:
		return fmt.Sprintf("%.3f ms", ns/1e6)
	case ns == 0:
		return "0"
	}
	return fmt.Sprintf("%.3f us", ns/1e3)
}

// runsLine says who the runs of a side are.
func runsLine(runs []verdict.Side) string {
	if len(runs) == 0 {
		return "nothing"
	}
	s := runs[0].Name
	if len(runs) > 1 {
		s = fmt.Sprintf("%d runs, %s and others", len(runs), s)
	}
	if runs[0].Producer != "" {
		s += ", by " + runs[0].Producer
	}
	if len(runs[0].Devices) > 0 {
		s += ", " + strings.Join(runs[0].Devices, " and ")
	}
	return s
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-3]) + "..."
	}
	return s
}

// tail keeps the end of a path, which tells most.
func tail(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return "..." + string(r[len(r)-n+3:])
	}
	return s
}

// printable is a name on one line that does nothing but be read.
func printable(s string) string { return plain.Text(s, false) }
