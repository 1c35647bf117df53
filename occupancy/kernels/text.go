package kernels

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// WriteText writes the report as a table for people. Errors are w's.
func (r *Report) WriteText(w io.Writer, v View) error {
	var b bytes.Buffer
	r.head(&b, &v)
	shown := r.shown(&v)
	figures := slices.IndexFunc(shown, func(c Configuration) bool { return c.Figures == nil })
	if figures < 0 {
		figures = len(shown)
	}
	r.table(&b, shown[:figures], v.FullNames)
	r.unknown(&b, shown[figures:], v.FullNames)
	if more := len(r.Configurations) - len(shown); more > 0 {
		fmt.Fprintf(&b, "\nand %s\n", count(uint64(more), "more configuration"))
	}
	r.notes(&b, shown[:figures])
	_, err := w.Write(b.Bytes())
	return err
}

func (r *Report) head(b *bytes.Buffer, v *View) {
	if v.Trace != "" {
		fmt.Fprintf(b, "%s: ", printable(v.Trace))
	}
	fmt.Fprintf(b, "%s in %s, %s ms\n", count(r.Kernels.Calls, "kernel"), count(uint64(r.Distinct), "configuration"), millis(r.Kernels.Time))
	if r.Verdict != "" && r.Verdict != "complete" {
		fmt.Fprintf(b, "the trace calls itself %s: kernels may be missing\n", printable(r.Verdict))
	}
	for _, d := range r.Devices {
		if d.Given {
			fmt.Fprintf(b, "device given: %s", printable(d.Name))
		} else {
			fmt.Fprintf(b, "device %d: %s", d.ID, printable(d.Name))
		}
		if d.Fault != "" {
			fmt.Fprintf(b, ": not calculable: %s\n", printable(d.Fault))
			continue
		}
		fmt.Fprintf(b, " (compute capability %d.%d, %d SMs)\n", d.Properties.ComputeMajor, d.Properties.ComputeMinor, d.Properties.NumSMs)
	}
	if r.Calculable.Calls > 0 {
		fmt.Fprintf(b, "time lost: %s ms%s, an estimate: time x (1 - share of the warp places taken, by launch configuration)\n",
			millis(r.Lost), of(r.Lost, r.Calculable.Time))
	}
}

func (r *Report) table(b *bytes.Buffer, list []Configuration, full bool) {
	if len(list) == 0 {
		return
	}
	b.WriteByte('\n')
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	// Only with several devices does a column say which.
	several := slices.ContainsFunc(list, func(c Configuration) bool { return c.dev != list[0].dev || c.Device != list[0].Device })
	if several {
		fmt.Fprint(t, "device\t")
	}
	fmt.Fprint(t, "lost ms\ttime ms\ttime %\tcalls\ttheor. %\test. %\ttrace %\twaves\ttail %\tregs\tshared\tblock\tgrid\tlimit\t  kernel\n")
	for i := range list {
		c, f := &list[i], list[i].Figures
		tail := fmt.Sprintf("%.1f", 100*f.Tail)
		if f.GridTooSmall {
			tail = "small grid"
		}
		theoretical := fmt.Sprintf("%.1f", 100*f.Theoretical())
		if f.ClusterIgnored {
			theoretical = "<=" + theoretical
		}
		if several {
			fmt.Fprintf(t, "%s\t", cmp.Or(optional(known(c, FactDevice, c.Device)), "?"))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%.1f\t%s\t%s\t%s\t%d\t%d\t%s\t%s\t%s\t  %s\n",
			millis(f.Lost), millis(c.Time), percentOf(c.Time, r.Kernels.Time), c.Calls,
			theoretical, 100*f.Achieved, cmp.Or(printable(c.Stated.Percent), "-"), waves(f.Waves), tail,
			c.Registers, c.SharedMem, short(c.Block), short(c.Grid), f.Limiting, label(c.Name, full))
	}
	t.Flush()
}

