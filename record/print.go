package record

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

const (
	defaultWidth = 100
	topOne       = 10 // kernels shown of a single trace
	topMany      = 3  // kernels shown of each of several traces
)

// Print writes the summary for people, fitted into width columns (0: 100).
func (s *Summary) Print(w io.Writer, width int) error {
	if width <= 0 {
		width = defaultWidth
	}
	var b bytes.Buffer
	if len(s.Command) > 0 && (s.ExitCode != nil || s.Signal != "" || s.WallNS > 0) {
		how := "ended"
		switch {
		case s.Signal != "":
			how = "was killed by " + s.Signal
		case s.ExitCode != nil:
			how = fmt.Sprintf("exited with %d", *s.ExitCode)
		}
		fmt.Fprintf(&b, "flagos-trace: %s %s after %s\n", line(filepath.Base(s.Command[0])), how, duration(s.WallNS))
	}
	if s.NotMerged != "" {
		fmt.Fprintf(&b, "flagos-trace: %s\n", line(s.NotMerged))
	}
	if m := s.Merged; m != nil {
		fmt.Fprintf(&b, "flagos-trace: wrote %s (%s), %d processes\n", line(m.File), size(m.Bytes), len(s.Traces))
		if m.InvalidText > 0 {
			printInvalid(&b, m.InvalidText)
		}
	}
	top := topOne
	if len(s.Traces) > 1 {
		top = topMany
	}
	said := map[string]bool{}
	for i := range s.Traces {
		s.Traces[i].print(&b, width, top, s.Merged != nil, said)
	}
	for _, p := range s.Idle {
		fmt.Fprintf(&b, "flagos-trace: process %d %s used no device and has no trace\n", p.PID, line(p.Process))
	}
	for _, p := range s.LeftBehind {
		fmt.Fprintf(&b, "flagos-trace: process %d %s, which the command left behind, still runs: what it does on a device from now on is not recorded\n", p.PID, line(p.Process))
	}
	if s.Stale != "" {
		fmt.Fprintf(&b, "flagos-trace: %s is not of this run: the traces of its processes have names of their own\n", line(s.Stale))
	}
	if s.Cost != nil {
		s.Cost.print(&b)
	}
	_, err := w.Write(b.Bytes())
	return err
}

func (s *TraceSummary) print(b *bytes.Buffer, width, top int, merged bool, said map[string]bool) {
	var what []string
	if !merged {
		what = append(what, fmt.Sprintf("wrote %s (%s)", line(s.File), size(s.Bytes)))
	}
	if s.Rank != nil {
		what = append(what, fmt.Sprintf("rank %d", *s.Rank))
	}
	if s.HelperOf != nil {
		what = append(what, fmt.Sprintf("helper of rank %d", *s.HelperOf))
	}
	if s.Launcher {
		what = append(what, "launcher")
	}
	if s.PID != 0 {
		what = append(what, strings.TrimSpace(fmt.Sprintf("process %d %s", s.PID, line(s.Process))))
	}
	fmt.Fprintf(b, "flagos-trace: %s\n", strings.Join(what, ", "))
	if kinds := eventsByKind(s.Events); kinds != "" {
		fmt.Fprintf(b, "  events: %s\n", kinds)
	} else {
		b.WriteString("  no events\n")
	}
	for _, d := range s.Devices {
		fmt.Fprintf(b, "  device %d", d.Device)
		if d.Name != "" {
			fmt.Fprintf(b, " (%s)", line(d.Name))
		}
		fmt.Fprintf(b, ": busy for %s", duration(d.BusyNS))
		if d.Share != nil {
			fmt.Fprintf(b, ", %s of the %s recorded", percent(*d.Share), duration(s.WindowNS))
		}
		b.WriteString("\n")
	}
	printKernels(b, s.Kernels, width, top)
	if s.InvalidText > 0 {
		printInvalid(b, s.InvalidText)
	}
	if s.Completeness != nil {
		printOperators(b, s.Completeness.Operators)
		printCompleteness(b, s.Completeness, said)
	}
}

func printInvalid(b *bytes.Buffer, n uint64) {
	fmt.Fprintf(b, "  note: %s, replaced by U+FFFD\n", plural(n, "texts with bytes that are not UTF-8"))
}

// eventsByKind lists the counts in the order of the timeline's kinds.
func eventsByKind(events map[string]uint64) string {
	var parts []string
	for k := range timeline.NumKinds {
		if n := events[k.String()]; n > 0 {
			parts = append(parts, grouped(n)+" "+k.String())
		}
	}
	return strings.Join(parts, ", ")
}

const kernelRow = "  %-*s %9s %11s %11s %7s\n"

func printKernels(b *bytes.Buffer, kernels []KernelTotal, width, top int) {
	if len(kernels) == 0 {
		return
	}
	// The other columns with their spaces take 45.
	longest := len("kernel")
	shown := kernels[:min(top, len(kernels))]
	for _, k := range shown {
		longest = max(longest, utf8.RuneCountInString(strings.TrimPrefix(line(k.Name), "void ")))
	}
	columns := min(longest, max(width-45, 20))
	fmt.Fprintf(b, kernelRow, columns, "kernel", "calls", "total", "mean", "share")
	for _, k := range shown {
		fmt.Fprintf(b, kernelRow, columns, shorten(line(k.Name), columns), grouped(k.Calls), duration(k.TotalNS), duration(k.MeanNS), percent(k.Share))
	}
	if rest := kernels[len(shown):]; len(rest) > 0 {
		var sum KernelTotal
		for _, k := range rest {
			sum.Calls += k.Calls
			sum.TotalNS += k.TotalNS
			sum.Share += k.Share
		}
		fmt.Fprintf(b, kernelRow, columns, shorten(fmt.Sprintf("(%d more)", len(rest)), columns),
			grouped(sum.Calls), duration(sum.TotalNS), duration(sum.TotalNS/int64(sum.Calls)), percent(sum.Share))
	}
}

// delivered says of what nothing is missing, where that is not everything: libraries
// other than NVIDIA's have gaps, which the verdict does not count.
func delivered(c *timeline.Completeness) string {
	if v, known := tracer.VendorOf(c.Tracer); known && !v.Injects {
		return " that the vendor's library delivers"
	}
	return ""
}

func printCompleteness(b *bytes.Buffer, c *timeline.Completeness, said map[string]bool) {
	a := explain(c)
	switch {
	case c.Verdict == timeline.Incomplete:
		b.WriteString("  INCOMPLETE. Known to be missing:\n")
	case c.Verdict == timeline.Complete && operatorsMissing(c.Operators):
		fmt.Fprintf(b, "  complete but for operators: nothing else%s is known to be missing\n", delivered(c))
	case c.Verdict == timeline.Complete:
		fmt.Fprintf(b, "  complete: nothing%s is known to be missing\n", delivered(c))
	default:
		b.WriteString("  unknown whether it is complete:\n")
	}
	for _, text := range slices.Concat(a.Lost, a.Maybe) {
		fmt.Fprintf(b, "  - %s\n", line(text))
	}
	for _, text := range a.Notes {
		fmt.Fprintf(b, "  note: %s\n", line(text))
	}
	for _, d := range c.Diagnoses {
		if !said[d] {
			said[d] = true
			fmt.Fprintf(b, "  note: %s\n", line(d))
		}
	}
}
