package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/export"
	"github.com/flagos-ai/flagos-trace/export/perfetto"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/record"
)

const exportLong = `Write traces in another form:

  parquet   one row an event, with typed columns, in a folder: rank=R/step=S/part.parquet.
            DuckDB, Spark, Trino and ClickHouse query the ranks of a job as one table;
            ranks may be exported into one folder by many commands. Columns and
            queries: docs/sql.md
  csv       the same table as one file
  perfetto  one trace in the form of https://ui.perfetto.dev itself: a quarter of the
            size of JSON before compression. Work that overlaps on a stream is on
            sub-rows; arrows and arguments are kept. To see several ranks, merge them
            first

Parquet files stand in the folder when all traces are written, a rank at a time. A rank
that is there already is refused, or replaced with --overwrite.

Traces are read one after the other: memory is that of the largest one.

Exit status:
  0      written
  2      the command line is wrong, or a trace cannot be used
  125    the output could not be written
  128+n  signal n ended it; nothing of the output is there`

func newExport() *cobra.Command {
	var format, output, rules, member string
	var overwrite, noArgs, quiet bool
	cmd := &cobra.Command{
		Use:   "export [flags] trace...",
		Short: "Write traces as Parquet, CSV or Perfetto's own form",
		Long:  exportLong,
		Example: `  flagos-trace export --format parquet rank*.json.gz -o traces
  flagos-trace export --format csv trace.json.gz -o trace.csv.gz
  flagos-trace export --format perfetto trace.json.gz -o trace.pftrace`,
		Args: cobra.MinimumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if overwrite && format != "parquet" {
			return fmt.Errorf("--overwrite is for --format parquet")
		}
		if member != "" && format != "perfetto" {
			return fmt.Errorf("--member is for --format perfetto: the others take all traces of an archive")
		}
		if err := notInput(output, args...); err != nil {
			return err
		}
		warnTwice(cmd.ErrOrStderr(), args)
		o := chrome.ReadOptions{}
		if rules != "" {
			var err error
			if o.Rules, err = chrome.LoadRules(rules); err != nil {
				return &failure{exitUsage, err}
			}
		}
		defer collectSeldom()()
		w := exporter{warn: cmd.ErrOrStderr(), files: args, output: output, read: o, args: !noArgs}
		var text string
		var err error
		switch format {
		case "parquet":
			text, err = w.parquet(cmd, overwrite)
		case "csv":
			text, err = w.csv(cmd)
		case "perfetto":
			if len(args) != 1 {
				return fmt.Errorf("--format perfetto takes one trace: make one of several with flagos-trace merge")
			}
			text, err = w.perfetto(cmd, member, rules)
		default:
			return fmt.Errorf("--format %s: there are parquet, csv, perfetto", format)
		}
		if err != nil {
			var failed *failure
			if errors.As(err, &failed) {
				return failed
			}
			return &failure{exitUsage, err}
		}
		if !quiet {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s\n", record.Printable(text, false))
		}
		return nil
	}
	f := cmd.Flags()
	f.StringVarP(&format, "format", "f", "", "`form` of the output: parquet, csv or perfetto")
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output, compressed if it ends in .gz or .zst; for Parquet a folder")
	f.BoolVar(&overwrite, "overwrite", false, "replace the ranks that are in the folder already")
	f.BoolVar(&noArgs, "no-args", false, "leave the arguments of events out, but for those that have a column")
	f.StringVar(&member, "member", "", "`name` of the trace in a zip archive")
	f.StringVar(&rules, "rules", "", "YAML `file` with further names of categories, arguments and arrows")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not tell what was written")
	cmd.MarkFlagRequired("format")
	cmd.MarkFlagRequired("output")
	return cmd
}

// exporter writes traces; its errors are those of reading, unless they are a failure.
type exporter struct {
	warn   io.Writer
	files  []string
	output string
	read   chrome.ReadOptions
	args   bool
}

