package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/record"
)

func newBaseline() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "Make and show baselines that traces are held against",
		Long: `A baseline says what a trace is made of, without counts and durations: categories,
arguments with their types, arrows, operators with the kinds of device work they
start, API calls, names of rows, metadata, and the rules that it keeps. Two runs of
a program give the same. flagos-trace diff holds traces against it.`,
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

Exit status:
  0    written
  2    the command line is wrong
  125  a trace could not be used, or the file not written`,
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
			s, err := createBaseline(args, member, counts)
			if err != nil {
				return fail(err)
			}
			s.Name, s.Note = name, note
			if exceptions != "" {
				text, err := os.ReadFile(exceptions)
				if err != nil {
					return fail(err)
				}
				if s.Exceptions, err = verdict.ReadExceptions(text); err != nil {
					return fail(fmt.Errorf("%s: %w", exceptions, err))
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

func createBaseline(paths []string, member string, counts bool) (*shape.Shape, error) {
	var all *shape.Shape
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

func newBaselineShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [FILE or NAME]",
		Short: "Show a baseline",
		Long: `Show a baseline file, Torch-FL's included, or an embedded baseline; without an
argument that of torch-cuda. In a list of arguments, ! marks what is required and *
what is on every event. --json prints it in the form of baseline create.

Exit status:
  0    shown
  2    the command line is wrong
  125  the file could not be used`,
		Example: `  flagos-trace baseline show torch-cuda
  flagos-trace baseline show --json base.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := baseline.DefaultName
			if len(args) == 1 {
				name = args[0]
			}
			side, err := load.Named(name, "")
			if err != nil {
				return fail(err)
			}
			if side.Seen != nil {
				return fail(fmt.Errorf("%s is a trace; make a baseline of it with flagos-trace baseline create", name))
			}
			if asJSON {
				return fail(side.Shape.Write(cmd.OutOrStdout()))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), record.Printable(showShape(side.Shape), true))
			return fail(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showShape(s *shape.Shape) string {
	var b bytes.Buffer
	line := func(what, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-18s %s\n", what, text)
		}
	}
	line("name", s.Name)
	line("note", s.Note)
	for _, src := range s.Sources {
		text := []string{}
		for _, t := range []string{src.File, src.Producer, strings.Join(src.Devices, ", ")} {
			if t != "" {
				text = append(text, t)
			}
		}
		line("made of", strings.Join(text, "; "))
	}
	b.WriteString("\n")
	for _, name := range slices.Sorted(maps.Keys(s.Categories)) {
		c := s.Categories[name]
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(c.Args)) {
			a := c.Args[key]
			if a.Required {
				key += "!"
			}
			if a.Every {
				key += "*"
			}
			keys = append(keys, key)
		}
		title := "category " + name
		if len(c.Spellings) > 0 {
			title += " (" + strings.Join(c.Spellings, ", ") + ")"
		}
		if c.Required {
			title += ", required"
		}
		fmt.Fprintf(&b, "%s\n    %s\n", title, strings.Join(keys, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.KnownGaps)) {
		fmt.Fprintf(&b, "may be missing: %s: %s\n", name, s.KnownGaps[name])
	}
	b.WriteString("\n")
	for _, kind := range slices.Sorted(maps.Keys(s.Flows)) {
		f := s.Flows[kind]
		text := string(f.Presence)
		if len(f.From)+len(f.To) > 0 {
			text += ", from " + strings.Join(f.From, ", ") + " to " + strings.Join(f.To, ", ")
		}
		line("arrows "+kind, text)
	}
	work := 0
	for _, o := range s.Operators {
		if len(o.Work) > 0 {
			work++
		}
	}
	if len(s.Operators) > 0 {
		line("operators", fmt.Sprintf("%d, of which %d start device work", len(s.Operators), work))
	}
	line("API calls", strings.Join(slices.Sorted(maps.Keys(s.Calls)), ", "))
	for _, kind := range slices.Sorted(maps.Keys(s.Rows)) {
		line(kind, strings.Join(slices.Sorted(maps.Keys(s.Rows[kind])), ", "))
	}
	line("members", strings.Join(slices.Sorted(maps.Keys(s.Metadata)), ", "))
	line("device properties", strings.Join(slices.Sorted(maps.Keys(s.DeviceProperties)), ", "))
	for _, id := range slices.Sorted(maps.Keys(s.Holds)) {
		if l := s.Holds[id]; l != shape.None {
			line("broken", fmt.Sprintf("%s: %s", id, l))
		}
	}
	for _, e := range s.Exceptions {
		text := e.Assertion + " " + e.Subject + ": " + e.Reason
		if e.Expires != "" {
			text += ", until " + e.Expires
		}
		line("accepted", text)
	}
	return b.String()
}

func newBaselineList() *cobra.Command {
	return &cobra.Command{
		Use:   "list [FOLDER]",
		Short: "List the embedded baselines, and those of a folder",
		Long: `List the embedded baselines, and the baseline files (*.json) of a folder.

Exit status:
  0    listed
  2    the command line is wrong
  125  the folder could not be read`,
		Example: `  flagos-trace baseline list
  flagos-trace baseline list ci/baselines`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var b bytes.Buffer
			row := func(name string, side *baseline.Side) {
				s := side.Shape
				fmt.Fprintf(&b, "%-30s %-12s %d categories, %s, made of %s\n", name, s.Name, len(s.Categories), number(len(s.Operators), "operator"), number(len(s.Sources), "source"))
			}
			row(baseline.DefaultName, baseline.Default())
			if len(args) == 1 {
				paths, err := filepath.Glob(filepath.Join(args[0], "*.json"))
				if err == nil {
					_, err = os.ReadDir(args[0])
				}
				if err != nil {
					return fail(err)
				}
				for _, path := range paths {
					text, err := load.BaselineText(path)
					if err != nil {
						return fail(err)
					}
					if text == nil {
						continue
					}
					side, err := baseline.FromFile(path, text)
					if err != nil {
						fmt.Fprintf(&b, "%-30s not usable: %v\n", path, err)
						continue
					}
					row(path, side)
				}
			}
			_, err := io.WriteString(cmd.OutOrStdout(), record.Printable(b.String(), true))
			return fail(err)
		},
	}
}
