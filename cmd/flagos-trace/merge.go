package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

const mergeLong = `Read traces - of the ranks of a job, or of any processes - and write one that has
all of them on one axis of time. baseTimeNanoseconds of each is added back. What
stood in a trace stands in the merged one, its arguments byte for byte, but for what
must not meet: pids, correlation ids and ids of arrows are changed where another
trace has the same ones. Labels of processes get the rank before them. The member
flagosMerge says of each trace what was changed, and keeps its distributedInfo and
whatever else differs. Zip archives of traces are taken apart.

Clocks. With --align collectives the times of each rank are moved onto the clock of
the first: an all-reduce, all-gather, reduce-scatter, all-to-all or barrier ends on
all its ranks at once, within microseconds, and no rank ends before the last began.
Offset, drift (where it is more than scatter), and uncertainty of each rank are told,
and stand in flagosMerge and in the completeness record. --align auto, the default,
does so for ranks of a job, leaves ranks of one named host as they are unless the
collectives contradict it, and leaves alone traces that do not communicate. Ranks that
cannot be aligned are refused: too few collectives in common, nothing that ties them to
the first, an offset more uncertain than --max-uncertainty. --force merges them all the
same, with their times as they are, and says so.

Arrows (category collective) go from the rank that began a collective last, for which
the others waited, to each of them, and from a send to its receive. A rank that was
killed is named, with when it died, and marked at its last event.

Exit status:
  0    written
  2    the command line is wrong, or a trace cannot be used
  3    clocks cannot be aligned; nothing was written
  125  the result could not be written`

// exitUnaligned is the status where clocks cannot be aligned.
const exitUnaligned = 3

// rankTrace is a trace on its way into a merged one.
type rankTrace struct {
	part merge.Part
	rank *ranks.Rank
}