// each has all traces written as tables.
func (w *exporter) each(add func(*export.Table) error) error {
	names := newTraceNames(w.files)
	for _, path := range w.files {
		err := export.Each(path, w.read, w.args, func(t *export.Table) error {
			t.Rename(names.of(t.File()))
			warnUnread(w.warn, t.File(), t.Findings())
			return w.failed(add(t))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// failed marks an error of writing.
func (w *exporter) failed(err error) error {
	if err == nil {
		return nil
	}
	return &failure{exitFailure, fmt.Errorf("write %s: %w", w.output, err)}
}

func (w *exporter) parquet(cmd *cobra.Command, overwrite bool) (string, error) {
	p, err := export.NewParquet(w.output, overwrite)
	if err != nil {
		return "", w.failed(err)
	}
	defer p.Abort()
	defer onInterrupt(cmd, func() { p.Abort() })()
	p.About("flagos-trace", version.String())
	if err := w.each(p.Add); err != nil {
		if errors.Is(err, export.ErrThere) {
			err = fmt.Errorf("%w: replace it with --overwrite, or name another folder", err)
			return "", &failure{exitFailure, err}
		}
		return "", err
	}
	stats, err := p.Close()
	if err != nil {
		return "", w.failed(err)
	}
	return fmt.Sprintf("%s: %s in %s, %s", w.output, plural(int(stats.Rows), "row", "rows"), plural(stats.Files, "file", "files"), plural(int(stats.Bytes), "byte", "bytes")), nil
}

func (w *exporter) csv(cmd *cobra.Command) (text string, err error) {
	err = w.file(cmd, func(out io.Writer) error {
		c := export.NewCSV(out)
		if err := w.each(c.Add); err != nil {
			return err
		}
		rows, err := c.Close()
		text = fmt.Sprintf("%s: %s", w.output, plural(int(rows), "row", "rows"))
		return w.failed(err)
	})
	return text, err
}

func (w *exporter) perfetto(cmd *cobra.Command, member, rules string) (text string, err error) {
	d, err := readOne(w.files[0], member, rules)
	if err != nil {
		return "", err
	}
	warnUnread(w.warn, d.Name, d.FindingCounts)
	err = w.file(cmd, func(out io.Writer) error {
		s, err := perfetto.Write(out, d.Trace, perfetto.Options{NoArgs: !w.args})
		text = fmt.Sprintf("%s: %s, %s, %s", w.output, plural(int(s.Slices), "span", "spans"), plural(int(s.Instants), "instant", "instants"), plural(int(s.Flows), "arrow", "arrows"))
		if s.Counters > 0 {
			text += ", " + plural(int(s.Counters), "value of a counter", "values of counters")
		}
		if s.SubRows > 0 {
			text += fmt.Sprintf("; %s on sub-rows, where they overlap others", plural(int(s.SubRows), "span", "spans"))
		}
		if s.Skipped > 0 {
			text += fmt.Sprintf("; left out: %s of kinds that are not written, such as asynchronous ones", plural(int(s.Skipped), "event", "events"))
		}
		if s.Loose > 0 {
			text += fmt.Sprintf("; left out: %s that stand on no span", plural(int(s.Loose), "end of an arrow", "ends of arrows"))
		}
		return w.failed(err)
	})
	return text, err
}

// file has the output written whole or not at all, compressed by its ending.
func (w *exporter) file(cmd *cobra.Command, write func(io.Writer) error) error {
	out, err := outfile.Create(orStdout(w.output))
	if err != nil {
		return w.failed(err)
	}
	defer out.Abort()
	defer onInterrupt(cmd)()
	to := io.WriteCloser(keepOpen{out})
	switch {
	case strings.HasSuffix(w.output, ".gz"):
		to = gzip.NewWriter(out)
	case strings.HasSuffix(w.output, ".zst"):
		if to, err = zstd.NewWriter(out, zstd.WithEncoderConcurrency(1)); err != nil {
			return w.failed(err)
		}
	}
	if err := write(to); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return w.failed(err)
	}
	return w.failed(out.Commit())
}
