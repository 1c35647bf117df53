package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/record"
)

// tablePrinter prints tables of at most top rows, 0 for all. The first error stays.
type tablePrinter struct {
	w   io.Writer
	top int
	err error
}

func (p *tablePrinter) print(text string) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, text)
	}
}

func (p *tablePrinter) line(format string, args ...any) {
	p.print(record.Printable(fmt.Sprintf(format, args...), false) + "\n")
}

// table prints rows, of which the first is the heading. A table of nothing is left
// out.
func (p *tablePrinter) table(title string, rows [][]string) {
	if len(rows) < 2 {
		return
	}
	more := 0
	if p.top > 0 && len(rows)-1 > p.top {
		more = len(rows) - 1 - p.top
		rows = rows[:p.top+1]
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i := range row {
			row[i] = record.Printable(row[i], false)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	p.print(title + "\n")
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch {
			case i == len(row)-1:
				b.WriteString("  " + cell)
			case i == 0:
				b.WriteString("  " + cell + pad)
			default:
				b.WriteString("  " + pad + cell)
			}
		}
		p.print(strings.TrimRight(b.String(), " ") + "\n")
	}
	if more > 0 {
		p.print(fmt.Sprintf("  and %d more\n", more))
	}
	p.print("\n")
}
