package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/tracer"
)

func newImport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "import",
		Short: "Make traces of data that was recorded earlier",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newImportSpool(), newImportCUPTI())
	return cmd
}

func newImportSpool() *cobra.Command {
	var o record.Options
	var api, compat string
	cmd := &cobra.Command{
		Use:   "spool [flags] folder|file",
		Short: "Make traces of a spool that record kept",
		Long: `Make the traces that flagos-trace record would have made of a spool folder, or of
one spool in it. Nothing in the folder is changed.

A spool is kept after record --keep-spool, after a failure to write the trace, and
when flagos-trace itself was killed; see also flagos-trace recover.`,
		Example: `  flagos-trace import spool -o trace.json.gz .flagos-trace-2318764`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(1)(cmd, args); err != nil {
				return err
			}
			return checkFormat(api, compat)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.API, o.Compat, o.Output = tracer.APILevel(api), compat == "kineto", orStdout(o.Output)
			o.Log, o.Width = cmd.ErrOrStderr(), width(os.Stderr)
			defer onInterrupt(cmd)()
			_, err := record.FromSpool(args[0], o)
			return fail(err)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.Output, "output", "o", "trace.json.gz", "`file` to write, - for standard output; compressed if it ends in .gz")
	f.StringVar(&api, "api", "", "`level` of API calls to keep of those recorded: minimal, kineto or all (default: as recorded)")
	f.StringVar(&compat, "compat", "", "`kineto`: torch.profiler's own set of fields, numbers and rows, its known errors included")
	f.BoolVar(&o.NoClobber, "no-clobber", false, "fail rather than replace a trace")
	f.BoolVar(&o.Merge, "merge", false, mergeUsage)
	f.StringVar(&o.SummaryFile, "summary", "", "`file` to write the summary to, as JSON")
	return cmd
}

// checkFormat checks the flags that record and import share.
func checkFormat(api, compat string) error {
	switch tracer.APILevel(api) {
	case "", tracer.APIMinimal, tracer.APIKineto, tracer.APIAll:
	default:
		return fmt.Errorf("--api %s: use minimal, kineto or all", api)
	}
	if compat != "" && compat != "kineto" {
		return fmt.Errorf("--compat %s: only kineto is known", compat)
	}
	return nil
}

func newImportCUPTI() *cobra.Command {
	var o record.ImportOptions
	var api, clock, output, compat string
	cmd := &cobra.Command{
		Use:   "cupti [flags]",
		Short: "Make a trace of activity buffers dumped from CUPTI",
		Long: `Make a trace of activity buffers as CUPTI completed them, dumped by any program.

--buffers is a file of buffers: before each one its valid size in bytes, its context
and its stream, as 64-bit little-endian numbers. --names is a text file with a
kernel name per line: the pointer to it in hexadecimal, a tab, the name. Either may
be compressed. --api-version is the version of CUPTI that wrote the buffers, as
cuptiGetVersion gave it, and decides how records are laid out.

--clock says what the times in the buffers are:
  realtime  nanoseconds since the epoch
  fit       some other clock, fitted so that API calls lie inside the operators of
            the host trace (--host) that their external ids name
  ticks:NS  ticks of NS nanoseconds each; with --host only the offset is fitted`,
		Example: `  flagos-trace import cupti --api-version 130001 --buffers buffers.bin --names names.tsv -o trace.json.gz`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.NoArgs(cmd, args); err != nil {
				return err
			}
			var err error
			if o.Clock, o.NSPerTick, err = parseClock(clock); err != nil {
				return err
			}
			o.KinetoRows = compat == "kineto"
			output = orStdout(output)
			if o.Clock == "fit" && o.Host == "" {
				return errors.New("--clock fit needs --host: there is nothing to fit to")
			}
			return checkFormat(api, compat)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.API, o.KinetoRows = tracer.APILevel(api), compat == "kineto"
			defer onInterrupt(cmd)()
			t, err := record.ImportCUPTI(o)
			if err != nil {
				return fail(err)
			}
			format := chrome.Options{}
			if compat == "kineto" {
				format.Compat = chrome.CompatKineto
			}
			stats, err := chrome.WriteFile(output, t, format)
			if err != nil {
				return fail(err)
			}
			one := record.Summarize(t)
			one.File, one.InvalidText = output, stats.InvalidText
			if st, err := os.Stat(output); err == nil {
				one.Bytes = st.Size()
			}
			sum := record.Summary{Traces: []record.TraceSummary{one}}
			return fail(sum.Print(cmd.ErrOrStderr(), width(os.Stderr)))
		},
	}
	f := cmd.Flags()
	f.Uint32Var(&o.APIVersion, "api-version", 0, "`version` of CUPTI that wrote the buffers, as cuptiGetVersion gives it")
	f.StringVar(&o.Buffers, "buffers", "", "`file` of buffers")
	f.StringVar(&o.Names, "names", "", "`file` of the names behind pointers")
	f.StringVar(&o.Host, "host", "", "Kineto trace `file` whose operators and window to join with")
	f.StringVar(&api, "api", string(tracer.APIKineto), "`level` of API calls to keep: minimal, kineto or all")
	f.StringVar(&clock, "clock", "realtime", "`clock` of the buffers: realtime, fit or ticks:NS")
	f.StringVarP(&output, "output", "o", "trace.json.gz", "`file` to write, - for standard output; compressed if it ends in .gz")
	f.StringVar(&compat, "compat", "", "`kineto`: torch.profiler's own set of fields, numbers and rows, its known errors included")
	for _, name := range []string{"api-version", "buffers"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err) // the name above is wrong
		}
	}
	return cmd
}

// orStdout turns the name "-" into that of standard output.
func orStdout(name string) string {
	if name == "-" {
		return "/dev/stdout"
	}
	return name
}

// parseClock reads the value of --clock.
func parseClock(s string) (clock string, nsPerTick float64, err error) {
	switch s {
	case "realtime", "fit":
		return s, 0, nil
	}
	if text, ok := strings.CutPrefix(s, "ticks:"); ok {
		ns, err := strconv.ParseFloat(text, 64)
		// Not below zero, not NaN, and no tick is longer than a second.
		if err == nil && ns > 0 && ns <= 1e9 {
			return "ticks", ns, nil
		}
		return "", 0, fmt.Errorf("--clock %s: the length of a tick must be a number of nanoseconds above 0", s)
	}
	return "", 0, fmt.Errorf("--clock %s: use realtime, fit or ticks:NS", s)
}
