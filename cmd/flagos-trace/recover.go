package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/tracer"
)

func newRecover() *cobra.Command {
	var o record.RecoverOptions
	var api, compat string
	cmd := &cobra.Command{
		Use:   "recover [flags] folder|spool...",
		Short: "Make the traces of a recording whose recorder died",
		Long: `Make the traces that flagos-trace record was about to write when it was killed or
the machine went down. What it had recorded lies in a folder .flagos-trace-* beside
the trace (or in --spool-dir). Name that folder, or some of the spools in it.

The traces get the names that record gives them. Without -o that is the name given
to record, and a file that is there already is not replaced; with -o it is. How the
command ended is not known, and not in the trace.

A recording that still goes on, since flagos-trace or a process of the command still
runs, is refused; --force takes what there is of it. The folder stays, unless
--remove is given and all of it could be read.`,
		Example: `  flagos-trace recover .flagos-trace-2318764
  flagos-trace recover --remove -o run7.json.gz .flagos-trace-2318764`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.MinimumNArgs(1)(cmd, args); err != nil {
				return err
			}
			if cmd.Flags().Changed("output") && o.Output == "" {
				return fmt.Errorf("-o names no file")
			}
			return checkFormat(api, compat)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.API, o.Compat, o.Output = tracer.APILevel(api), compat == "kineto", orStdout(o.Output)
			o.Log, o.Width = cmd.ErrOrStderr(), width(os.Stderr)
			defer onInterrupt(cmd)()
			r, err := record.Recover(args, o)
			if err != nil && r.Concluded {
				return &failure{exitFailure, nil}
			}
			return fail(err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", "", "`file` to write, - for standard output; compressed if it ends in .gz (default: as given to record)")
	f.StringVar(&api, "api", "", "`level` of API calls to keep of those recorded: minimal, kineto or all (default: as recorded)")
	f.StringVar(&compat, "compat", "", "`kineto`: torch.profiler's own set of fields, numbers and rows, its known errors included")
	f.BoolVar(&o.Force, "force", false, "take what there is of a recording that still goes on")
	f.BoolVar(&o.Remove, "remove", false, "remove the spools once their traces are written")
	f.BoolVar(&o.NoClobber, "no-clobber", false, "fail rather than replace a trace")
	f.BoolVar(&o.Merge, "merge", false, mergeUsage)
	f.StringVar(&o.SummaryFile, "summary", "", "`file` to write the summary to, as JSON")
	f.BoolVar(&o.JSON, "json", false, "print the summary as one line of JSON")
	return cmd
}

const mergeUsage = "write one trace of all processes, where memory allows it"
