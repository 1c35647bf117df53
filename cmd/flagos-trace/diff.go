package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
)

const diffLong = `Hold the structure of a trace against another's, or against a baseline: categories,
arguments and their types, ids, arrows, operators and the device work they start,
device time by operator, names, figures that cannot be true, rows, metadata. What
matters is told first: what was expected, what was got, where, and what to do.

BASE is a trace, or a file of flagos-trace baseline create, or Torch-FL's baseline
file. NEW is a trace, and a baseline only where BASE is one. With one argument the base
is the embedded baseline of torch-cuda, or the one that --baseline names. Categories
of one meaning are one, whatever the vendor calls them (cuda_runtime,
privateuse1_runtime, musa_runtime, ...). The new trace is judged relative to the base:
what is broken in both alike is no difference.

What the library of a vendor cannot deliver is told as that, with the reason, and is
no pass. Nothing recorded is no pass either. A trace that is incomplete by its own
record, or that cannot be read to its end, is compared with nothing.

--parity torch-fl asks Torch-FL's seven assertions of the trace, absolutely (traces
of torch.profiler break the second). --scope device is for traces that were recorded
without operators. docs/diff.md has all assertions and the form of the JSON.

` + outputsHelp + `

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
	run(cmd *cobra.Command, args []string, out *outputs) error
}

var diffModes []func() diffMode

// diffFlags are the flags of diff.
type diffFlags struct {
	base, parity, scope, vendor, exceptions, capabilities, member string
	schema                                                        bool
	out                                                           outputs
}

func newDiff() *cobra.Command {
	var o diffFlags
	modes := []diffMode{}
	var modeFlags []string
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
  flagos-trace diff -o junit=diff.xml -o sarif=diff.sarif base.json new.json.gz
  flagos-trace diff --markdown base.json new.json.gz > diff.md`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := checkMode(cmd.Flags(), chosen() != nil, modeFlags); err != nil {
				return badInput(err)
			}
			if chosen() != nil || o.schema {
				return nil
			}
			return badInput(cobra.RangeArgs(1, 2)(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.out.check(); err != nil {
				return badInput(err)
			}
			inputs := slices.Concat(args, []string{o.base, o.exceptions, o.capabilities})
			if err := cmp.Or(o.out.apart(inputs...), onceStdin(inputs...)); err != nil {
				return badInput(err)
			}
			if m := chosen(); m != nil {
				return m.run(cmd, args, &o.out)
			}
			return runDiff(cmd, args, &o)
		},
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return badInput(flagError(err)) })
	f := cmd.Flags()
	f.StringVar(&o.base, "baseline", "", "`name` of an embedded baseline, or a baseline file, to use as BASE")
	f.StringVar(&o.parity, "parity", "", "ask another set of assertions, absolutely: torch-fl")
	f.StringVar(&o.scope, "scope", "full", "full, or device: leave out what the framework's side records")
	f.StringVar(&o.vendor, "vendor", "", "`name` of the vendor of the new trace's devices, where the trace does not tell")
	f.StringVar(&o.exceptions, "exceptions", "", "YAML `file` of accepted findings: assertion, subject, reason, expires")
	f.StringVar(&o.capabilities, "capabilities", "", "YAML `file` of what vendors' libraries cannot deliver, instead of the embedded one")
	f.StringVar(&o.member, "member", "", "`name` of the trace in zip archives")
	o.out.addFlags(f)
	f.BoolVar(&o.schema, "schema", false, "print the schema of the JSON and end")
	for _, m := range modes {
		modeFlags = append(modeFlags, added(f, m.addFlags)...)
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
		name := cmp.Or(o.base, baseline.DefaultName)
		if len(args) == 2 {
			name = args[0]
		}
		r := verdict.Unusable("structure", verdict.Side{Name: name, Kind: "trace"}, verdict.Side{Name: args[len(args)-1], Kind: "trace"}, err)
		return o.out.unusable(cmd.OutOrStdout(), verdict.One("diff", r), diffForms(r), err)
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
	return o.out.write(cmd.OutOrStdout(), verdict.One("diff", r), diffForms(r))
}

// diffForms are the forms of one comparison that are not those of a gate.
func diffForms(r *verdict.Result) map[string]func(io.Writer) error {
	return map[string]func(io.Writer) error{"json": func(w io.Writer) error { return verdict.WriteJSON(w, r) }}
}

func (o *diffFlags) options() (baseline.Options, error) {
	opts := baseline.Options{Scope: baseline.Scope(o.scope), Vendor: o.vendor, Now: time.Now()}
	if !slices.Contains([]baseline.Scope{baseline.Full, baseline.Device}, opts.Scope) {
		return opts, fmt.Errorf("--scope is %q; it is full or device", o.scope)
	}
	if o.capabilities != "" {
		text, err := strictyaml.Text(o.capabilities)
		if err != nil {
			return opts, err
		}
		if opts.Capabilities, err = baseline.ReadCapabilities(text); err != nil {
			return opts, fmt.Errorf("%s: %w", o.capabilities, err)
		}
	}
	if err := load.CheckVendor(&opts); err != nil {
		return opts, fmt.Errorf("--%w", err)
	}
	if o.exceptions != "" {
		text, err := strictyaml.Text(o.exceptions)
		if err != nil {
			return opts, err
		}
		if opts.Exceptions, err = verdict.ReadExceptions(text); err != nil {
			return opts, fmt.Errorf("%s: %w", o.exceptions, err)
		}
	}
	return opts, nil
}

func (o *diffFlags) sides(args []string) (base, now *baseline.Side, err error) {
	return load.Both(func() (*baseline.Side, error) { return o.baseSide(args) },
		func() (*baseline.Side, error) { return load.Side(args[len(args)-1], o.member) })
}

func (o *diffFlags) baseSide(args []string) (*baseline.Side, error) {
	switch {
	case len(args) == 2:
		return load.Side(args[0], o.member)
	case o.base == "":
		return baseline.Default(), nil
	}
	return load.Named(o.base, o.member)
}