func newMerge() *cobra.Command {
	var (
		output, rules, align   string
		force, noArrows, quiet bool
		maxUncertainty         time.Duration
	)
	cmd := &cobra.Command{
		Use:   "merge [flags] trace...",
		Short: "Write one trace of several: ranks on one clock",
		Long:  mergeLong,
		Example: `  flagos-trace merge rank0.json.gz rank1.json.gz -o merged.json.gz
  flagos-trace merge --align none a.json.gz b.json.gz -o both.json.zst`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output == "" {
			return errNoOutput
		}
		defer onInterrupt(cmd)()
		if align != "auto" && align != "collectives" && align != "none" {
			return fmt.Errorf("--align is %q; it is auto, collectives or none", align)
		}
		if maxUncertainty <= 0 {
			return fmt.Errorf("--max-uncertainty is %s; it is more than 0", maxUncertainty)
		}
		o := chrome.ReadOptions{}
		if rules != "" {
			var err error
			if o.Rules, err = chrome.LoadRules(rules); err != nil {
				return &failure{exitUsage, err}
			}
		}
		list, err := readRanks(args, o)
		if err != nil {
			return &failure{exitUsage, err}
		}
		w := cmd.ErrOrStderr()
		if err := alignParts(list, align, force, int64(maxUncertainty)); err != nil {
			if !errors.Is(err, ranks.ErrUnaligned) {
				return fail(err)
			}
			if !force {
				return &failure{exitUnaligned, fmt.Errorf("%w. --force merges them with their times as they are; --align none does not look at clocks", err)}
			}
			fmt.Fprintf(w, "forced: %s\n", record.Printable(err.Error(), false))
		}
		parts := make([]merge.Part, len(list))
		for i := range list {
			parts[i] = list[i].part
			list[i].part.Trace = nil
		}
		merged, err := merge.Traces(parts)
		if err != nil {
			return &failure{exitUsage, err}
		}
		for i := range parts {
			parts[i].Trace = nil
		}
		a, arrows := tie(merged, parts, noArrows)
		stats, err := chrome.WriteFile(orStdout(output), merged, chrome.Options{})
		if err != nil || quiet {
			return fail(err)
		}
		mergeAccount(w, parts, a, arrows, stats, output)
		return nil
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output; compressed if it ends in .gz or .zst")
	f.StringVar(&align, "align", "auto", "`how` clocks are aligned: auto, collectives or none")
	f.BoolVar(&force, "force", false, "merge ranks that cannot be aligned with their times as they are")
	f.DurationVar(&maxUncertainty, "max-uncertainty", time.Duration(ranks.DefaultMaxUncertainty), "refuse a rank whose clock is more uncertain than this `duration`")
	f.BoolVar(&noArrows, "no-arrows", false, "draw no arrows between ranks")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not tell what was done")
	cmd.MarkFlagRequired("output")
	return cmd
}

// readRanks reads all traces of the files, those of ranks in the order of ranks.
func readRanks(files []string, o chrome.ReadOptions) ([]rankTrace, error) {
	var list []rankTrace
	if err := oneStdin(files); err != nil {
		return nil, err
	}
	for _, name := range files {
		err := chrome.ReadEach(name, o, func(d *chrome.Document) error {
			one := rankTrace{part: merge.Part{Trace: d.Trace, Label: merge.DefaultLabel(d.Trace), File: filepath.Base(d.Name)}}
			one.rank = ranks.Collect(d.Trace, filepath.Base(d.Name))[0]
			if merge.IsMerged(d.Trace) {
				one.part.Label = "" // its parts have theirs
			} else if one.part.Label == "" {
				one.part.Label = one.part.File
			}
			list = append(list, one)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(list, func(a, b rankTrace) int {
		if (a.rank.Number < 0) != (b.rank.Number < 0) {
			return cmp.Compare(b.rank.Number, a.rank.Number) // those without a rank last
		}
		return cmp.Compare(a.rank.Number, b.rank.Number)
	})
	seen := map[string]bool{"": true}
	for i := range list {
		p := &list[i].part
		label := p.Label
		for n := 1; p.Label != "" && seen[p.Label]; n++ {
			if p.Label = fmt.Sprintf("%s (%s)", label, p.File); n > 1 {
				p.Label = fmt.Sprintf("%s (%s, %d)", label, p.File, n)
			}
		}
		seen[p.Label] = true
	}
	return list, nil
}

// oneStdin refuses standard input given twice: the second is empty.
func oneStdin(files []string) error {
	at := slices.Index(files, "-")
	if at >= 0 && slices.Contains(files[at+1:], "-") {
		return errors.New("- is given twice: standard input can be read once")
	}
	return nil
}

// alignParts decides how the times of the parts are moved. The error wraps
// ranks.ErrUnaligned where some cannot be aligned; they stay as they are then.
func alignParts(list []rankTrace, how string, force bool, maxUncertainty int64) error {
	if how == "none" || len(list) < 2 {
		return nil
	}
	all := make([]*ranks.Rank, len(list))
	for i := range list {
		all[i] = list[i].rank
	}
	if how == "auto" && !ranks.Distributed(all) {
		return nil
	}
	res, err := ranks.Align(all, ranks.MatchAll(all), ranks.AlignOptions{MaxUncertainty: maxUncertainty, OneHost: how == "auto"})
	for i := range list {
		list[i].part.Clock = &res.Clocks[i]
	}
	return err
}

// tie draws what ties the ranks of a merged trace together, and says what they
// waited for.
func tie(merged *timeline.Trace, parts []merge.Part, noArrows bool) (*ranks.Analysis, int) {
	all := ranks.Collect(merged, "")
	matches := ranks.MatchAll(all)
	var clocks []timeline.Alignment
	if len(all) == len(parts) && parts[0].Clock != nil {
		for i := range parts {
			clocks = append(clocks, *parts[i].Clock)
		}
	}
	arrows := 0
	if !noArrows {
		arrows = ranks.Arrows(merged, all, matches)
	}
	a := ranks.Analyze(all, matches, clocks)
	ranks.MarkEnds(merged, a)
	return a, arrows
}

// mergeAccount tells what was merged.
func mergeAccount(w io.Writer, parts []merge.Part, a *ranks.Analysis, arrows int, stats chrome.Stats, output string) {
	fmt.Fprintf(w, "%s, %s written to %s\n", number(len(parts), "trace"), number(int(stats.Events), "event"), record.Printable(output, false))
	for i := range parts {
		name := parts[i].Label
		if name == "" {
			name = parts[i].File
		}
		if c := parts[i].Clock; c != nil {
			fmt.Fprintf(w, "  %s: %s\n", record.Printable(name, false), record.Printable(clockText(c), false))
		}
	}
	if arrows > 0 {
		fmt.Fprintf(w, "%s between ranks, over %s\n", number(arrows, "arrow"), plural(len(a.Operations), "operation that they have in common", "operations that they have in common"))
	}
	if a.Contradictions > 0 {
		fmt.Fprintf(w, "%s on one rank before another begins, by more than the clocks' uncertainty\n", plural(a.Contradictions, "operation ends", "operations end"))
	}
	for _, text := range a.Ends() {
		fmt.Fprintln(w, record.Printable(text, false))
	}
}

// clockText says how a part's times were moved.
func clockText(c *timeline.Alignment) string {
	uncertain := ""
	if c.UncertaintyNS != nil {
		uncertain = fmt.Sprintf(" ± %s", time.Duration(*c.UncertaintyNS))
	}
	switch c.Method {
	case timeline.AlignReference:
		return "the clock of the others"
	case timeline.AlignNone:
		return "not aligned, times as they are: " + c.Reason
	case timeline.AlignSameHost:
		return "on the same host, times as they are" + uncertain
	}
	drift := ""
	if c.DriftPPM != 0 {
		drift = fmt.Sprintf(", drift %+.3f ppm", c.DriftPPM)
	}
	how := "by the ends of " + number(c.Collectives, "collective")
	if c.Method == timeline.AlignCausality {
		how = "by causes and effects in " + number(c.Collectives, "bound")
	}
	return fmt.Sprintf("moved by %s%s%s, %s", signed(c.OffsetNS), uncertain, drift, how)
}

func signed(ns int64) string {
	if ns >= 0 {
		return "+" + time.Duration(ns).String()
	}
	return time.Duration(ns).String()
}
