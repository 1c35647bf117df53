package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/pprofile"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

const pprofLong = `Add up traces by call path - Python functions and modules where they were recorded,
operators, the API call, the kernel - and write that as a profile for pprof:

  go tool pprof -http=: gpu.pb.gz                     flame graph, graph, tables
  go tool pprof -top -diff_base=old.pb.gz new.pb.gz   what became slower
  go tool pprof -tags gpu.pb.gz                       by rank, step, stream, shape, ...

Choose what is shown with pprof's -sample_index:

  device_time    ns that kernels, copies and fills ran; the default where there are
                 any. Those that run at the same time count in full
  device_count   how many of them
  cpu_time       ns of host threads, of each span without those inside it; the
                 default where no device work is
  launch_delay   ns from the begin of a call to that of the first work it started
  bytes          that copies and fills moved, where the trace says so
  device_idle    ns for which the device had nothing to do before the work began

Labels, for pprof's -tagfocus, -tagignore and -tagroot: device, stream, rank, step,
shape (of the operator's inputs), module (the innermost; of a backward operator that
of its forward operator), thread, and unlinked, which says why work stands below no
operator. Steps are one frame, ProfilerStep, whatever their number.

Several traces, merged ones and zip archives of traces go into one profile; the label
rank tells them apart, and the label trace where a trace says no rank. They are read
one after the other: memory is that of the largest trace.

Kernels keep their whole names, template arguments included. Characters that a
terminal obeys are written as escapes, and what is below 512 frames is one frame,
(deeper).

Exit status:
  0      written
  2      the command line is wrong, or a trace cannot be used
  125    the output could not be written
  128+n  signal n ended it; nothing of the output is there`

// pprofClasses are the frames that can be left out.
var pprofClasses = map[string]calltree.Class{
	"python": calltree.Python, "module": calltree.Module, "annotation": calltree.Annotation,
	"step": calltree.Step, "operator": calltree.Operator, "call": calltree.Call, "other": calltree.Other,
}

func newPprof() *cobra.Command {
	var output, value, rules string
	var hide []string
	var folded bool
	cmd := &cobra.Command{
		Use:   "pprof [flags] trace...",
		Short: "Write a pprof profile of the device's time by call path",
		Long:  pprofLong,
		Example: `  flagos-trace pprof trace.json.gz -o gpu.pb.gz
  flagos-trace pprof rank*.json.gz --hide python -o job.pb.gz
  flagos-trace pprof trace.json.gz --folded -o stacks.txt`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if value != "" && !slices.Contains(pprofile.Values, value) {
			return fmt.Errorf("--value %s: there are %s", value, strings.Join(pprofile.Values, ", "))
		}
		if cmd.Flags().Changed("value") && !folded {
			return fmt.Errorf("--value is for --folded: a profile has all values")
		}
		var classes []calltree.Class
		for _, h := range hide {
			c, ok := pprofClasses[h]
			if !ok {
				return fmt.Errorf("--hide %s: there are python, module, annotation, step, operator, call, other", h)
			}
			classes = append(classes, c)
		}
		if err := notInput(output, args...); err != nil {
			return err
		}
		warnTwice(cmd.ErrOrStderr(), args)
		defer onInterrupt(cmd)()
		b, err := profileTraces(cmd.ErrOrStderr(), args, rules, classes)
		if err != nil {
			return &failure{exitUsage, err}
		}
		p, err := b.Profile()
		if err != nil {
			return &failure{exitUsage, fmt.Errorf("%s: %w", strings.Join(args, ", "), err)}
		}
		if folded {
			if value == "" {
				value = b.Main()
			}
			if !b.Has(value) {
				fmt.Fprintf(cmd.ErrOrStderr(), "nothing has %s: %s is empty\n", value, record.Printable(output, false))
			}
			return fail(writeOutput(output, func(w io.Writer) error {
				if !strings.HasSuffix(output, ".gz") {
					return b.WriteFolded(w, value)
				}
				z := gzip.NewWriter(w)
				return errors.Join(b.WriteFolded(z, value), z.Close())
			}))
		}
		return fail(writeOutput(output, func(w io.Writer) error {
			if output != "-" && !strings.HasSuffix(output, ".gz") {
				return p.WriteUncompressed(w)
			}
			return p.Write(w)
		}))
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output; compressed if it ends in .gz")
	f.BoolVar(&folded, "folded", false, "write a line for each call path, for flame graph tools")
	f.StringVar(&value, "value", "", "the `name` of the value that --folded writes (default device_time, or cpu_time without device work)")
	f.StringSliceVar(&hide, "hide", nil, "leave `kinds` of frames out: python, module, annotation, step, operator, call, other")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	cmd.MarkFlagRequired("output")
	return cmd
}

// warnUnread says which part of a trace is in no result.
func warnUnread(w io.Writer, name string, counts map[string]uint64) {
	for _, lost := range chrome.Unread(counts) {
		fmt.Fprintf(w, "%s: a part of the trace is missing: %s\n", record.Printable(name, false), lost)
	}
}

// profileTraces adds up the traces of files, and warns of what of them is missing.
func profileTraces(warn io.Writer, files []string, rules string, hide []calltree.Class) (*pprofile.Builder, error) {
	o := chrome.ReadOptions{}
	if rules != "" {
		var err error
		if o.Rules, err = chrome.LoadRules(rules); err != nil {
			return nil, err
		}
	}
	b := pprofile.New(hide...)
	names := newTraceNames(files)
	for _, path := range files {
		err := chrome.ReadEach(path, o, func(d *chrome.Document) error {
			name := ""
			if len(files) > 1 || d.Name != path {
				name = names.of(d.Name)
			}
			if err := b.Add(d.Trace, name); err != nil {
				return fmt.Errorf("%s: %w", d.Name, err)
			}
			b.Comment(aboutTrace(d))
			warnUnread(warn, d.Name, d.FindingCounts)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	b.Comment("made by flagos-trace " + version.String())
	return b, nil
}

// aboutTrace says in a line what trace a result is of, and what is missing in it.
func aboutTrace(d *chrome.Document) string {
	text := fmt.Sprintf("%s, by %s", record.Printable(d.Name, false), d.Producer)
	for _, lost := range chrome.Unread(d.FindingCounts) {
		text += "; " + lost
	}
	if c := d.Trace.Completeness; c != nil && c.Recorded() && c.Verdict != "" && c.Verdict != timeline.Complete {
		text += fmt.Sprintf("; %s: see flagos-trace check", c.Verdict)
	}
	return text
}

// writeOutput has a file written whole or not at all; - is standard output.
func writeOutput(path string, write func(io.Writer) error) error {
	out, err := outfile.Create(orStdout(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer out.Abort()
	if err = write(out); err == nil {
		err = out.Commit()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
