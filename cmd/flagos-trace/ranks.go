package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

const ranksLong = `Read the traces of the ranks of a job, or a merged one, and say what they waited for:
of each collective how long it waited until the last rank had begun and how long it
transferred from there on; which rank was the slowest in each step (ProfilerStep#N),
by its own time, which is that of the step without its waits; how much communication
was exposed, that is no kernel that computes ran beside it; and how uneven the
computing is. Collectives are matched by their group, their order in it, their kind
and size, as the arguments of the kernels have them; kernels without a group count
as communication only.

Each trace is read once and reduced to what its rank communicated, as many at a time
as there are processors; memory is that of so many traces, and some bytes a
collective of each rank.

Clocks are aligned as merge --align auto does it: see flagos-trace merge --help.
Without a common clock nothing can be said about waits; --force says it all the same,
with times as they are. Where a rank died, has nothing where others go on, or has a
second trace, which then takes no part, that is said.

With --json the output is one object with all ranks, steps, kinds and collectives.

Exit status:
  0    printed
  2    the command line is wrong, or a trace cannot be used
  3    clocks cannot be aligned
  125  the results could not be written`

func newRanks() *cobra.Command {
	var (
		rules                 string
		asJSON, force, noMove bool
		top                   int
		maxUncertainty        time.Duration
	)
	cmd := &cobra.Command{
		Use:   "ranks [flags] trace...",
		Short: "Say what ranks waited for: collectives, steps, imbalance",
		Long:  ranksLong,
		Example: `  flagos-trace ranks rank*.json.gz
  flagos-trace ranks --json merged.json.gz > ranks.json`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if top < 0 {
			return fmt.Errorf("--top is %d; it is at least 0", top)
		}
		if maxUncertainty <= 0 {
			return fmt.Errorf("--max-uncertainty is %s; it is more than 0", maxUncertainty)
		}
		o := chrome.ReadOptions{Workers: 1}
		if rules != "" {
			var err error
			if o.Rules, err = chrome.LoadRules(rules); err != nil {
				return &failure{exitUsage, err}
			}
		}
		if err := oneStdin(args); err != nil {
			return err
		}
		all, err := collectRanks(args, o)
		if err != nil {
			return &failure{exitUsage, err}
		}
		matches := ranks.MatchAll(all)
		var clocks []timeline.Alignment
		if !noMove && len(all) > 1 {
			res, err := ranks.Align(all, matches, ranks.AlignOptions{MaxUncertainty: int64(maxUncertainty), OneHost: true})
			switch {
			case errors.Is(err, ranks.ErrUnaligned) && force:
				fmt.Fprintf(cmd.ErrOrStderr(), "forced: %s\n", record.Printable(err.Error(), false))
			case errors.Is(err, ranks.ErrUnaligned):
				return &failure{exitUnaligned, fmt.Errorf("%w. --force takes their times as they are", err)}
			case err != nil:
				return fail(err)
			}
			clocks = res.Clocks
			for i, r := range all {
				r.Apply(&clocks[i])
			}
		}
		a := ranks.Analyze(all, matches, clocks)
		if asJSON {
			e := json.NewEncoder(cmd.OutOrStdout())
			e.SetIndent("", "  ")
			return fail(e.Encode(a))
		}
		return fail(printRanks(cmd.OutOrStdout(), a, top))
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.IntVar(&top, "top", 20, "print at most this `many` ranks, steps and kinds of collectives; 0 is all")
	f.BoolVar(&force, "force", false, "take the times of ranks that cannot be aligned as they are")
	f.BoolVar(&noMove, "as-is", false, "do not align clocks: take all times as they are")
	f.DurationVar(&maxUncertainty, "max-uncertainty", time.Duration(ranks.DefaultMaxUncertainty), "refuse a rank whose clock is more uncertain than this `duration`")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	return cmd
}

// collectRanks reduces the traces of the files to their ranks, some files at a time,
// and returns those in the order of ranks.
func collectRanks(files []string, o chrome.ReadOptions) ([]*ranks.Rank, error) {
	found := make([][]*ranks.Rank, len(files))
	errs := make([]error, len(files))
	next := make(chan int)
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		group.Go(func() {
			for i := range next {
				errs[i] = chrome.ReadEach(files[i], o, func(d *chrome.Document) error {
					found[i] = append(found[i], ranks.Collect(d.Trace, filepath.Base(d.Name))...)
					return nil
				})
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(found...)
	ranks.Sort(all)
	return all, nil
}

// printRanks prints the tables.
func printRanks(w io.Writer, a *ranks.Analysis, top int) error {
	p := tablePrinter{w: w, top: top}
	rows := [][]string{{"rank", "computes", "communicates", "exposed", "waits", "transfers", "operations", "last", "clock"}}
	for i := range a.Ranks {
		r := &a.Ranks[i]
		clock := "as it is"
		if r.Clock != nil {
			clock = clockText(r.Clock)
		}
		rows = append(rows, []string{
			r.Name, span(r.Compute), span(r.Communicate), span(r.Exposed), span(r.Wait), span(r.Transfer),
			fmt.Sprintf("%d of %d", r.Matched, r.Operations), fmt.Sprint(r.Last), clock,
		})
	}
	p.table("Ranks. exposed: communication beside which nothing computes; last: operations that it was the last to begin; operations: those that another rank has too.", rows)
	rows = [][]string{{"operation", "type", "elements", "ranks", "count", "waits", "longest wait", "transfers", "most often last"}}
	for i := range a.Kinds {
		k := &a.Kinds[i]
		elements := ""
		if k.In != nil {
			elements = fmt.Sprint(*k.In)
		}
		rows = append(rows, []string{
			k.Name, k.Dtype, elements, fmt.Sprint(k.Size), fmt.Sprint(k.Count), span(k.Wait), span(k.MaxWait), span(k.Transfer),
			k.Last + ", " + plural(k.LastCount, "time", "times"),
		})
	}
	p.table("Operations by kind; waits and transfers are of all ranks together.", rows)
	rows = [][]string{{"step", "ranks", "longest", "slowest rank", "its own time", "mean of all", "waits of all"}}
	for _, s := range a.Steps {
		rows = append(rows, []string{
			fmt.Sprint(s.Number), fmt.Sprint(s.Ranks), span(s.Duration), s.Slowest, span(s.Own), span(s.MeanOwn), span(s.Wait),
		})
	}
	p.table("Steps. own time: the step without waits for others.", rows)
	if a.Imbalance != nil {
		p.line("Imbalance: %s computes most, %.1f %% more than the mean.", a.Busiest, *a.Imbalance*100)
	}
	if len(a.Operations) == 0 {
		p.line("No rank has a collective that another has: nothing can be said about waits.")
	}
	if a.Contradictions > 0 {
		p.line("%s on one rank before another begins, by more than the clocks' uncertainty.", plural(a.Contradictions, "operation ends", "operations end"))
	}
	for _, text := range append(a.Seconds(), a.Ends()...) {
		p.line("%s.", text)
	}
	return p.err
}

// span is a duration for people.
func span(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3f ms", float64(ns)/1e6)
	}
	return fmt.Sprintf("%.3f us", float64(ns)/1e3)
}
