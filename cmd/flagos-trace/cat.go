package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/record"
)

// errNoOutput is for what a shell makes of an unset variable.
var errNoOutput = errors.New("-o names no file")

func newCat() *cobra.Command {
	var output, rules string
	var quiet bool
	cmd := &cobra.Command{
		Use:   "cat [flags] trace",
		Short: "Read a trace of any producer and write it anew",
		Long: `Read a trace and write it as strict JSON, compressed by the ending of the output:
.json, .json.gz or .json.zst. Nothing but what had to be mended is changed: begins
and ends become spans, names of rows and processes that are said twice are written
once, broken text is made JSON, and what cannot be read is left out. What was found
is told on standard error, by rule.

A trace is a document of the Trace Event Format, an object or a bare array, plain
or compressed with gzip or zstd; - is standard input. Of a zip archive of traces,
name one with --member. Compressed data that grows more than 200-fold, beyond 1 GiB
of text, is refused: it is made to fill memory.

Exit status:
  0    written
  2    the command line is wrong, or the trace cannot be used
  125  the output could not be written`,
		Example: `  flagos-trace cat trace.json.gz -o trace.json
  flagos-trace cat - -o trace.json.zst < trace.json`,
		Args: cobra.ExactArgs(1),
	}
	var member string
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if output == "" {
			return errNoOutput
		}
		defer onInterrupt(cmd)()
		doc, err := readOne(args[0], member, rules)
		if err != nil {
			return unusable(err)
		}
		stats, err := chrome.WriteFile(orStdout(output), doc.Trace, chrome.Options{})
		if err != nil || quiet {
			return fail(err)
		}
		w := cmd.ErrOrStderr()
		fmt.Fprintf(w, "%s: by %s; %s read, %s written to %s\n", record.Printable(doc.Name, false), doc.Producer,
			number(doc.Trace.Events.Len(), "event"), number(int(stats.Events), "line"), record.Printable(output, false))
		shown := map[string]bool{}
		for _, f := range doc.Findings {
			if !shown[f.Rule] {
				shown[f.Rule] = true
				fmt.Fprintf(w, "%s, the first of %d\n", record.Printable(f.String(), false), doc.FindingCounts[f.Rule])
			}
		}
		for _, rule := range slices.Sorted(maps.Keys(doc.FindingCounts)) {
			if !shown[rule] {
				fmt.Fprintf(w, "%d of %s\n", doc.FindingCounts[rule], rule)
			}
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output; compressed if it ends in .gz or .zst")
	f.StringVar(&member, "member", "", "`name` of the trace in a zip archive")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not tell what was found")
	cmd.MarkFlagRequired("output")
	return cmd
}

// readOne reads the one trace of a file, or the one of that name in an archive, with
// the names of a rules file where one is given.
func readOne(path, member, rules string) (*chrome.Document, error) {
	o := chrome.ReadOptions{}
	if rules != "" {
		var err error
		if o.Rules, err = chrome.LoadRules(rules); err != nil {
			return nil, &failure{exitUsage, err} // the command line is wrong
		}
	}
	return load.Document(path, member, o)
}
