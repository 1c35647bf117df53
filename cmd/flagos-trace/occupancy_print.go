package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/occupancy"
	"github.com/flagos-ai/flagos-trace/record"
)

// report is what occupancy found out about one configuration.
type report struct {
	entry  *occupancy.Entry
	config occupancy.Config
	answer occupancy.Answer
	steps  []occupancy.Step
	axis   occupancy.Axis // "": no sweep
	points []occupancy.Point
}

func (r *report) print(w io.Writer) error {
	var b bytes.Buffer
	words, a := r.entry.Words(r.config), &r.answer
	fmt.Fprintf(&b, "%s\n%s\n\n", r.deviceText(), r.configText(&r.config))
	if a.Blocks == 0 {
		b.WriteString("cannot be launched:\n")
		for _, text := range a.Breaks {
			fmt.Fprintf(&b, "  %s\n", text)
		}
	} else {
		fmt.Fprintf(&b, "%s per %s: %d of %d %ss, %s occupancy, limited by %s\n",
			number(int(a.Blocks), words.Block), words.SM, a.Blocks*a.WarpsPerBlock, a.MaxWarps, words.Warp, percent(a.Theoretical()), a.Limiting.Names(words))
	}
	switch r.entry.Basis() {
	case occupancy.BasisDocuments:
		b.WriteString("from public documents, not verified on hardware\n")
	case occupancy.BasisRules:
		b.WriteString("by the rules of NVIDIA's calculator, not checked against its results for this capability\n")
	}
	if r.config.Regs == 0 {
		b.WriteString("registers were not given and are not counted\n")
	}
	r.printCluster(&b)
	b.WriteString("\n")
	if err := printColumns(&b, r.limitRows(), []bool{false, true, false, false}); err != nil {
		return err
	}
	r.printSteps(&b)
	if r.axis != "" {
		if err := r.printSweep(&b); err != nil {
			return err
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (r *report) deviceText() string {
	title := record.Printable(r.entry.Title, false)
	if d := r.entry.NVIDIA; d != nil {
		text := fmt.Sprintf("%s (compute capability %d.%d", title, d.ComputeMajor, d.ComputeMinor)
		if d.NumSMs > 0 {
			text += fmt.Sprintf(", %d SMs", d.NumSMs)
		}
		return text + ")"
	}
	text := fmt.Sprintf("%s (%s", title, r.entry.AMD.GFX)
	if n := r.entry.AMD.NumCUs; n > 0 {
		text += fmt.Sprintf(", %d compute units", n)
	}
	return text + ")"
}

func (r *report) configText(c *occupancy.Config) string {
	words := r.entry.Words(*c)
	text := fmt.Sprintf("%s per %s", number(int(c.Block), "thread"), words.Block)
	if c.Regs > 0 {
		text += fmt.Sprintf(", %d %s per thread", c.Regs, words.Regs)
	}
	if c.ScalarRegs > 0 {
		text += fmt.Sprintf(", %d scalar registers per %s", c.ScalarRegs, words.Warp)
	}
	text += fmt.Sprintf(", %s of %s per %s", size(c.Shared()), words.Smem, words.Block)
	if c.Carveout > 0 {
		text += fmt.Sprintf(", a carve-out of %s", size(r.answer.SmemPerSM))
	}
	if c.ClusterBlocks > 1 {
		text += fmt.Sprintf(", clusters of %d blocks", c.ClusterBlocks)
	}
	return text
}

func (r *report) printCluster(b *bytes.Buffer) {
	c, a := &r.config, &r.answer
	if c.ClusterBlocks < 2 || a.Blocks == 0 {
		return
	}
	if a.ClusterBlocks < 0 {
		fmt.Fprintf(b, "clusters of %d: how many fit is not known without --max-active-clusters; the above is an upper bound\n", c.ClusterBlocks)
		return
	}
	fmt.Fprintf(b, "clusters of %d: %d at once are %s blocks per SM on average, %s occupancy\n", c.ClusterBlocks, c.MaxActiveClusters,
		strconv.FormatFloat(a.ClusterBlocks, 'f', 2, 64), percent(a.ClusterBlocks*float64(a.WarpsPerBlock)/float64(a.MaxWarps)))
}

// limitRows is the table of limits.
func (r *report) limitRows() [][]string {
	words, a := r.entry.Words(r.config), &r.answer
	takes := func(l occupancy.Limit) (string, string) {
		switch {
		case l == occupancy.LimitWarps:
			return number(int(a.WarpsPerBlock), words.Warp), strconv.FormatInt(a.MaxWarps, 10)
		case l == occupancy.LimitRegs && r.entry.NVIDIA != nil:
			return strconv.FormatInt(a.AllocatedRegs, 10), strconv.FormatInt(r.entry.NVIDIA.RegsPerSM, 10)
		case l == occupancy.LimitRegs:
			return fmt.Sprintf("%d per thread", a.AllocatedRegs), ""
		case l == occupancy.LimitScalarRegs:
			return fmt.Sprintf("%d per %s", a.AllocatedSGPR, words.Warp), ""
		case l == occupancy.LimitSharedMem && a.ReservedSmem > 0:
			return fmt.Sprintf("%s, %s of it reserved", size(a.AllocatedSmem), size(a.ReservedSmem)), size(a.SmemPerSM)
		case l == occupancy.LimitSharedMem:
			return size(a.AllocatedSmem), size(a.SmemPerSM)
		}
		return "", ""
	}
	rows := [][]string{{"limit", words.Block + "s", "per " + words.Block, "per " + words.SM}}
	for _, l := range allLimits {
		by := a.By(l)
		if by == occupancy.Unlimited {
			continue
		}
		row := []string{l.Names(words), strconv.FormatInt(by, 10), "", ""}
		row[2], row[3] = takes(l)
		if a.Limiting&l != 0 {
			row[0] += " *"
		}
		rows = append(rows, row)
	}
	return rows
}

var allLimits = []occupancy.Limit{occupancy.LimitWarps, occupancy.LimitRegs, occupancy.LimitScalarRegs, occupancy.LimitSharedMem, occupancy.LimitBlocks, occupancy.LimitBarriers}

func (r *report) printSteps(b *bytes.Buffer) {
	a, words := &r.answer, r.entry.Words(r.config)
	b.WriteString("\n")
	switch {
	case a.Blocks > 0 && a.Blocks*a.WarpsPerBlock == a.MaxWarps:
		fmt.Fprintf(b, "the %s is full\n", words.SM)
		return
	case len(r.steps) == 0 && a.Blocks == 0:
		fmt.Fprintf(b, "no single change makes it fit\n")
		return
	case len(r.steps) == 0:
		fmt.Fprintf(b, "no step up: neither fewer registers, less %s nor another size of the %s gives a higher occupancy\n", words.Smem, words.Block)
		return
	}
	if a.Blocks == 0 {
		b.WriteString("it would fit:\n")
	} else {
		b.WriteString("next step up:\n")
	}
	for i := range r.steps {
		s := &r.steps[i]
		fmt.Fprintf(b, "  %s: %s, by %s\n", percent(s.Answer.Theoretical()), number(int(s.Answer.Blocks), words.Block), r.stepText(s))
	}
}

func (r *report) stepText(s *occupancy.Step) string {
	words := r.entry.Words(r.config)
	var parts []string
	if s.Changed&occupancy.LimitWarps != 0 {
		parts = append(parts, fmt.Sprintf("%ss of %d threads", words.Block, s.Config.Block))
	}
	if s.Changed&occupancy.LimitRegs != 0 {
		parts = append(parts, fmt.Sprintf("at most %d %s per thread", s.Config.Regs, words.Regs))
	}
	if s.Changed&occupancy.LimitScalarRegs != 0 {
		parts = append(parts, fmt.Sprintf("at most %d scalar registers per %s", s.Config.ScalarRegs, words.Warp))
	}
	if s.Changed&occupancy.LimitSharedMem != 0 {
		parts = append(parts, fmt.Sprintf("at most %s of %s per %s", size(s.Config.Shared()), words.Smem, words.Block))
	}
	return strings.Join(parts, " and ")
}

// percent writes a share with two decimals at most.
func percent(share float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(share*100, 'f', 2, 64), "0"), ".") + " %"
}

// size writes bytes, in KiB where they are whole.
func size(n int64) string {
	if n > 0 && n%1024 == 0 {
		return fmt.Sprintf("%d KiB", n/1024)
	}
	return fmt.Sprintf("%d bytes", n)
}

// printColumns aligns rows; the first is the head.
func printColumns(w io.Writer, rows [][]string, right []bool) error {
	widths := make([]int, len(right))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b bytes.Buffer
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if right[i] {
				cell = pad + cell
			} else {
				cell += pad
			}
			if i > 0 {
				line.WriteString("  ")
			}
			line.WriteString(cell)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	_, err := w.Write(b.Bytes())
	return err
}
