package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/cut"
	"github.com/flagos-ai/flagos-trace/summary"
)

const summaryLong = `Read traces of any producer and say on one page what they hold: how complete they are,
how busy the devices were and with what, what they waited for, and the operators,
kernels, steps, copies, collectives and gaps that took most. --by prints other tables,
or more of them; --top says how many rows.

Device time of a row is that of its kernels, copies and fills. Each of these is in one
row of a table, so that rows add up to the device time of the whole, to the nanosecond;
of each device every nanosecond is busy with something or idle for a reason. The last
line says whether the sums are right. What a trace does not hold is left out and named:
a zero was measured.

What a device waited for: until the API call that started its next work began, for the
host; from there on, in launch. If that call had begun before, for another stream, if
the work before ran there and its own stream was free; else its work was queued behind
other work. Launch-bound is the share of the time from the first work to the last that
went to the host and to launches.

--op and --kernel narrow the tables to the device work of some operators or kernels;
how busy devices were is of all work. --from, --to, --steps and --rank cut the traces
first, as flagos-trace cut does.

Several traces are added up, and those of the ranks of one job compared: what they
waited for each other, and who was slowest. Each trace is read once and let go of, as
many at a time as there are processors.

With --json the output is one object with all tables; --schema prints its JSON Schema.
With --csv it is one table, times in ns.

Exit status:
  0    printed
  2    the command line is wrong, or a trace cannot be used
  125  the results could not be written`

// summaryFlags are the flags of summary.
type summaryFlags struct {
	o                                        summary.Options
	op, kernel, steps, rules, group, sort    string
	by                                       []string
	top                                      int
	json, csv, schema, wide, fullNames, full bool
}

func newSummary() *cobra.Command {
	var s summaryFlags
	cmd := &cobra.Command{
		Use:   "summary [flags] trace...",
		Short: "Say what traces hold: operators, kernels, busy and idle time",
		Long:  summaryLong,
		Example: `  flagos-trace summary trace.json.gz
  flagos-trace summary --by operators,kernels --top 50 --wide trace.json.gz
  flagos-trace summary --op 'aten::(mm|addmm)' --group-by shape trace.json.gz
  flagos-trace summary --json rank*.json.gz > summary.json
  flagos-trace summary --csv --by kernels --sort count trace.json.gz`,
		Args: func(cmd *cobra.Command, args []string) error {
			if s.schema && len(args) > 0 {
				return errors.New("--schema takes no trace: it prints what --json looks like, and ends")
			}
			if s.schema {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&s.by, "by", nil, "print these `tables`: "+strings.Join(summary.TableNames, ", ")+", all")
	f.IntVar(&s.top, "top", 0, "print at most this `many` rows of a table; 0 is all (default 10, or 8 and fewer on the first page)")
	f.StringVar(&s.sort, "sort", "", "order rows by this `column`, by its name in CSV: device_ns, cpu_self_ns, count, ...")
	f.StringVar(&s.group, "group-by", "", "shape: a row for each shape of an operator's inputs, where the trace has them")
	f.StringVar(&s.op, "op", "", "only operators that match this regular `expression`, and what is inside them")
	f.StringVar(&s.kernel, "kernel", "", "only kernels, copies and fills that match this regular `expression`")
	f.StringVar(&s.o.From, "from", "", "`time` where the part of each trace begins: 1.5ms, -10ms (before the end), ts:5098236.833, a time of day")
	f.StringVar(&s.o.To, "to", "", "`time` where the part ends; +10ms is behind --from")
	f.StringVar(&s.steps, "steps", "", "step or `range` of steps: 5, 3:6, 3:, :6")
	f.Int64SliceVar(&s.o.Ranks, "rank", nil, "only these `ranks`")
	f.IntVar(&s.o.Gaps, "gaps", 20, "keep this `many` of the longest gaps")
	f.BoolVar(&s.wide, "wide", false, "print all columns")
	f.BoolVar(&s.fullNames, "full-names", false, "print long names whole")
	f.BoolVar(&s.json, "json", false, "print JSON")
	f.BoolVar(&s.csv, "csv", false, "print one table as CSV; operators, or that of --by")
	f.BoolVar(&s.schema, "schema", false, "print the JSON Schema of --json and end")
	f.StringVar(&s.rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	cmd.MarkFlagsMutuallyExclusive("json", "csv")
	return cmd
}

func (s *summaryFlags) run(cmd *cobra.Command, args []string) error {
	w := cmd.OutOrStdout()
	if s.schema {
		_, err := w.Write(summary.JSONSchema)
		return fail(err)
	}
	if err := s.check(); err != nil {
		return err
	}
	s.full = cmd.Flags().Changed("top")
	warnTwice(cmd.ErrOrStderr(), args)
	sum, err := summary.Files(args, s.o)
	if err != nil {
		return &failure{exitUsage, err}
	}
	if s.sort != "" && !s.json {
		for _, t := range sum.Tables() {
			if len(s.by) == 0 || slices.Contains(s.by, t.Name) {
				if t.Sort(s.sort) {
					break
				}
			}
			if t.Name == summary.TableNames[len(summary.TableNames)-1] {
				return fmt.Errorf("--sort is %q; the table has no such column: see the first line of --csv", s.sort)
			}
		}
	}
	switch {
	case s.json:
		return fail(sum.WriteJSON(w))
	case s.csv:
		t := sum.Table(s.by[0])
		if s.sort != "" {
			t.Sort(s.sort)
		}
		if s.top > 0 {
			t.Rows = t.Rows[:min(len(t.Rows), s.top)]
		}
		return fail(t.WriteCSV(w))
	}
	p := summaryPage{tablePrinter: tablePrinter{w: w}, f: s, s: sum}
	p.page()
	return fail(p.err)
}

// check reads the flags that are texts.
func (s *summaryFlags) check() error {
	var err error
	for _, v := range []struct {
		flag, text string
		to         **regexp.Regexp
	}{{"op", s.op, &s.o.Operator}, {"kernel", s.kernel, &s.o.Kernel}} {
		if v.text == "" {
			continue
		}
		if *v.to, err = regexp.Compile(v.text); err != nil {
			return fmt.Errorf("--%s: %w", v.flag, err)
		}
	}
	if s.steps != "" {
		if s.o.Steps, err = cut.ParseSteps(s.steps); err != nil {
			return fmt.Errorf("--steps: %w", err)
		}
	}
	if s.rules != "" {
		if s.o.Rules, err = chrome.LoadRules(s.rules); err != nil {
			return &failure{exitUsage, err}
		}
	}
	switch s.group {
	case "":
	case "shape":
		s.o.ByShape = true
	default:
		return fmt.Errorf("--group-by is %q; it is shape", s.group)
	}
	if s.top < 0 {
		return fmt.Errorf("--top is %d; it is at least 0", s.top)
	}
	if s.o.Gaps < 1 {
		return fmt.Errorf("--gaps is %d; it is at least 1", s.o.Gaps)
	}
	if slices.Contains(s.by, "all") {
		s.by = summary.TableNames
	}
	for _, name := range s.by {
		if !slices.Contains(summary.TableNames, name) {
			return fmt.Errorf("--by names %q; there are %s, and all", name, strings.Join(summary.TableNames, ", "))
		}
	}
	if s.csv {
		if len(s.by) > 1 {
			return fmt.Errorf("--csv prints one table; --by names %d", len(s.by))
		}
		if len(s.by) == 0 {
			s.by = []string{"operators"}
		}
	}
	return nil
}
