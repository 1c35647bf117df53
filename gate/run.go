package gate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
)

// run is a gate while its checks are made.
type run struct {
	c      *Config
	traces []string
	now    time.Time
	checks []verdict.Check
	sides  map[[2]string]*baseline.Side
}

// Against is the configuration that holds traces against one base, and checks that
// they keep the rules of package validate.
func Against(base string) *Config {
	c := &Config{Version: Version, Structure: []Structure{{Base: base}}, Validate: &Validate{}}
	if err := c.check(); err != nil {
		panic(err) // all of it is from here
	}
	return c
}

// Run makes all checks. traces stand in for the configuration's new; checks with
// traces of their own keep them. now is for exceptions that expire.
func (c *Config) Run(traces []string, now time.Time) *verdict.Report {
	r := &run{c: c, traces: traces, now: now, sides: map[[2]string]*baseline.Side{}}
	if c.Validate != nil {
		r.validate(c.Validate)
	}
	for i := range c.Structure {
		r.structure(&c.Structure[i])
	}
	for i := range c.Performance {
		r.performance(&c.Performance[i])
	}
	if c.Occupancy != nil {
		r.occupancy(c.Occupancy)
	}
	return verdict.NewReport(c.path, r.checks)
}

// news are the traces of a check.
func (r *run) news(c *Common) ([]string, error) {
	switch {
	case len(c.New) > 0:
		return r.c.files(c.New)
	case len(r.traces) > 0:
		for _, t := range r.traces {
			switch t {
			case "-":
				return nil, errStdin
			case "":
				return nil, errNoName
			}
		}
		return once(r.traces), nil
	case len(r.c.New) > 0:
		return r.c.files(r.c.New)
	}
	return nil, errors.New("there is no trace to judge: name some under new, or on the command line")
}

// add adds a check's result.
func (r *run) add(c *Common, name string, result *verdict.Result) {
	r.checks = append(r.checks, verdict.Check{Name: name, Advisory: c.Advisory, Result: result})
}

// fail adds a check that could not be made.
func (r *run) fail(c *Common, name, what, trace string, base verdict.Side, err error) {
	r.add(c, name, verdict.Unusable(what, base, verdict.Side{Name: trace, Kind: "trace"}, err))
}

// each calls f for each trace of a check, with the name of the check for it.
func (r *run) each(c *Common, what string, base verdict.Side, f func(name, path string) error) {
	title := r.c.title(c)
	paths, err := r.news(c)
	if err != nil {
		r.fail(c, title, what, "", base, err)
		return
	}
	for _, path := range paths {
		name := title
		if len(paths) > 1 {
			name += " (" + path + ")"
		}
		if err := f(name, path); err != nil {
			r.fail(c, name, what, path, base, err)
		}
	}
}

// settle applies what a configuration says of assertions and findings. Only the ids of
// structural assertions are known whatever the sides hold.
func (r *run) settle(c *Common, result *verdict.Result) error {
	list := c.Accept
	if c.Exceptions != "" {
		path := r.c.file(c.Exceptions)
		text, err := strictyaml.Text(path)
		if err != nil {
			return err
		}
		more, err := verdict.ReadExceptions(text)
		if err == nil && (result.What == "structure" || result.What == "parity") {
			err = baseline.CheckExceptions(more)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		list = slices.Concat(list, more)
	}
	if len(list) > 0 {
		if err := result.Judge(list, r.now); err != nil {
			return err
		}
	}
	unknown := result.Adjust(verdict.Settings{Ignore: c.Ignore, Severity: c.Severity})
	if len(unknown) > 0 && result.Verdict != verdict.Incomparable {
		return fmt.Errorf("ignore or severity names %s, and there is no such assertion", strings.Join(unknown, ", "))
	}
	return nil
}

// changes reports whether settle does anything.
func (c *Common) changes() bool {
	return len(c.Accept)+len(c.Ignore)+len(c.Severity) > 0 || c.Exceptions != ""
}

// side reads a side once.
func (r *run) side(name, member string, read func(name, member string) (*baseline.Side, error)) (*baseline.Side, error) {
	key := [2]string{name, member}
	if s := r.sides[key]; s != nil {
		return s, nil
	}
	s, err := read(name, member)
	if err == nil {
		r.sides[key] = s
	}
	return s, err
}

// base is what a check of structure holds traces against.
func (r *run) base(s *Structure) (*baseline.Side, error) {
	name := s.Base
	if _, err := baseline.Embedded(name); err != nil {
		name = r.c.file(name)
	}
	side, err := r.side(name, s.Member, load.Named)
	if errors.Is(err, baseline.ErrNoBaseline) {
		return nil, fmt.Errorf("base %q: %w", s.Base, err)
	}
	return side, err
}

func (r *run) structure(s *Structure) {
	what := "structure"
	if s.Parity != "" {
		what = "parity"
	}
	unread := verdict.Side{Name: s.Base, Kind: "baseline"}
	r.each(&s.Common, what, unread, func(name, path string) error {
		opts := baseline.Options{Scope: s.Scope, Vendor: s.Vendor, Now: r.now}
		if s.Capabilities != "" {
			text, err := strictyaml.Text(r.c.file(s.Capabilities))
			if err != nil {
				return err
			}
			if opts.Capabilities, err = baseline.ReadCapabilities(text); err != nil {
				return fmt.Errorf("%s: %w", s.Capabilities, err)
			}
			if err := load.CheckVendor(&opts); err != nil {
				return err
			}
		}
		base, err := r.base(s)
		if err != nil {
			return err
		}
		now, err := r.side(path, s.Member, load.Side)
		if err != nil {
			return err
		}
		var result *verdict.Result
		switch {
		case s.Parity == "":
			result, err = baseline.Diff(base, now, opts)
		case now.Seen == nil:
			err = fmt.Errorf("%s is a baseline; parity is about a trace", path)
		default:
			result, err = baseline.Parity(base, now.Seen, opts)
		}
		if err != nil {
			return err
		}
		if err := r.settle(&s.Common, result); err != nil {
			return err
		}
		r.add(&s.Common, name, result)
		return nil
	})
}
