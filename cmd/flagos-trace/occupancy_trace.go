package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/occupancy/kernels"
	"github.com/flagos-ai/flagos-trace/record"
)

// traceHelp is the part of the help of occupancy about traces.
const traceHelp = `

--trace lists the kernels of a trace instead, each distinct configuration once: calls,
time, theoretical and estimated achieved occupancy, what the trace itself says, waves
and what limits. They are ordered by time lost: the time, times 1 - the share of the
SMs' places for warps that the launch configuration fills. That estimates where to
look first; nothing of it was measured. The device is the trace's; --device stands in
where the trace does not know its properties. Kernels of which a fact is missing are
listed with what it is.

--min and --ratchet make a gate of it, without a GPU. The ratchet file holds for each
kernel the registers, the local memory (spills) where the trace has it, and the
theoretical occupancy; --update writes it, also to accept what got worse. Names in it
are normalized. Exit status with --trace:
  0    no kernel is below the minimum or worse than in the file
  1    at least one is; each is named with by how much
  2    the trace or the file cannot be used, or there is nothing to judge
  125  the results could not be written`

const traceExample = `
  flagos-trace occupancy --trace trace.json.gz
  flagos-trace occupancy --trace trace.json.gz --min 25 --ratchet occupancy.json`

// traceOptions are the flags of occupancy --trace.
type traceOptions struct {
	trace, kernel, ratchet       string
	top                          int
	min, minAchieved, minShare   float64
	update, json, csv, fullNames bool
}

// addTraceFlags registers the flags of occupancy --trace and returns what runs the
// command when they are given; handled is false where --trace is not.
func addTraceFlags(cmd *cobra.Command) func(cmd *cobra.Command, args []string) (handled bool, err error) {
	var o traceOptions
	own := pflag.NewFlagSet("trace", pflag.ContinueOnError)
	own.StringVar(&o.trace, "trace", "", "list the kernels of this trace `file`, compressed or not; - is standard input")
	own.StringVar(&o.kernel, "kernel", "", "with --trace: only kernels whose names match this regular `expression`")
	own.IntVar(&o.top, "top", 0, "with --trace: list at most this many configurations; 0 is all (default 20 in the table)")
	own.BoolVar(&o.fullNames, "full-names", false, "with --trace: long kernel names whole in the table")
	own.Float64Var(&o.min, "min", 0, "with --trace: fail if the theoretical occupancy of a kernel is below this `percentage`")
	own.Float64Var(&o.minAchieved, "min-achieved", 0, "with --trace: fail if the estimated achieved occupancy of a kernel is below this `percentage`")
	own.Float64Var(&o.minShare, "min-share", 1, "with --min: leave kernels alone of which less than this `percentage` of the kernels' time is below it")
	own.StringVar(&o.ratchet, "ratchet", "", "with --trace: fail if a kernel has more registers or local memory, or less occupancy, than in this `file`")
	own.BoolVar(&o.update, "update", false, "with --ratchet: write the file from the trace")
	own.BoolVar(&o.json, "json", false, "print JSON")
	own.BoolVar(&o.csv, "csv", false, "with --trace: print CSV")
	cmd.Flags().AddFlagSet(own) // leaves out those that cmd has
	cmd.Long += traceHelp
	cmd.Example += traceExample
	return func(cmd *cobra.Command, args []string) (bool, error) {
		flags := cmd.Flags()
		if !flags.Changed("trace") {
			for _, name := range []string{"kernel", "top", "full-names", "min", "min-achieved", "min-share", "ratchet", "update"} {
				if flags.Changed(name) {
					return true, fmt.Errorf("--%s needs --trace", name)
				}
			}
			return false, nil
		}
		var foreign []string
		flags.Visit(func(f *pflag.Flag) {
			if own.Lookup(f.Name) == nil && !slices.Contains(traceShares, f.Name) {
				foreign = append(foreign, "--"+f.Name)
			}
		})
		if len(foreign) > 0 {
			return true, fmt.Errorf("--trace and %s do not go together", strings.Join(foreign, ", "))
		}
		if len(args) > 0 {
			return true, fmt.Errorf("--trace takes one file, and no arguments: %q", args)
		}
		// These may be flags of the whole command.
		o.json, _ = flags.GetBool("json")
		o.csv, _ = flags.GetBool("csv")
		return true, runTrace(cmd, &o)
	}
}

