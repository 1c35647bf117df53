package main

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/cut"
	"github.com/flagos-ai/flagos-trace/record"
)

const cutLong = `Read a trace of any producer and write a part of it: a span of time, steps, ranks,
processes, categories, devices, streams. Each flag narrows the part. What is kept is
kept as it stood, its arguments byte for byte; an arrow keeps both ends or neither;
rows and processes go when all that stood on them went. The window in the trace
becomes that of the part, and the completeness record (flagosTrace, or
flagosTraceCuts in a trace without one) says what was cut.

Times for --from and --to:
  1.5ms        behind the start of the recorded window (ns, us, ms, s, m)
  -10ms        before its end (write --from=-10ms)
  +10ms        --to only: behind --from
  start, end   of the recorded window
  ts:12.345    a ts as it stands in the file, microseconds
  2026-01-02T15:04:05.123456Z   a time of day

--steps takes the steps between ProfilerStep#N annotations, both ends included, of
each process by its own annotations. A rank is told by the labels of processes, as
in merged traces, or by distributedInfo in the trace of one rank. A category is one of
the file, or one of kernel, memcpy, memset, runtime, driver, sync, overhead, host.
--device and --stream narrow device work only.

Device work that is launched in a step often runs behind it. With --device-work
launched (the default with --steps) it belongs to where its API call was made; with
time (the default otherwise) to where it ran. Spans that reach over an end of the
part are kept whole (--straddling whole, the default; the window is widened, except
by Python functions), cut off (clip), or left out (drop).

Exit status:
  0    written
  2    the command line is wrong, or the trace cannot be used or has no such part
  125  the output could not be written`

func newCut() *cobra.Command {
	var (
		o                                       cut.Options
		from, to, steps, deviceWork, straddling string
		output, rules, member                   string
		devices, streams                        []uint
		quiet                                   bool
	)
	cmd := &cobra.Command{
		Use:   "cut [flags] trace",
		Short: "Write a part of a trace: by time, step, rank, category",
		Long:  cutLong,
		Example: `  flagos-trace cut trace.json.gz --from 10ms --to +5ms -o part.json.gz
  flagos-trace cut trace.json.gz --steps 3:6 -o steps.json.gz
  flagos-trace cut merged.json.gz --rank 0 --category kernel,gpu_memcpy -o rank0.json.gz`,
		Args: cobra.ExactArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output == "" {
			return errNoOutput
		}
		defer onInterrupt(cmd)()
		if steps != "" {
			var err error
			if o.Steps, err = cut.ParseSteps(steps); err != nil {
				return fmt.Errorf("--steps: %w", err)
			}
		}
		var ok bool
		if o.Straddling, ok = cut.ParseStraddling(straddling); !ok {
			return fmt.Errorf("--straddling is %q; it is whole, clip or drop", straddling)
		}
		switch deviceWork {
		case "":
			o.Launched = steps != ""
		case "launched", "time":
			o.Launched = deviceWork == "launched"
		default:
			return fmt.Errorf("--device-work is %q; it is launched or time", deviceWork)
		}
		var err error
		if o.Devices, err = numbers("--device", devices); err != nil {
			return err
		}
		if o.Streams, err = numbers("--stream", streams); err != nil {
			return err
		}
		if from == "" && to == "" && o.Steps == nil && len(o.Ranks)+len(o.PIDs)+len(o.Categories)+len(devices)+len(streams) == 0 {
			return fmt.Errorf("which part? Name it with --from, --to, --steps, --rank, --pid, --category, --device or --stream")
		}
		doc, err := readOne(args[0], member, rules)
		if err != nil {
			return unusable(err)
		}
		if from != "" || to != "" {
			w, err := cut.ParseWindow(doc.Trace, from, to)
			if err != nil {
				return fmt.Errorf("--from, --to: %w", err)
			}
			o.Window = &w
		}
		part, result, err := cut.Trace(doc.Trace, o)
		if err != nil {
			return unusable(fmt.Errorf("%s: %w", doc.Name, err))
		}
		if _, err := chrome.WriteFile(orStdout(output), part, chrome.Options{}); err != nil || quiet {
			return fail(err)
		}
		cutAccount(cmd.ErrOrStderr(), doc.Name, output, result)
		return nil
	}
	f := cmd.Flags()
	f.StringVar(&from, "from", "", "`time` where the part begins")
	f.StringVar(&to, "to", "", "`time` where the part ends; what begins then is not in it")
	f.StringVar(&steps, "steps", "", "step or `range` of steps: 5, 3:6, 3:, :6")
	f.Int64SliceVar(&o.Ranks, "rank", nil, "only these `ranks`")
	f.StringSliceVar(&o.PIDs, "pid", nil, "only these processes, by the `pid` that the file shows")
	f.StringSliceVar(&o.Categories, "category", nil, "only these `categories`")
	f.UintSliceVar(&devices, "device", nil, "of device work, only that on these `devices`")
	f.UintSliceVar(&streams, "stream", nil, "of device work, only that on these `streams`")
	f.StringVar(&deviceWork, "device-work", "", "`where` device work belongs: launched or time")
	f.StringVar(&straddling, "straddling", "whole", "`what` becomes of spans that reach over an end: whole, clip or drop")
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output; compressed if it ends in .gz or .zst")
	f.StringVar(&member, "member", "", "`name` of the trace in a zip archive")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not tell what was cut")
	cmd.MarkFlagRequired("output")
	return cmd
}

// numbers are the values of a flag as those of devices and streams.
func numbers(flag string, list []uint) ([]uint32, error) {
	var out []uint32
	for _, n := range list {
		if n > math.MaxUint32 {
			return nil, fmt.Errorf("%s is %d; it is at most %d", flag, n, uint32(math.MaxUint32))
		}
		out = append(out, uint32(n))
	}
	return out, nil
}

// cutAccount tells what was cut.
func cutAccount(w io.Writer, from, to string, r *cut.Result) {
	fmt.Fprintf(w, "%s: %d of %s written to %s\n", record.Printable(from, false), r.Events, number(r.Of, "event"), record.Printable(to, false))
	if r.Straddling > 0 {
		fmt.Fprintf(w, "%s over an end of the part\n", plural(r.Straddling, "event reaches", "events reach"))
	}
	if r.LaunchedLate > 0 {
		fmt.Fprintf(w, "%s launched in the part and ended behind it\n", plural(r.LaunchedLate, "piece of device work was", "pieces of device work were"))
	}
	if r.Arrows > 0 {
		fmt.Fprintf(w, "%s left out, whose other end is not in the part\n", plural(r.Arrows, "end of an arrow was", "ends of arrows were"))
	}
}

func plural(n int, one, more string) string {
	if n == 1 {
		more = one
	}
	return fmt.Sprintf("%d %s", n, more)
}
