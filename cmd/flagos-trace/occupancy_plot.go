package main

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/record"
)

const (
	plotHeight = 8  // lines
	plotWidth  = 64 // columns at most
)

// printSweep writes the table and the plot of a sweep.
func (r *report) printSweep(b *bytes.Buffer) error {
	words := r.entry.Words(r.config)
	name, unit := r.axisText()
	fmt.Fprintf(b, "\n%s from %s to %s:\n\n", name, r.valueText(r.points[0].Value), r.valueText(r.points[len(r.points)-1].Value))
	rows := [][]string{{unit, words.Block + "s", words.Warp + "s", "occupancy", "limited by"}}
	for i := 0; i < len(r.points); {
		last := i
		for last+1 < len(r.points) && sameAnswer(&r.points[i].Answer, &r.points[last+1].Answer) {
			last++
		}
		values, a := r.valueText(r.points[i].Value), &r.points[i].Answer
		if last > i {
			values += " - " + r.valueText(r.points[last].Value)
		}
		limit := a.Limiting.Names(words)
		if a.Blocks == 0 {
			limit = "cannot be launched: " + limit
		}
		rows = append(rows, []string{values, strconv.FormatInt(a.Blocks, 10), strconv.FormatInt(a.Blocks*a.WarpsPerBlock, 10), percent(a.Theoretical()), limit})
		i = last + 1
	}
	if err := printColumns(b, rows, []bool{false, true, true, true, false}); err != nil {
		return err
	}
	b.WriteString("\n")
	r.plot(b)
	return nil
}

func sameAnswer(a, b *occupancy.Answer) bool {
	return a.Blocks == b.Blocks && a.WarpsPerBlock == b.WarpsPerBlock && a.Limiting == b.Limiting
}

// axisText is what is varied, as a heading and as the head of a column.
func (r *report) axisText() (name, unit string) {
	words := r.entry.Words(r.config)
	switch r.axis {
	case occupancy.AxisRegs:
		return words.Regs + " per thread", words.Regs
	case occupancy.AxisSmem:
		return words.Smem + " per " + words.Block, words.Smem
	}
	return "threads per " + words.Block, "threads"
}

func (r *report) valueText(v int64) string {
	if r.axis == occupancy.AxisSmem {
		return size(v)
	}
	return strconv.FormatInt(v, 10)
}

// at is the point that the configuration itself stands at or below; -1: above all.
func (r *report) at() int {
	v := r.config.Value(r.axis)
	for i := range r.points {
		if r.points[i].Value >= v {
			return i
		}
	}
	return -1
}

// plot draws the occupancy over the axis with characters. A column stands for one
// value, or for several, of which it shows the first.
func (r *report) plot(b *bytes.Buffer) {
	n := len(r.points)
	repeat := max(1, plotWidth/n)
	columns := min(n, plotWidth)
	index := func(column int) int { return column * n / columns }
	eighths := []rune(" ▁▂▃▄▅▆▇█")
	for line := range plotHeight {
		label := ""
		switch line {
		case 0:
			label = "100 %"
		case plotHeight / 2:
			label = "50 %"
		}
		fmt.Fprintf(b, "%6s |", label)
		var text strings.Builder
		for c := range columns {
			share := r.points[index(c)].Answer.Theoretical()
			// In eighths of a line, above the foot of this one.
			height := int(share*plotHeight*8+0.5) - (plotHeight-1-line)*8
			text.WriteString(strings.Repeat(string(eighths[min(max(height, 0), 8)]), repeat))
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	fmt.Fprintf(b, "%6s +%s\n", "0 %", strings.Repeat("-", columns*repeat))
	first, last := r.valueText(r.points[0].Value), r.valueText(r.points[n-1].Value)
	foot := []rune(first + strings.Repeat(" ", max(1, columns*repeat-len(first)-len(last))) + last)
	fmt.Fprintf(b, "%8s%s\n", "", string(foot))
	if at := r.at(); at >= 0 && r.config.Value(r.axis) > 0 {
		column := 0
		for c := range columns {
			if index(c) <= at {
				column = c
			}
		}
		fmt.Fprintf(b, "%8s%s^ %s\n", "", strings.Repeat(" ", column*repeat), r.valueText(r.config.Value(r.axis)))
	}
}

// The picture, in pixels.
const (
	svgWidth, svgHeight            = 760, 380
	svgLeft, svgRight              = 64, 24
	svgTop, svgBottom              = 64, 56
	svgPlotWidth, svgPlotHeight    = svgWidth - svgLeft - svgRight, svgHeight - svgTop - svgBottom
	svgInk, svgGrid, svgLine, svgM = "#1f2933", "#d9dee3", "#1769aa", "#c2410c"
)

// drawSVG draws the sweep as a step line: a value's occupancy stands for it and what
// lies between the one before and it.
func (r *report) drawSVG(w io.Writer) error {
	var b bytes.Buffer
	n := len(r.points)
	low, high := r.points[0].Value, r.points[n-1].Value
	x := func(v int64) float64 {
		return svgLeft + float64(v-low)/float64(max(high-low, 1))*svgPlotWidth
	}
	y := func(share float64) float64 { return svgTop + (1-share)*svgPlotHeight }
	name, _ := r.axisText()
	title := html.EscapeString(record.Printable(r.deviceText(), false))
	about := html.EscapeString(r.configText(&r.config))
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13" fill="%s" role="img">
<title>Theoretical occupancy by %s: %s</title>
<desc>%s</desc>
<rect width="%d" height="%d" fill="#ffffff"/>
<text x="%d" y="26" font-size="16" font-weight="bold">%s</text>
<text x="%d" y="46">%s</text>
`, svgWidth, svgHeight, svgInk, name, title, about, svgWidth, svgHeight, svgLeft, title, svgLeft, about)
	for _, p := range []int{0, 25, 50, 75, 100} {
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="%s"/><text x="%d" y="%.1f" text-anchor="end">%d %%</text>`+"\n",
			svgLeft, svgWidth-svgRight, y(float64(p)/100), y(float64(p)/100), svgGrid, svgLeft-8, y(float64(p)/100)+4, p)
	}
	for i := range 5 {
		v := r.points[i*(n-1)/4].Value
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(v), svgHeight-svgBottom+20, r.valueText(v))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", svgLeft+svgPlotWidth/2, svgHeight-12, name)
	var path strings.Builder
	fmt.Fprintf(&path, "M%.1f %.1f", x(low), y(r.points[0].Answer.Theoretical()))
	for i := 1; i < n; i++ {
		from, to := r.points[i-1].Answer.Theoretical(), r.points[i].Answer.Theoretical()
		if from != to {
			fmt.Fprintf(&path, "H%.1fV%.1f", x(r.points[i-1].Value), y(to))
		}
	}
	fmt.Fprintf(&path, "H%.1f", x(high))
	fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), svgLine)
	if v, share := r.config.Value(r.axis), r.answer.Theoretical(); v >= low && v <= high {
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="5" fill="%s"/><text x="%.1f" y="%.1f" text-anchor="%s">%s: %s</text>`+"\n",
			x(v), y(share), svgM, x(v)+12*side(x(v)), y(share)-8, anchor(x(v)), r.valueText(v), percent(share))
	}
	b.WriteString("</svg>\n")
	_, err := w.Write(b.Bytes())
	return err
}

// side and anchor keep the mark's text within the picture.
func side(x float64) float64 {
	if x > svgWidth/2 {
		return -1
	}
	return 1
}

func anchor(x float64) string {
	if x > svgWidth/2 {
		return "end"
	}
	return "start"
}