// traceShares are flags of the whole command that mean something with --trace.
var traceShares = []string{"device", "devices", "help"}

func (o *traceOptions) check(flags *pflag.FlagSet) error {
	percent := func(name string, v float64) error {
		if !(v >= 0 && v <= 100) {
			return fmt.Errorf("--%s %v: a percentage between 0 and 100 is expected", name, v)
		}
		return nil
	}
	if err := errors.Join(percent("min", o.min), percent("min-achieved", o.minAchieved), percent("min-share", o.minShare)); err != nil {
		return err
	}
	switch {
	case o.trace == "":
		return errors.New("--trace: the name is empty")
	case o.top < 0:
		return fmt.Errorf("--top %d: a number that is not negative is expected", o.top)
	case o.json && o.csv:
		return errors.New("--json and --csv do not go together")
	case o.update && o.ratchet == "":
		return errors.New("--update needs --ratchet")
	case flags.Changed("ratchet") && o.ratchet == "":
		return errors.New("--ratchet: the name is empty")
	case flags.Changed("min-share") && o.min == 0 && o.minAchieved == 0:
		return errors.New("--min-share needs --min or --min-achieved")
	}
	return nil
}

// unusable marks an error about what the command was given to read.
func unusable(err error) error { return &failure{exitUsage, err} }

func runTrace(cmd *cobra.Command, o *traceOptions) error {
	if err := o.check(cmd.Flags()); err != nil {
		return err
	}
	options := kernels.Options{}
	if o.kernel != "" {
		re, err := regexp.Compile(o.kernel)
		if err != nil {
			return fmt.Errorf("--kernel: %w", err)
		}
		options.Kernel = re
	}
	if err := standIn(cmd, &options); err != nil {
		return err
	}
	base, err := readRatchet(o)
	if err != nil {
		return unusable(err)
	}
	report, err := readKernels(cmd.InOrStdin(), o.trace, options)
	if err != nil {
		return unusable(fmt.Errorf("%s: %w", o.trace, err))
	}
	if len(report.Configurations) == 0 {
		return unusable(fmt.Errorf("%s: no kernel matches --kernel %s", o.trace, o.kernel))
	}

	var notes findings
	if err := notes.minimum(report, o); err != nil {
		return unusable(fmt.Errorf("%s: %w", o.trace, err))
	}
	if err := notes.hold(report, base, o); err != nil {
		return unusable(fmt.Errorf("%s: %w", o.trace, err))
	}
	if err := ignorePipe(show(cmd, report, o, &notes)); err != nil {
		return fail(err)
	}
	if notes.failed > 0 {
		return &failure{status: exitFinding}
	}
	return nil
}

// standIn takes the device that stands in for unknown ones from --device.
func standIn(cmd *cobra.Command, options *kernels.Options) error {
	if !cmd.Flags().Changed("device") {
		return nil
	}
	name, err := cmd.Flags().GetString("device")
	if err != nil {
		return err
	}
	devices, err := cmd.Flags().GetString("devices")
	if err != nil {
		return err
	}
	catalog, err := readCatalog(devices)
	if err != nil {
		return err
	}
	entry, err := catalog.Lookup(name)
	if err != nil {
		return fmt.Errorf("--device %s: %w", name, err)
	}
	if entry.NVIDIA == nil {
		return fmt.Errorf("--device %s: traces do not carry what occupancy on AMD devices follows from", name)
	}
	options.Device, options.DeviceName = entry.NVIDIA, entry.Title
	return nil
}

func readKernels(stdin io.Reader, name string, options kernels.Options) (*kernels.Report, error) {
	if name == "-" {
		return kernels.Read(stdin, options)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, withoutPath(err)
	}
	defer f.Close()
	return kernels.Read(f, options)
}

