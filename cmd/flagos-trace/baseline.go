package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
)

func newBaseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Make and show baselines that traces are held against",
		Long: `A baseline says what a trace is made of, without counts and durations: categories,
arguments with their types, arrows, operators with the kinds of device work they
start, API calls, names of rows, metadata, and the rules that it keeps. Two runs of
a program give the same. flagos-trace diff holds traces against it.

` + baselineExits("done") + `
These commands come to no verdict: 1 and 3, with which diff and gate may end, are none
of their statuses.`,
		Example: `  flagos-trace baseline create run*.json.gz -o base.json
  flagos-trace baseline show base.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newBaselineCreate(), newBaselineShow(), newBaselineList())
	return cmd
}

func newBaselineCreate() *cobra.Command {
	var output, name, note, exceptions, member string
	var counts bool
	cmd := &cobra.Command{
		Use:   "create TRACE... -o FILE",
		Short: "Make a baseline of one trace or of several runs",
		Long: `Make a baseline of one trace, or of several of one kind. Of several, what was not in
all of them is marked, and is not required. A trace that is incomplete by its own
record, or cannot be read to its end, makes no baseline.

The file says where it comes from: producer, versions, devices, and the SHA-256 of
each trace. --exceptions adds findings that are accepted, a YAML list:
  - assertion: arg-keys
    subject: "arg:kernel/queued"     # * stands for anything
    reason: "the library does not tell it yet"
    expires: 2027-03-31              # the last day; leave it out for ever

` + baselineExits("written"),
		Example: `  flagos-trace baseline create trace.json.gz -o base.json
  flagos-trace baseline create run1.json.gz run2.json.gz run3.json.gz --name resnet -o base.json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if counts && len(args) > 1 {
				return errors.New("--counts is for one trace: of several there is no one count")
			}
			if err := notInput(output, append([]string{exceptions}, args...)...); err != nil {
				return err
			}
			if err := onceEach(args); err != nil {
				return err
			}
			s, err := createBaseline(args, member, counts)
			if err != nil {
				return unusable(err)
			}
			s.Name, s.Note = name, note
			if exceptions != "" {
				text, err := strictyaml.Text(exceptions)
				if err != nil {
					return unusable(err)
				}
				if s.Exceptions, err = verdict.ReadExceptions(text); err == nil {
					err = baseline.CheckExceptions(s.Exceptions)
				}
				if err != nil {
					return unusable(fmt.Errorf("%s: %w", exceptions, err))
				}
			}
			if output == "-" {
				return fail(s.Write(cmd.OutOrStdout()))
			}
			f, err := outfile.Create(output)
			if err != nil {
				return fail(err)
			}
			defer f.Abort()
			if err := s.Write(f); err != nil {
				return fail(err)
			}
			return fail(f.Commit())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", "", "`file` to write, - for standard output")
	f.StringVar(&name, "name", "", "`name` of the baseline")
	f.StringVar(&note, "note", "", "`text` for people who read it")
	f.StringVar(&exceptions, "exceptions", "", "YAML `file` of accepted findings")
	f.StringVar(&member, "member", "", "`name` of the trace in zip archives")
	f.BoolVar(&counts, "counts", false, "add events by category and device time by operator, which differ from run to run")
	cmd.MarkFlagRequired("output")
	return cmd
}

// baselineExits is what the help says of exit statuses.
func baselineExits(done string) string {
	return "Exit status:\n  0    " + done + "\n  2    the command line is wrong, or a trace or file cannot be used\n  125  the output could not be written"
}

// onceEach says so if a trace is given twice: it is one run, not two.
func onceEach(paths []string) error {
	if err := oneStdin(paths); err != nil {
		return err
	}
	seen := map[string]os.FileInfo{}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			continue // reading it says what is wrong
		}
		for name, other := range seen {
			if os.SameFile(info, other) {
				return fmt.Errorf("%s and %s are one file: a baseline of several runs needs a trace of each", name, path)
			}
		}
		seen[path] = info
	}
	return nil
}

func createBaseline(paths []string, member string, counts bool) (*shape.Shape, error) {
	var all *shape.Shape
	seen := map[string]string{} // paths by what is in the files
	for _, path := range paths {
		o, err := load.Observe(path, member)
		if err != nil {
			return nil, err
		}
		if side := baseline.FromTrace(o); len(side.Unusable()) > 0 {
			return nil, errors.New(side.Unusable()[0])
		}
		source := &o.Shape.Sources[0]
		if source.SHA256, err = fileHash(path); err != nil {
			return nil, err
		}
		if other, twice := seen[source.SHA256]; twice && source.SHA256 != "" {
			return nil, fmt.Errorf("%s and %s hold the same, so they are one run: a baseline of several runs needs a trace of each", other, path)
		}
		seen[source.SHA256] = path
		source.File = filepath.Base(path)
		if counts {
			o.WithCounts()
		}
		if all == nil {
			all = &o.Shape
		} else {
			all.Merge(&o.Shape)
		}
	}
	return all, nil
}

func fileHash(path string) (string, error) {
	if path == "-" {
		return "", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
