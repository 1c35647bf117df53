package gate

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/compare"
	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
	"github.com/flagos-ai/flagos-trace/validate"
)

// ErrConfig: a configuration cannot be used.
var ErrConfig = errors.New("gate: bad configuration")

// Version is that of the form of configurations.
const Version = 1

// Config is what a gate checks. Keys of the YAML are the fields in lower case, with _
// between words; example.yaml explains them.
type Config struct {
	Version     whole         `yaml:"version"`
	New         Patterns      `yaml:"new"`
	Structure   []Structure   `yaml:"structure"`
	Performance []Performance `yaml:"performance"`
	Validate    *Validate     `yaml:"validate"`
	Occupancy   *Occupancy    `yaml:"occupancy"`

	path, dir string
	lines     map[string][]int // on which checks begin, by kind
}

// Patterns are names of files, in which * ? [] stand for others. In YAML one of them
// need not be a list.
type Patterns []string

// Common is what all kinds of checks have.
type Common struct {
	Name string `yaml:"name"`
	// New are the traces of this check, instead of those of the whole gate.
	New Patterns `yaml:"new"`
	// Member names the trace in zip archives.
	Member string `yaml:"member"`
	// Advisory: it is told, and does not count.
	Advisory bool `yaml:"advisory"`
	// Ignore are assertions that are not asked, Severity replaces that of findings; *
	// stands for anything.
	Ignore   []string                    `yaml:"ignore"`
	Severity map[string]verdict.Severity `yaml:"severity"`
	// Accept are accepted findings, Exceptions a file of such.
	Accept     []verdict.Exception `yaml:"accept"`
	Exceptions string              `yaml:"exceptions"`
}

// Structure holds each trace against a base.
type Structure struct {
	Common       `yaml:",inline"`
	Base         string         `yaml:"base"` // embedded baseline, file of one, or trace; "" is baseline.DefaultName
	Parity       string         `yaml:"parity"`
	Scope        baseline.Scope `yaml:"scope"`
	Vendor       string         `yaml:"vendor"`
	Capabilities string         `yaml:"capabilities"`
}

// Performance holds the times of all traces, as runs of one program, against those of
// the base.
type Performance struct {
	Common     `yaml:",inline"`
	Base       Patterns           `yaml:"base"`
	Alpha      *float64           `yaml:"alpha"`
	MinEffect  *float64           `yaml:"min_effect"`
	MinShare   *float64           `yaml:"min_share"`
	NoiseFloor *float64           `yaml:"noise_floor"`
	Correction compare.Correction `yaml:"correction"`
	MatchRules string             `yaml:"match_rules"`
	Metrics    []string           `yaml:"metrics"` // what decides; none: all
	Budgets    []Budget           `yaml:"budgets"`
}

// Budget is compare.Budget in YAML: exactly one of the tables names the rows.
type Budget struct {
	Operator    string         `yaml:"operator"`
	Kernel      string         `yaml:"kernel"`
	Class       string         `yaml:"class"`
	Module      string         `yaml:"module"`
	Annotation  string         `yaml:"annotation"`
	Category    string         `yaml:"category"`
	MaxIncrease *float64       `yaml:"max_increase"`
	MaxTime     *time.Duration `yaml:"max_time"`
	MaxCount    *whole         `yaml:"max_count"`
}

// Validate checks each trace by the rules of package validate.
type Validate struct {
	Common  `yaml:",inline"`
	FailOn  string   `yaml:"fail_on"` // error, warning or note; "" is error
	Rules   []string `yaml:"rules"`   // only these; none: all
	NoRules []string `yaml:"no_rules"`
}

// Occupancy checks the occupancy of each trace's kernels, in percent.
type Occupancy struct {
	Common      `yaml:",inline"`
	Min         float64  `yaml:"min"`
	MinAchieved float64  `yaml:"min_achieved"`
	MinShare    *float64 `yaml:"min_share"` // of the kernels' time; nil is 1
	Ratchet     string   `yaml:"ratchet"`
}

// Metrics are what can decide a check of performance, with the assertions they are.
var Metrics = map[string]string{
	"device-time": compare.AssertDevice, "whole-time": compare.AssertWhole, "operator-time": compare.AssertOperators,
}

// Load reads a configuration, - being standard input, whose paths are relative to the
// working directory. Errors wrap ErrConfig, or are the system's.
func Load(path string) (*Config, error) {
	text, err := strictyaml.Text(path)
	if err != nil {
		return nil, err
	}
	c, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.path, c.dir = path, filepath.Dir(path)
	return c, nil
}

// Parse reads the text of a configuration; its paths are relative to the working
// directory. Keys that it does not know are errors. Errors wrap ErrConfig.
func Parse(text []byte) (*Config, error) {
	var c Config
	if err := strict(text, &c); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return &c, nil
}

