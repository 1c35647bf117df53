package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
)

const diffLong = `Hold the structure of a trace against another's, or against a baseline: categories,
arguments and their types, ids, arrows, operators and the device work they start,
device time by operator, names, figures that cannot be true, rows, metadata. What
matters is told first: what was expected, what was got, where, and what to do.

BASE is a trace, or a file of flagos-trace baseline create, or Torch-FL's baseline
file. With one argument the base is the embedded baseline of torch-cuda, or the one
that --baseline names. Categories of one meaning are one, whatever the vendor calls
them (cuda_runtime, privateuse1_runtime, musa_runtime, ...). The new trace is judged
relative to the base: what is broken in both alike is no difference.

What the library of a vendor cannot deliver is told as that, with the reason, and is
no pass. Nothing recorded is no pass either. A trace that is incomplete by its own
record, or that cannot be read to its end, is compared with nothing.

--parity torch-fl asks Torch-FL's seven assertions of the trace, absolutely (traces
of torch.profiler break the second). --scope device is for traces that were recorded
without operators. docs/diff.md has all assertions and the form of the JSON.

Exit status:
  0    pass, or improvement
  1    regression: something is worse, or different
  2    inconclusive: something could not be judged
  3    incomparable, input that cannot be used, or the command line is wrong`

// diffMode is another comparison than that of structure that diff can make. Files
// of their own add one to diffModes.
type diffMode interface {
	help() (long, example string) // to stand in diff's
	addFlags(*pflag.FlagSet)
	chosen() bool // by its flags
	run(cmd *cobra.Command, args []string) error
}

var diffModes []func() diffMode

// diffFlags are the flags of diff.
type diffFlags struct {
	base, parity, scope, vendor, exceptions, capabilities string
	json, markdown, schema                                bool
}

