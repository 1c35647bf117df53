package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/repair"
)

const repairLong = `Mend what is wrong with a trace of any producer and change nothing else. What was
repaired is told on standard error, and counted in the trace's completeness record
(the member flagosTrace, "repaired"). A second repair changes nothing. A trace that
needs none is copied as it is.

The repairs; --only and --skip choose among all but the first:
  text       the JSON is strict: files that were cut off are closed, quotes, control
             characters and bytes that are not UTF-8 mended, events that cannot be read
             left out, times written as strings made numbers, names given twice kept
             once
  times      times since the Unix epoch become relative to baseTimeNanoseconds, as
             newer versions of torch have them: viewers keep their digits then
  names      mangled names of kernels become C++ names; CUDA calls named INVALID get the
             name of their cbid
  clock      a device whose work begins before the calls that launched it is shifted,
             annotations included, by the smallest offset after which it does not; single
             events that disagree with the others of their device do not count
  durations  a span that runs into the next, or out of the span around it, by no more
             than times are rounded (1 us where they are whole microseconds) is cut;
             --cut sets another limit
  overlaps   spans that overlap by more without nesting go to sub-rows, which viewers
             would drop: "stream 7 (2)". Waits drawn over work get a row "(sync)"; of an
             operator and the Python function that opened it, the function goes
  flows      arrows with one end are joined to the other where the correlation id tells
             it for certain, or removed. Arrows of Kineto that begin or end at API calls
             without device work are normal and stay without --host-flows

What is missing stays missing, and what has no certain repair is left and told.

With --dry-run nothing is written. With --json the account is printed on standard
output: counts of what was repaired and what remains, and the shifts with the pairs
of calls and work that they were fitted to.

The output is compressed by its ending, .gz or .zst; it may be the input. The trace is
an object or a bare list of events, plain or compressed; - is standard input. Of a zip
archive name one trace with --member.

Exit status:
  0    repaired, or nothing to repair
  1    repaired and written, and something remains that could not be repaired
  2    the command line is wrong, or the input is no trace or cannot be read
  125  the output could not be written`

type repairFlags struct {
	o              repair.Options
	output, member string
	rules          string
	cut            float64
	asJSON, dry    bool
}

func newRepair() *cobra.Command {
	var f repairFlags
	cmd := &cobra.Command{
		Use:   "repair [flags] trace",
		Short: "Mend what is wrong with a trace of any producer",
		Long:  repairLong,
		Example: `  flagos-trace repair trace.json.gz -o repaired.json.gz
  flagos-trace repair --dry-run trace.json
  flagos-trace repair --only overlaps,clock trace.json -o trace.json
  flagos-trace repair --json - -o out.json.zst < broken.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	fl := cmd.Flags()
	fl.StringVarP(&f.output, "output", "o", "", "`file` to write, - for standard output; compressed if it ends in .gz or .zst")
	fl.StringSliceVar(&f.o.Only, "only", nil, "make only these `repairs`")
	fl.StringSliceVar(&f.o.Skip, "skip", nil, "leave out these `repairs`")
	fl.BoolVar(&f.o.HostFlows, "host-flows", false, "remove also the arrows of API calls that launch nothing")
	fl.Float64Var(&f.cut, "cut", 0, "largest overrun that is cut off, in `us`; 0: what rounding explains")
	fl.BoolVar(&f.dry, "dry-run", false, "tell what would be repaired and write nothing")
	fl.BoolVar(&f.asJSON, "json", false, "print the account as JSON on standard output")
	fl.StringVar(&f.member, "member", "", "`name` of the trace in a zip archive")
	fl.StringVar(&f.rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	cmd.MarkFlagsOneRequired("output", "dry-run")
	cmd.MarkFlagsMutuallyExclusive("output", "dry-run")
	return cmd
}

func (f *repairFlags) run(cmd *cobra.Command, path string) error {
	if !f.dry && f.output == "" {
		return errNoOutput
	}
	defer onInterrupt(cmd)()
	if f.asJSON && f.output == "-" {
		return errors.New("--json and the trace cannot both go to standard output")
	}
	if !(f.cut >= 0 && f.cut <= 1e9) { // NaN is neither
		return fmt.Errorf("--cut is %g us; it is at least 0", f.cut)
	}
	f.o.Cut, f.o.By = int64(f.cut*1000), version.Full()
	doc, err := readOne(path, f.member, f.rules)
	if err != nil {
		return &failure{exitUsage, err}
	}
	if f.rules != "" {
		if f.o.Rules, err = chrome.LoadRules(f.rules); err != nil {
			return &failure{exitUsage, err}
		}
	}
	events := doc.Trace.Events.Len()
	report, err := repair.Document(doc, f.o)
	switch {
	case errors.Is(err, repair.ErrOptions):
		return err
	case err != nil:
		return fail(err)
	}
	if !f.dry {
		if err := f.write(path, doc, report); err != nil {
			return fail(err)
		}
	}
	if f.asJSON {
		e := json.NewEncoder(cmd.OutOrStdout())
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			File string `json:"file"`
			*repair.Report
		}{doc.Name, report})
	} else {
		err = f.print(cmd.ErrOrStderr(), doc, events, report)
	}
	if err != nil {
		return fail(err)
	}
	if len(report.Remaining) > 0 {
		return &failure{status: exitFinding}
	}
	return nil
}

// write writes the trace; one that needed no repair is copied where its text is at
// hand.
func (f *repairFlags) write(path string, doc *chrome.Document, report *repair.Report) error {
	to := orStdout(f.output)
	if !report.Changed() && doc.Name == path && path != "-" {
		if copied, err := copyTrace(to, path); copied || err != nil {
			return err
		}
	}
	_, err := chrome.WriteFile(to, doc.Trace, chrome.Options{})
	return err
}

func (f *repairFlags) print(w io.Writer, doc *chrome.Document, events int, report *repair.Report) error {
	var b strings.Builder
	name := record.Printable(doc.Name, false)
	where := "written to " + record.Printable(f.output, false)
	if f.dry {
		where = "nothing written"
	}
	if report.Changed() {
		fmt.Fprintf(&b, "%s: by %s, %s; %s\n", name, doc.Producer, number(events, "event"), where)
	} else {
		fmt.Fprintf(&b, "%s: by %s, %s; nothing to repair; %s\n", name, doc.Producer, number(events, "event"), where)
	}
	for _, k := range slices.Sorted(maps.Keys(report.Repaired)) {
		fmt.Fprintf(&b, "%9d  %s [%s]\n", report.Repaired[k], repair.Words(k), k)
	}
	for _, s := range report.Shifts {
		if s.NS != 0 {
			fmt.Fprintf(&b, "device %s shifted by %d ns: %d of %s of calls and work were in the wrong order, now %d\n",
				record.Printable(s.Device, false), s.NS, s.Before, number(s.Pairs, "pair"), s.Left)
		}
	}
	if len(report.Remaining) > 0 {
		fmt.Fprintln(&b, "not repaired:")
	}
	for _, k := range slices.Sorted(maps.Keys(report.Remaining)) {
		fmt.Fprintf(&b, "%9d  %s [%s]\n", report.Remaining[k], repair.Words(k), k)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
