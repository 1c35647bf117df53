package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/cmd/flagos-trace/internal/tracecheck"
	"github.com/flagos-ai/flagos-trace/internal/unpack"
	"github.com/flagos-ai/flagos-trace/record"
)

func newCheck() *cobra.Command {
	return &cobra.Command{
		Use:   "check file...",
		Short: "Check that traces are strict JSON and keep the rules of the format",
		Long: `Read each trace with a strict JSON parser and check what viewers rely on: no
object names a key twice; every event has a phase; spans have a name, a category, a
row, a time and a length that is not negative; spans of one row nest or lie side by
side; arrows have both ends, each on a span, and "bp": "e" at the second; nothing
lies outside the recorded window (the span of category Trace). Where a record of
completeness (flagosTrace) comes before the events, times have three decimals.
Compressed traces are recognized by their content; - is standard input.

The rules are those of this tool's own traces. Those of other writers may break
some, and so may those written with --compat kineto, which keeps Kineto's rows:
flagos-trace validate knows what is normal for each producer, and has more rules.

Exit status:
  0    every trace keeps the rules
  1    at least one does not
  2    the command line is wrong
  125  a file could not be read`,
		Example: `  flagos-trace check trace.json.gz`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			status := exitOK
			for _, name := range args {
				ok, err := checkFile(cmd.OutOrStdout(), name)
				if err != nil {
					return fail(err)
				}
				if !ok {
					status = exitFinding
				}
			}
			if status != exitOK {
				return &failure{status: status}
			}
			return nil
		},
	}
}

// checkFile prints the findings about a file and reports whether there are none.
func checkFile(w io.Writer, name string) (bool, error) {
	f := os.Stdin
	if name != "-" {
		var err error
		if f, err = os.Open(name); err != nil {
			return false, err
		}
		defer f.Close()
	}
	report := &tracecheck.Report{}
	r, err := unpack.New(f)
	if err == nil {
		defer r.Close()
		report, err = tracecheck.Read(r)
		if r.Damaged() {
			err = r.Err() // whatever was made of it
		}
	}
	var out bytes.Buffer
	shown := record.Printable(name, false)
	switch {
	case errors.Is(err, tracecheck.ErrNotJSON), errors.Is(err, unpack.ErrDamaged):
		fmt.Fprintf(&out, "%s: %s\n", shown, record.Printable(err.Error(), false))
	case err != nil:
		return false, fmt.Errorf("%s: %w", name, err)
	}
	for _, f := range report.Findings {
		fmt.Fprintf(&out, "%s: %s\n", shown, record.Printable(fmt.Sprint(f), false))
	}
	if report.More > 0 {
		fmt.Fprintf(&out, "%s: and %s\n", shown, number(report.More, "more finding"))
	}
	ok := out.Len() == 0
	if ok {
		fmt.Fprintf(&out, "%s: ok, %s, %s", shown, number(report.Events, "event"), number(report.Flows, "flow"))
		var parts []string
		for _, cat := range slices.Sorted(maps.Keys(report.Categories)) {
			parts = append(parts, fmt.Sprintf("%d %s", report.Categories[cat], record.Printable(cat, false)))
		}
		if len(parts) > 0 {
			fmt.Fprintf(&out, " (spans: %s)", strings.Join(parts, ", "))
		}
		out.WriteString("\n")
	}
	_, err = w.Write(out.Bytes())
	return ok, err
}

// number writes a count before a noun in the singular.
func number(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
