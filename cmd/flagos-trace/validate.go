package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/validate"
)

const validateLong = `Read traces of any producer - torch.profiler on CUDA, ROCm, XPU or MTIA, torch_npu,
torch_musa, torch_mlu, Torch-FL, flagos-trace - and say which rules they break: from
JSON that parsers refuse, over arrows, rows, ids and arguments, to figures that do
not follow from the other arguments, and to data that seems to be missing.

Each finding has a rule, a severity, the event with its index, its byte offset in the
(decompressed) text, why it matters and a fix. error: tools refuse the file, drop
events, or draw what cannot have been. warning: figures or pictures are probably
wrong in places. note: normal for the producer, and worth knowing. A rule that the
producer cannot keep is listed as not applicable, with the reason. docs/rules.md
has all rules; --list prints them.

Traces compressed with gzip or zstd are recognized by their content, and so is a zip
archive of traces, one a rank: each is checked. - is standard input. check is stricter and is for this tool's own traces: it allows no arrow
without an end, and every time has three decimals.

With --json the output is an array with an object a file; with --sarif it is one
SARIF 2.1.0 log, for code scanning.

Exit status:
  0    no finding at or above --fail-on
  1    at least one
  2    the command line is wrong, or a file cannot be used: it cannot be read, is no
       trace, or its compression is broken from the start`

func newValidate() *cobra.Command {
	var (
		o             validate.Options
		asJSON, sarif bool
		list          bool
		failOn, names string
	)
	cmd := &cobra.Command{
		Use:   "validate file...",
		Short: "Say what is wrong with traces of any producer",
		Long:  validateLong,
		Example: `  flagos-trace validate trace.json.gz
  flagos-trace validate --fail-on warning --no-rule overlap-host rank*.json.gz
  flagos-trace validate --sarif trace.json > findings.sarif
  flagos-trace validate ranks.zip
  zstdcat trace.json.zst | flagos-trace validate --json -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if list {
				return listRules(cmd)
			}
			threshold, ok := validate.ParseSeverity(failOn)
			if !ok && failOn != "never" {
				return fmt.Errorf("--fail-on is %q; it is error, warning, note or never", failOn)
			}
			if o.Max < 1 {
				return fmt.Errorf("--max is %d; it is at least 1", o.Max)
			}
			if names != "" {
				var err error
				if o.Rules, err = chrome.LoadRules(names); err != nil {
					return err
				}
			}
			defer collectSeldom()()
			if err := oneStdin(args); err != nil {
				return err
			}
			var docs []validate.Document
			status := exitOK
			unusable := func(err error) {
				fmt.Fprintf(cmd.ErrOrStderr(), "flagos-trace validate: %s\n", record.Printable(err.Error(), false))
				status = exitUsage
			}
			var out error
			one := func(name string, r *validate.Report, err error) error {
				if err != nil {
					unusable(fmt.Errorf("%s: %w", name, err))
					return nil
				}
				d := validate.Document{File: name, Report: r}
				if worst, found := r.Worst(); found && failOn != "never" && worst >= threshold && status == exitOK {
					status = exitFinding
				}
				if asJSON || sarif {
					docs = append(docs, d)
					return nil
				}
				out = validate.WriteText(cmd.OutOrStdout(), d)
				return out
			}
			for _, name := range args {
				err := validate.File(name, o, one)
				if out != nil {
					return fail(out)
				}
				if err != nil {
					unusable(err)
				}
			}
			var err error
			switch {
			case asJSON:
				err = validate.WriteJSON(cmd.OutOrStdout(), docs)
			case sarif:
				err = validate.WriteSARIF(cmd.OutOrStdout(), docs, version.String())
			}
			if err != nil {
				return fail(err)
			}
			if status != exitOK {
				return &failure{status: status}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&sarif, "sarif", false, "print a SARIF 2.1.0 log")
	f.StringVar(&failOn, "fail-on", "error", "`severity` from which on a finding makes the exit status 1: error, warning, note or never")
	f.StringSliceVar(&o.Only, "rule", nil, "check only these `rules`")
	f.StringSliceVar(&o.Not, "no-rule", nil, "leave out these `rules`")
	f.StringVar(&names, "rules", "", "YAML `file` that says what further categories, arrows and processes are")
	f.IntVar(&o.Max, "max", validate.DefaultMax, "`findings` printed of each rule, at least 1; all are counted")
	f.BoolVar(&list, "list", false, "print all rules and end")
	cmd.MarkFlagsMutuallyExclusive("json", "sarif")
	return cmd
}

func listRules(cmd *cobra.Command) error {
	var b strings.Builder
	for _, r := range validate.Rules() {
		fmt.Fprintf(&b, "%-24s %-8s %s\n", r.ID, r.Severity, r.Title)
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), b.String())
	return fail(err)
}
