package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/compare"
)

// diffPerfLong is the part of diff's help about --perf.
const diffPerfLong = `With --perf times are compared, not structure: BASE NEW, or BASE... --new NEW... with
any number of runs a side. Work of the devices is matched by call path, so that traces
of different vendors, of eager and compiled programs, and of graphs' replays can be
compared; tables (--by) divide all of it by operator, kernel, class of kernel, module,
annotation, step or category. With several runs a side differences are tested, and
the tests corrected for their number; changes below --min-effect do not matter. One
run a side tells nothing about changes below --noise-floor: they are inconclusive. So
is one against several, whose mean is taken. Less time for less work (operators, calls
or launches that the new side lacks, from --min-share of the device time on) is
inconclusive, too, and the reason names them; so is as much time where most work of
both sides has no counterpart. Both sides are traces; baselines have no times, and
flags about structure do not go with --perf.`

const diffPerfExample = `  flagos-trace diff --perf h100.json.gz mi300.json.gz --by operator,class --wide
  flagos-trace diff --perf base-*.json.gz --new new-*.json.gz --markdown`

func init() { diffModes = append(diffModes, func() diffMode { return new(perfDiff) }) }

// perfDiff is what diff --perf was asked for.
type perfDiff struct {
	on         bool
	now        []string // --new
	before     int      // how many arguments stand before the first --new
	flags      *pflag.FlagSet
	o          compare.Options
	view       compare.View
	rules      string
	correction string
}

func (p *perfDiff) help() (long, example string) { return diffPerfLong, diffPerfExample }

func (p *perfDiff) chosen() bool { return p.on }

func (p *perfDiff) addFlags(f *pflag.FlagSet) {
	p.flags = f
	f.BoolVar(&p.on, "perf", false, "compare times: BASE NEW, or BASE... --new NEW...")
	f.Var(newRuns{p}, "new", "with --perf: a run of the new side; `files` behind it are such, too")
	f.StringSliceVar(&p.view.By, "by", []string{"operator"}, "with --perf: tables to print: "+strings.Join(compare.Tables, ", ")+", all")
	f.IntVar(&p.view.Top, "top", 15, "with --perf: rows of a table to print")
	f.BoolVar(&p.view.Wide, "wide", false, "with --perf: print launch delay, idle time and overlap, too")
	f.Float64Var(&p.o.Alpha, "alpha", 0.05, "with --perf: how often sides that do not differ may be found to differ, at most")
	f.Float64Var(&p.o.MinEffect, "min-effect", 0.02, "with --perf: the smallest change that matters; 0.02 is 2 %")
	f.Float64Var(&p.o.MinShare, "min-share", 0.005, "with --perf: share of the device time from which on a row is tested, and missing work counts")
	f.Float64Var(&p.o.NoiseFloor, "noise-floor", 0.05, "with --perf: what times of single runs may differ by and mean nothing")
	f.StringVar(&p.correction, "correction", string(compare.Holm), "with --perf: for many tests: holm, or bh, which finds more at a rate of false alarms")
	f.StringVar(&p.rules, "match-rules", "", "with --perf: YAML `file` of names that mean the same; it adds to the built-in ones")
}

// newRuns is the value of --new. It remembers where among the arguments it stood, so
// that a shell's pattern may stand behind it.
type newRuns struct{ p *perfDiff }

func (n newRuns) Set(s string) error {
	if len(n.p.now) == 0 {
		n.p.before = n.p.flags.NArg()
	}
	n.p.now = append(n.p.now, s)
	return nil
}

func (n newRuns) Type() string { return "files" }

func (n newRuns) String() string {
	if n.p == nil {
		return ""
	}
	return strings.Join(n.p.now, ", ")
}

// sides tells the runs of the base from those of the new side.
func (p *perfDiff) sides(args []string) (base, now []string, err error) {
	switch {
	case len(p.now) == 0 && len(args) == 2:
		return args[:1], args[1:], nil
	case len(p.now) == 0:
		return nil, nil, fmt.Errorf("--perf needs two files, or BASE... --new NEW...; there is no --new, and %d files", len(args))
	case p.before == 0:
		return nil, nil, errors.New("--perf needs a file of the base before --new")
	}
	return args[:p.before], slices.Concat(p.now, args[p.before:]), nil
}

// run compares and prints; the error is the exit status.
func (p *perfDiff) run(cmd *cobra.Command, args []string, out *outputs) error {
	w := cmd.OutOrStdout()
	if on, _ := p.flags.GetBool("schema"); on {
		_, err := w.Write(compare.ReportSchema)
		return fail(err)
	}
	base, now, err := p.sides(args)
	if err == nil {
		all := slices.Concat(base, now)
		err = cmp.Or(onceStdin(all...), out.apart(all...))
	}
	if err == nil {
		err = p.check()
	}
	if err == nil && p.rules != "" {
		p.o.Rules, err = compare.LoadRules(p.rules)
	}
	if err != nil {
		return badInput(err)
	}
	r, bad, err := p.compare(base, now)
	result := r.Result()
	if bad != "" {
		result.New.Name = bad // what forms for pipelines point at
	}
	report := verdict.One("diff --perf", result)
	forms := map[string]func(io.Writer) error{
		"text":     func(w io.Writer) error { return r.WriteText(w, p.view) },
		"markdown": func(w io.Writer) error { return r.WriteMarkdown(w, p.view) },
		"json":     r.WriteJSON,
	}
	if err != nil {
		return out.unusable(w, report, forms, err)
	}
	return out.write(w, report, forms)
}

// compare reads the runs and compares them. If one cannot be read, the report says
// so, as the error does; bad is its name, if it is of the new side.
func (p *perfDiff) compare(base, now []string) (r *compare.Report, bad string, err error) {
	member, _ := p.flags.GetString("member")
	var inputs [2][]compare.Input
	for side, names := range [2][]string{base, now} {
		for _, name := range names {
			in, err := load.Run(name, member)
			if err != nil {
				if side == int(compare.New) {
					bad = name
				}
				return compare.Unusable(base, now, p.o, err), bad, err
			}
			inputs[side] = append(inputs[side], in)
		}
	}
	return compare.Run(inputs[0], inputs[1], p.o), "", nil
}

func (p *perfDiff) check() error {
	for _, v := range []struct {
		flag string
		is   float64
	}{{"alpha", p.o.Alpha}, {"min-effect", p.o.MinEffect}, {"min-share", p.o.MinShare}, {"noise-floor", p.o.NoiseFloor}} {
		if !(v.is > 0 && v.is < 1) { // NaN, too
			return fmt.Errorf("--%s is %v; it lies between 0 and 1", v.flag, v.is)
		}
	}
	p.o.Correction = compare.Correction(p.correction)
	if p.o.Correction != compare.Holm && p.o.Correction != compare.BH {
		return fmt.Errorf("--correction is %q; it is holm or bh", p.correction)
	}
	if p.view.Top < 1 {
		return fmt.Errorf("--top is %d; it is at least 1", p.view.Top)
	}
	if len(p.view.By) == 0 {
		return fmt.Errorf("--by is empty; there are %s, and all", strings.Join(compare.Tables, ", "))
	}
	if slices.Contains(p.view.By, "all") {
		p.view.By = compare.Tables
	}
	for _, by := range p.view.By {
		if !slices.Contains(compare.Tables, by) {
			return fmt.Errorf("--by names %q; there are %s, and all", by, strings.Join(compare.Tables, ", "))
		}
	}
	return nil
}