func (c *Config) check() error {
	if c.Version != Version {
		return fmt.Errorf("version is %d; it is %d", c.Version, Version)
	}
	if len(c.Structure)+len(c.Performance) == 0 && c.Validate == nil && c.Occupancy == nil {
		return errors.New("it asks for no check: it needs structure, performance, validate or occupancy")
	}
	for i := range c.Structure {
		s := &c.Structure[i]
		if err := s.check(); err != nil {
			return fmt.Errorf("structure %d: %w", i+1, err)
		}
	}
	for i := range c.Performance {
		if err := c.Performance[i].check(); err != nil {
			return fmt.Errorf("performance %d: %w", i+1, err)
		}
	}
	if v := c.Validate; v != nil {
		if err := v.check(); err != nil {
			return fmt.Errorf("validate: %w", err)
		}
	}
	if o := c.Occupancy; o != nil {
		if err := o.check(); err != nil {
			return fmt.Errorf("occupancy: %w", err)
		}
	}
	return c.distinct()
}

func (c *Common) check() error {
	for id, s := range c.Severity {
		if _, err := s.Rank(); err != nil {
			return fmt.Errorf("severity of %s: %w", id, err)
		}
	}
	for i, e := range c.Accept {
		if err := e.Check(); err != nil {
			return fmt.Errorf("accept %d: %w", i+1, err)
		}
	}
	return nil
}

func (s *Structure) check() error {
	if s.Scope == "" {
		s.Scope = baseline.Full
	}
	if s.Base == "" {
		s.Base = baseline.DefaultName
	}
	if s.Scope != baseline.Full && s.Scope != baseline.Device {
		return fmt.Errorf("scope is %q; it is full or device", s.Scope)
	}
	if s.Parity != "" && s.Parity != baseline.ParityTorchFL {
		return fmt.Errorf("parity is %q; it is %s", s.Parity, baseline.ParityTorchFL)
	}
	if s.Capabilities == "" { // else its table may know more; that is read with the traces
		if err := load.CheckVendor(&baseline.Options{Vendor: s.Vendor}); err != nil {
			return err
		}
	}
	if err := baseline.CheckExceptions(s.Accept); err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	return s.Common.check()
}

func (p *Performance) check() error {
	if len(p.Base) == 0 {
		return errors.New("base is missing: it needs the runs to compare with")
	}
	for name, v := range map[string]*float64{"alpha": p.Alpha, "min_effect": p.MinEffect, "min_share": p.MinShare, "noise_floor": p.NoiseFloor} {
		if v != nil && !(*v > 0 && *v < 1) {
			return fmt.Errorf("%s is %v; it lies between 0 and 1", name, *v)
		}
	}
	if p.Correction != "" && p.Correction != compare.Holm && p.Correction != compare.BH {
		return fmt.Errorf("correction is %q; it is holm or bh", p.Correction)
	}
	for _, m := range p.Metrics {
		if Metrics[m] == "" {
			return fmt.Errorf("metrics has %q; there are device-time, whole-time and operator-time", m)
		}
	}
	for i := range p.Budgets {
		if _, err := p.Budgets[i].budget(); err != nil {
			return fmt.Errorf("budget %d: %w", i+1, err)
		}
	}
	return p.Common.check()
}

func (b *Budget) budget() (compare.Budget, error) {
	out := compare.Budget{MaxIncrease: b.MaxIncrease, MaxTime: b.MaxTime, MaxCount: (*int64)(b.MaxCount)}
	for by, name := range map[string]string{"operator": b.Operator, "kernel": b.Kernel, "class": b.Class, "module": b.Module, "annotation": b.Annotation, "category": b.Category} {
		if name == "" {
			continue
		}
		if out.By != "" {
			return out, fmt.Errorf("it names both %s and %s; it is about one", min(by, out.By), max(by, out.By))
		}
		out.By, out.Name = by, name
	}
	switch {
	case out.By == "":
		return out, errors.New("it needs an operator, kernel, class, module, annotation or category")
	case b.MaxIncrease == nil && b.MaxTime == nil && b.MaxCount == nil:
		return out, errors.New("it needs max_increase, max_time or max_count")
	case b.MaxIncrease != nil && !(*b.MaxIncrease >= 0 && *b.MaxIncrease <= 1000):
		return out, fmt.Errorf("max_increase is %v; 0.05 is 5 %%", *b.MaxIncrease)
	case b.MaxTime != nil && *b.MaxTime < 0, b.MaxCount != nil && *b.MaxCount < 0:
		return out, errors.New("a limit is negative")
	}
	return out, nil
}

func (v *Validate) check() error {
	if v.FailOn == "" {
		v.FailOn = validate.Error.String()
	}
	if _, ok := validate.ParseSeverity(v.FailOn); !ok {
		return fmt.Errorf("fail_on is %q; it is error, warning or note", v.FailOn)
	}
	known := validate.Rules()
	for _, id := range slices.Concat(v.Rules, v.NoRules) {
		if !slices.ContainsFunc(known, func(r validate.Rule) bool { return r.ID == id }) {
			return fmt.Errorf("there is no rule %q; flagos-trace validate --list has all", id)
		}
	}
	return v.Common.check()
}

func (o *Occupancy) check() error {
	if o.MinShare == nil {
		one := 1.0
		o.MinShare = &one
	}
	for name, v := range map[string]float64{"min": o.Min, "min_achieved": o.MinAchieved, "min_share": *o.MinShare} {
		if !(v >= 0 && v <= 100) {
			return fmt.Errorf("%s is %v; it is a percentage", name, v)
		}
	}
	if o.Min == 0 && o.MinAchieved == 0 && o.Ratchet == "" {
		return errors.New("it needs min, min_achieved or ratchet")
	}
	return o.Common.check()
}
