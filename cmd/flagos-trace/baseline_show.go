package main

import (
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
	"github.com/flagos-ai/flagos-trace/record"
)

func newBaselineShow() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [FILE or NAME]",
		Short: "Show a baseline",
		Long: `Show a baseline file, Torch-FL's included, or an embedded baseline; without an
argument that of torch-cuda. In a list of arguments, ! marks what is required and *
what is on every event. --json prints it in the form of baseline create.

` + baselineExits("shown"),
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
				return unusable(err)
			}
			if side.Seen != nil {
				return unusable(fmt.Errorf("%s is a trace; make a baseline of it with flagos-trace baseline create", name))
			}
			if asJSON {
				return fail(side.Shape.Write(cmd.OutOrStdout()))
			}
			_, err = io.WriteString(cmd.OutOrStdout(), showShape(side.Shape))
			return fail(err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func showShape(s *shape.Shape) string {
	var b strings.Builder
	// Names are the trace's: none begins a line.
	say := func(format string, args ...any) {
		b.WriteString(record.Printable(fmt.Sprintf(format, args...), false) + "\n")
	}
	line := func(what, text string) {
		if text != "" {
			say("%-18s %s", what, text)
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
	say("")
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
		say("%s", title)
		say("    %s", strings.Join(keys, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.KnownGaps)) {
		say("may be missing: %s: %s", name, s.KnownGaps[name])
	}
	say("")
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

` + baselineExits("listed"),
		Example: `  flagos-trace baseline list
  flagos-trace baseline list ci/baselines`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var b strings.Builder
			say := func(format string, args ...any) {
				b.WriteString(record.Printable(fmt.Sprintf(format, args...), false) + "\n")
			}
			row := func(name string, side *baseline.Side) {
				s := side.Shape
				say("%-30s %-12s %d categories, %s, made of %s", name, s.Name, len(s.Categories), number(len(s.Operators), "operator"), number(len(s.Sources), "source"))
			}
			row(baseline.DefaultName, baseline.Default())
			if len(args) == 1 {
				entries, err := os.ReadDir(args[0])
				if err != nil {
					return unusable(err)
				}
				for _, e := range entries {
					path := filepath.Join(args[0], e.Name())
					if filepath.Ext(path) != ".json" {
						continue
					}
					// A pipe would be waited for.
					if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
						continue
					}
					text, err := load.BaselineText(path)
					if err == nil && text == nil {
						continue
					}
					var side *baseline.Side
					if err == nil {
						side, err = baseline.FromFile(path, text)
					}
					if err != nil {
						say("%-30s not usable: %v", path, err)
						continue
					}
					row(path, side)
				}
			}
			_, err := io.WriteString(cmd.OutOrStdout(), b.String())
			return fail(err)
		},
	}
}
