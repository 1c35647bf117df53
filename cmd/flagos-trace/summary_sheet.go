package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/summary"
)

// nameWidth is how much of a name is printed.
const nameWidth = 56

// sheet prints a table: texts from the left, numbers from the right.
func (p *summaryPage) sheet(t *summary.Table, top int) {
	if len(t.Rows) == 0 {
		if len(p.f.by) > 0 {
			p.line("%s: none", t.Title)
		}
		return
	}
	rows := t.Rows
	if top > 0 {
		rows = rows[:min(len(rows), top)]
	}
	var columns []int
	for i, c := range t.Columns {
		// A column of which no row says anything is left out.
		said := slices.ContainsFunc(rows, func(r []any) bool { return r[i] != nil && r[i] != "" })
		if (!c.Wide || p.f.wide) && said {
			columns = append(columns, i)
		}
	}
	cells := make([][]string, len(rows)+1)
	widths := make([]int, len(columns))
	for k, i := range columns {
		c := &t.Columns[i]
		for r := range cells {
			text := c.Title
			if r > 0 {
				text = p.cell(c.Unit, rows[r-1][i])
			}
			cells[r] = append(cells[r], text)
			widths[k] = max(widths[k], utf8.RuneCountInString(text))
		}
	}
	title := t.Title
	if p.f.wide && t.Note != "" {
		title += " (" + t.Note + ")"
	}
	p.line("%s", title)
	for _, row := range cells {
		var b strings.Builder
		for k, text := range row {
			pad := strings.Repeat(" ", widths[k]-utf8.RuneCountInString(text))
			if t.Columns[columns[k]].Unit == summary.Text {
				b.WriteString("  " + text + pad)
			} else {
				b.WriteString("  " + pad + text)
			}
		}
		p.print(strings.TrimRight(b.String(), " ") + "\n")
	}
	if n := len(t.Rows) - len(rows); n > 0 {
		p.line("  and %d more", n)
	}
	p.print("\n")
}

// cell is a cell for people; one that the trace says nothing about is empty.
func (p *summaryPage) cell(u summary.Unit, v any) string {
	switch v := v.(type) {
	case string:
		v = record.Printable(v, false)
		if n := utf8.RuneCountInString(v); n > nameWidth && !p.f.fullNames {
			r := []rune(v)
			return string(r[:nameWidth-23]) + "..." + string(r[n-20:])
		}
		return v
	case int64:
		switch u {
		case summary.NS:
			return span(v)
		case summary.Bytes:
			return byteText(float64(v))
		}
		return fmt.Sprint(v)
	case float64:
		switch u {
		case summary.Share:
			return fmt.Sprintf("%.1f %%", 100*v)
		case summary.Rate:
			return byteText(v) + "/s"
		}
		return fmt.Sprintf("%.2f", v)
	}
	return ""
}

// byteText is a size for people: units of 1000, as bandwidths have them.
func byteText(v float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		if v >= u.size {
			return fmt.Sprintf("%.2f %s", v/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f B", v)
}
