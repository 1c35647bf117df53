package main

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	htmlpage "github.com/flagos-ai/flagos-trace/report"
)

const reportLong = `Write one HTML page about traces that opens in any browser, without a network:

  overview      what was recorded, how busy devices were, and with what
  time line     streams, steps and host threads, to zoom into
  flame graph   device time and CPU time by operators and kernels
  tables        those of flagos-trace summary, to sort, filter and copy
  over time     busy and idle, overlap, occupancy, memory where it was recorded
  ranks         what ranks waited for
  findings      those of flagos-trace validate, and the completeness record

Its sums are those of flagos-trace summary, to the nanosecond. The page is a few
megabytes at most: time lines of large traces are drawn coarser, tables have their
first 2000 rows, and the page says so where it is so.

With --diff there are two sides: the traces, and those that they are held against.
The page then shows both, and what became slower, as flagos-trace diff --perf says it;
its verdict is shown, not made an exit status.

Several traces, merged ones and zip archives of traces are the ranks of one job.
Names in a trace cannot become a part of the page: it shows them as text.

Exit status:
  0      written
  2      the command line is wrong, or a trace cannot be used
  125    the output could not be written
  128+n  signal n ended it; nothing of the output is there`

func newReport() *cobra.Command {
	var o htmlpage.Options
	var output, rules string
	cmd := &cobra.Command{
		Use:   "report [flags] trace...",
		Short: "Write an HTML page about traces: time line, flame graph, tables, charts",
		Long:  reportLong,
		Example: `  flagos-trace report trace.json.gz -o report.html
  flagos-trace report rank*.json.gz -o job.html
  flagos-trace report trace.json.gz --diff base.json.gz -o change.html`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := notInput(output, append(slices.Clone(args), o.Base...)...); err != nil {
				return err
			}
			warnTwice(cmd.ErrOrStderr(), args)
			defer onInterrupt(cmd)()
			if rules != "" {
				var err error
				if o.Rules, err = chrome.LoadRules(rules); err != nil {
					return &failure{exitUsage, err}
				}
			}
			defer collectSeldom()()
			r, err := htmlpage.Files(args, o)
			if err != nil {
				return &failure{exitUsage, err}
			}
			return fail(writeOutput(output, func(w io.Writer) error { return r.WriteHTML(w) }))
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output")
	f.StringArrayVar(&o.Base, "diff", nil, "a `trace` to hold the others against; may be given several times, once a rank or run")
	f.StringVar(&o.Title, "title", "", "`text` at the top of the page; else the files' names")
	f.BoolVar(&o.ByShape, "shapes", false, "a row for every shape of an operator's inputs")
	f.BoolVar(&o.NoFindings, "no-validate", false, "leave out what validate finds: it reads each trace once more")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	cmd.MarkFlagRequired("output")
	return cmd
}