// unknown lists what has no figures, by reason.
func (r *Report) unknown(b *bytes.Buffer, list []Configuration, full bool) {
	byReason := map[string][]*Configuration{}
	for i := range list {
		byReason[list[i].Reason] = append(byReason[list[i].Reason], &list[i])
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		fmt.Fprintf(b, "\nnot calculable: %s\n", printable(reason))
		t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(t, "time ms\ttime %\tcalls\tregs\tshared\tblock\tgrid\tdevice\tnote\t  kernel\n")
		for _, c := range byReason[reason] {
			note := "-"
			if c.BelowSMs {
				units := "SMs"
				if c.foreign {
					units = "compute units"
				}
				note = fmt.Sprintf("fewer blocks than the %d %s", c.dev.Properties.NumSMs, units)
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t  %s\n",
				millis(c.Time), percentOf(c.Time, r.Kernels.Time), c.Calls,
				cmp.Or(optional(known(c, FactRegisters, int64(c.Registers))), "?"), cmp.Or(optional(known(c, FactSharedMem, int64(c.SharedMem))), "?"),
				orUnknown(c, FactBlock, c.Block), orUnknown(c, FactGrid, c.Grid),
				cmp.Or(optional(known(c, FactDevice, c.Device)), "?"), note, label(c.Name, full))
		}
		t.Flush()
	}
}

// notes says how the trace's own figures compare and what was not counted.
func (r *Report) notes(b *bytes.Buffer, shown []Configuration) {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	a := &r.Agreement
	if both := a[AgreesBoth]; both > 0 {
		add("%s: the trace's own figures are these", count(uint64(both), "configuration"))
	}
	if n := a[AgreesKineto]; n > 0 {
		add("%s: the trace's own figures are Kineto's, which has 0 %% above the default limit of shared memory (48 KiB)", count(uint64(n), "configuration"))
	}
	if n := a[AgreesCorrect]; n > 0 {
		add("%s: the trace's own figures are these, and not Kineto's", count(uint64(n), "configuration"))
	}
	if n := a[Disagrees]; n > 0 {
		add("%s: the trace's own figures follow from neither arithmetic", count(uint64(n), "configuration"))
	}
	if slices.ContainsFunc(shown, func(c Configuration) bool { return c.clusterUnknown() }) {
		add("the trace does not say which kernels are launched in clusters of blocks: those may hold fewer blocks than this")
	}
	if r.Untimed > 0 {
		add("%s without a length, counted as 0", count(r.Untimed, "kernel"))
	}
	if r.OtherPhases > 0 {
		add("%s not counted: not of phase X", count(r.OtherPhases, "kernel event"))
	}
	if r.Beyond.Calls > 0 {
		add("%s (%s ms) in no configuration: there are more than %d, or names are too long", count(r.Beyond.Calls, "kernel"), millis(r.Beyond.Time), maxConfigurations)
	}
	if r.BadDevices > 0 {
		add("%s of deviceProperties without an id", count(uint64(r.BadDevices), "element"))
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(lines, "\n"))
	}
}

func count(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// millis prints ns as milliseconds with three decimals, rounded.
func millis(ns int64) string {
	us := ns / 1000
	if ns%1000 >= 500 {
		us++
	}
	return fmt.Sprintf("%d.%03d", us/1000, us%1000)
}

func percentOf(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

func of(part, whole int64) string {
	if whole <= 0 {
		return ""
	}
	return fmt.Sprintf(" of %s ms (%s %%)", millis(whole), percentOf(part, whole))
}

func waves(w float64) string {
	if w >= 1e6 {
		return strconv.FormatFloat(w, 'e', 2, 64)
	}
	return strconv.FormatFloat(w, 'f', 2, 64)
}

// short leaves trailing dimensions of 1 out.
func short(d [3]int32) string {
	switch {
	case d[1] == 1 && d[2] == 1:
		return strconv.Itoa(int(d[0]))
	case d[2] == 1:
		return fmt.Sprintf("%dx%d", d[0], d[1])
	}
	return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2])
}

func orUnknown(c *Configuration, f Facts, d [3]int32) string {
	if c.Known&f == 0 {
		return "?"
	}
	return short(d)
}

// maxLabel is how much of a kernel's name stands in a table, in characters.
const maxLabel = 80

// label is a kernel's name for a table: its middle is left out where it is long,
// for both ends tell kernels apart.
func label(name string, full bool) string {
	name = printable(name)
	if name == "" {
		return "(no name)"
	}
	n := utf8.RuneCountInString(name)
	if full || n <= maxLabel {
		return name
	}
	r := []rune(name)
	const head = maxLabel * 2 / 3
	return string(r[:head]) + "..." + string(r[n-(maxLabel-head-3):])
}

// printable makes text from a trace harmless in a terminal and a table.
func printable(s string) string { return plain.Text(s, false) }