// withoutPath is an error about a file without its name.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// readRatchet reads the file of --ratchet. It need not be there with --update. What
// is there and is no ratchet is not written over.
func readRatchet(o *traceOptions) (*kernels.Ratchet, error) {
	if o.ratchet == "" {
		return nil, nil
	}
	f, err := os.Open(o.ratchet)
	if errors.Is(err, fs.ErrNotExist) {
		if o.update {
			return &kernels.Ratchet{}, nil
		}
		return nil, fmt.Errorf("%s: there is no such file; --update writes it", o.ratchet)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := kernels.ReadRatchet(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.ratchet, err)
	}
	return r, nil
}

// findings are the gates' results, as lines.
type findings struct {
	lines  []string
	failed int
}

func (f *findings) add(what string, lines ...string) {
	for _, l := range lines {
		f.lines = append(f.lines, what+": "+l)
	}
}

func (f *findings) fail(what string, lines ...string) {
	f.failed += len(lines)
	f.add(what, lines...)
}

// some adds the first lines of what is no fault, and how many more there are.
func (f *findings) some(what string, lines []string) {
	const most = 10
	f.add(what, lines[:min(len(lines), most)]...)
	if more := len(lines) - most; more > 0 {
		f.add(what, fmt.Sprintf("and %d more", more))
	}
}

// minimum judges by --min. The error says that there is nothing to judge.
func (f *findings) minimum(r *kernels.Report, o *traceOptions) error {
	if o.min == 0 && o.minAchieved == 0 {
		return nil
	}
	below, judged, unjudged := r.Below(kernels.Minimum{Percent: o.min, AchievedPercent: o.minAchieved, Share: o.minShare})
	if judged.Calls == 0 {
		return fmt.Errorf("no kernel's occupancy can be calculated, so there is nothing to judge: %s", r.Configurations[0].Reason)
	}
	for i := range below {
		f.fail("below the minimum", below[i].String())
	}
	if unjudged.Calls > 0 {
		f.add("not judged", fmt.Sprintf("%d of %d kernels, whose occupancy cannot be calculated", unjudged.Calls, unjudged.Calls+judged.Calls))
	}
	return nil
}

// hold judges by --ratchet, or updates it. The error says that it cannot be used
// for this trace.
func (f *findings) hold(r *kernels.Report, base *kernels.Ratchet, o *traceOptions) error {
	if base == nil {
		return nil
	}
	now := r.Ratchet()
	if !now.Holds() {
		return fmt.Errorf("of no kernel are registers, local memory or occupancy known, so there is nothing to hold: %s", r.Configurations[0].Reason)
	}
	if !o.update && !base.Meets(now) {
		return fmt.Errorf("%s: no kernel of the trace is in it on the same device, so there is nothing to compare; the file is for %s, the trace of %s",
			o.ratchet, base.DeviceNames(), now.DeviceNames())
	}
	c := base.Compare(now)
	note := f.fail
	if o.update {
		note = f.add
	}
	note("worse", c.Worse...)
	f.some("better", c.Better)
	f.some("new", c.New)
	if o.kernel == "" {
		f.some("gone", c.Gone)
	}
	if !o.update {
		return nil
	}
	out, err := outfile.Create(o.ratchet)
	if err != nil {
		return err
	}
	defer out.Abort()
	if err := base.Update(now, o.kernel != "").Write(out); err != nil {
		return err
	}
	return out.Commit()
}

const defaultTop = 20

func show(cmd *cobra.Command, r *kernels.Report, o *traceOptions, f *findings) error {
	v := kernels.View{Trace: o.trace, Top: o.top, FullNames: o.fullNames, Findings: f.lines}
	var out, notes bytes.Buffer
	for _, l := range f.lines {
		fmt.Fprintln(&notes, record.Printable(l, false))
	}
	to := cmd.ErrOrStderr()
	var err error
	switch {
	case o.json:
		err = r.WriteJSON(&out, v)
	case o.csv:
		err = r.WriteCSV(&out, v)
	default:
		if !cmd.Flags().Changed("top") {
			v.Top = defaultTop
		}
		err = r.WriteText(&out, v)
		if notes.Len() > 0 {
			out.WriteByte('\n')
		}
		to = &out
	}
	if err != nil {
		return err
	}
	if _, err := to.Write(notes.Bytes()); err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(out.Bytes())
	return err
}