func newDiff() *cobra.Command {
	var o diffFlags
	modes := []diffMode{}
	for _, f := range diffModes {
		modes = append(modes, f())
	}
	chosen := func() diffMode {
		for _, m := range modes {
			if m.chosen() {
				return m
			}
		}
		return nil
	}
	cmd := &cobra.Command{
		Use:   "diff [BASE] NEW",
		Short: "Hold a trace against another, or against a baseline",
		Long:  diffLong,
		Example: `  flagos-trace diff base.json.gz new.json.gz
  flagos-trace diff --baseline torch-cuda new.json.gz
  flagos-trace diff --parity torch-fl --json new.json.gz
  flagos-trace diff --markdown base.json new.json.gz >> "$GITHUB_STEP_SUMMARY"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if chosen() != nil || o.schema {
				return nil
			}
			return badInput(cobra.RangeArgs(1, 2)(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if m := chosen(); m != nil {
				return m.run(cmd, args)
			}
			return runDiff(cmd, args, &o)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badInput(err) })
	f := cmd.Flags()
	f.StringVar(&o.base, "baseline", "", "`name` of an embedded baseline, or a baseline file, to use as BASE")
	f.StringVar(&o.parity, "parity", "", "ask another set of assertions, absolutely: torch-fl")
	f.StringVar(&o.scope, "scope", "full", "full, or device: leave out what the framework's side records")
	f.StringVar(&o.vendor, "vendor", "", "`name` of the vendor of the new trace's devices, where the trace does not tell")
	f.StringVar(&o.exceptions, "exceptions", "", "YAML `file` of accepted findings: assertion, subject, reason, expires")
	f.StringVar(&o.capabilities, "capabilities", "", "YAML `file` of what vendors' libraries cannot deliver, instead of the embedded one")
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.markdown, "markdown", false, "print Markdown")
	f.BoolVar(&o.schema, "schema", false, "print the schema of the JSON and end")
	cmd.MarkFlagsMutuallyExclusive("json", "markdown", "schema")
	for _, m := range modes {
		m.addFlags(f)
		long, example := m.help()
		rules, exits, _ := strings.Cut(cmd.Long, "\n\nExit status:")
		cmd.Long = rules + "\n\n" + long + "\n\nExit status:" + exits
		cmd.Example += "\n" + example
	}
	return cmd
}

// badInput is a failure with the exit status of input that cannot be used.
func badInput(err error) error {
	if err == nil {
		return nil
	}
	return &failure{verdict.ExitIncomparable, err}
}

func runDiff(cmd *cobra.Command, args []string, o *diffFlags) error {
	if o.schema {
		_, err := cmd.OutOrStdout().Write(verdict.Schema)
		return fail(err)
	}
	opts, err := o.options()
	if err != nil {
		return badInput(err)
	}
	if o.base != "" && len(args) == 2 {
		return badInput(errors.New("BASE is given twice: as an argument, and with --baseline"))
	}
	if o.parity != "" && o.parity != baseline.ParityTorchFL {
		return badInput(fmt.Errorf("--parity is %q; it is %s", o.parity, baseline.ParityTorchFL))
	}
	base, now, err := o.sides(args)
	if err != nil {
		return badInput(err)
	}
	var r *verdict.Result
	if o.parity != "" {
		if now.Seen == nil {
			return badInput(fmt.Errorf("%s is a baseline; --parity is about a trace", now.Name))
		}
		r, err = baseline.Parity(base, now.Seen, opts)
	} else {
		r, err = baseline.Diff(base, now, opts)
	}
	if err != nil {
		return badInput(err)
	}
	return printResult(cmd.OutOrStdout(), r, o.json, o.markdown)
}

// printResult prints a result in one of its forms; the error is the exit status.
func printResult(w io.Writer, r *verdict.Result, asJSON, asMarkdown bool) error {
	write := verdict.WriteText
	switch {
	case asJSON:
		write = verdict.WriteJSON
	case asMarkdown:
		write = verdict.WriteMarkdown
	}
	if err := write(w, r); err != nil {
		return fail(err)
	}
	if status := r.Verdict.ExitStatus(); status != verdict.ExitPass {
		return &failure{status: status}
	}
	return nil
}

func (o *diffFlags) options() (baseline.Options, error) {
	opts := baseline.Options{Scope: baseline.Scope(o.scope), Vendor: o.vendor, Now: time.Now()}
	if !slices.Contains([]baseline.Scope{baseline.Full, baseline.Device}, opts.Scope) {
		return opts, fmt.Errorf("--scope is %q; it is full or device", o.scope)
	}
	if o.capabilities != "" {
		text, err := os.ReadFile(o.capabilities)
		if err != nil {
			return opts, err
		}
		if opts.Capabilities, err = baseline.ReadCapabilities(text); err != nil {
			return opts, fmt.Errorf("%s: %w", o.capabilities, err)
		}
	}
	if o.exceptions != "" {
		text, err := os.ReadFile(o.exceptions)
		if err != nil {
			return opts, err
		}
		if opts.Exceptions, err = verdict.ReadExceptions(text); err != nil {
			return opts, fmt.Errorf("%s: %w", o.exceptions, err)
		}
	}
	return opts, nil
}

// sides reads one side after the other: reading takes all processors, and of the
// first trace little is kept while the second is read.
func (o *diffFlags) sides(args []string) (base, now *baseline.Side, err error) {
	if base, err = o.baseSide(args); err != nil {
		return nil, nil, err
	}
	now, err = readSide(args[len(args)-1])
	return base, now, err
}

func (o *diffFlags) baseSide(args []string) (*baseline.Side, error) {
	switch {
	case len(args) == 2:
		return readSide(args[0])
	case o.base == "":
		return baseline.Default(), nil
	}
	return namedSide(o.base)
}

// namedSide is an embedded baseline, or what is in the file of that name.
func namedSide(name string) (*baseline.Side, error) {
	side, err := baseline.Embedded(name)
	if err == nil {
		return side, nil
	}
	if _, missing := os.Stat(name); missing != nil && !strings.ContainsAny(name, "/.") {
		return nil, err
	}
	return readSide(name)
}

// maxBaseline is the largest file that is looked at as a baseline.
const maxBaseline = 32 << 20

// readSide reads a baseline file or a trace.
func readSide(path string) (*baseline.Side, error) {
	text, err := baselineText(path)
	if err != nil {
		return nil, err
	}
	if text != nil {
		return baseline.FromFile(path, text)
	}
	o, err := observe(path)
	if err != nil {
		return nil, err
	}
	return baseline.FromTrace(o), nil
}

// baselineText returns the text of a file that is a baseline, nil if it is none.
func baselineText(path string) ([]byte, error) {
	if path == "-" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxBaseline {
		return nil, err
	}
	head := make([]byte, 1024)
	n, _ := io.ReadFull(f, head)
	if head = bytes.TrimSpace(head[:n]); len(head) == 0 || head[0] != '{' || bytes.Contains(head, []byte(`"traceEvents"`)) {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil || !shape.IsBaseline(text) {
		return nil, err
	}
	return text, nil
}

// observe reads a trace and looks at it.
func observe(path string) (*shape.Observation, error) {
	var doc *chrome.Document
	err := chrome.ReadEach(path, chrome.ReadOptions{}, func(d *chrome.Document) error {
		if doc != nil {
			return fmt.Errorf("%s holds more than one trace: unpack it, and name one", path)
		}
		doc = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	if doc.Trace.Events.Len() == 0 {
		return nil, fmt.Errorf("%s holds no events: is it a trace?", path)
	}
	return shape.Observe(doc)
}
