package shape

import (
	"maps"
	"slices"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// Presence says in how many of the traces that a shape was made of something was.
type Presence string

// Presences.
const (
	Always    Presence = "always"    // in all that could have it
	Sometimes Presence = "sometimes" // in some of them
)

// Shape is what one trace, or several of a kind, are made of.
type Shape struct {
	Schema  string   `json:"schema,omitempty"` // SchemaName; files of older versions have none
	Format  string   `json:"format"`           // "flagos-trace-baseline"
	Version int      `json:"version"`
	Name    string   `json:"name,omitempty"`
	Note    string   `json:"note,omitempty"`
	Sources []Source `json:"sources,omitempty"`

	Categories map[string]*Category `json:"categories"` // by canonical name
	// KnownGaps are categories that may be missing, and why.
	KnownGaps map[string]string `json:"known_gaps,omitempty"`
	// Equivalents are categories that count as one, beyond Canonical's.
	Equivalents [][]string           `json:"equivalents,omitempty"`
	Flows       map[string]*Flow     `json:"flows,omitempty"`     // by kind
	Operators   map[string]*Operator `json:"operators,omitempty"` // by name
	// Calls are the names of API calls, runtime and driver.
	Calls    map[string]Presence `json:"calls,omitempty"`
	Metadata map[string]*Member  `json:"metadata,omitempty"` // top-level members
	// DeviceProperties are the keys of deviceProperties.
	DeviceProperties map[string]Presence `json:"device_properties,omitempty"`
	// Rows are names of rows, with numbers as #, by what the row is.
	Rows map[string]map[string]Presence `json:"rows,omitempty"`
	// Holds says, by the id of a measure, how many of what was looked at broke it.
	Holds map[string]Level `json:"holds,omitempty"`
	// Exceptions are findings against this baseline that somebody has accepted.
	Exceptions []verdict.Exception `json:"exceptions,omitempty"`
	// Counts and DeviceNS are there only if they were asked for: events by category,
	// and device time by operator in ns, of the first source.
	Counts   map[string]int64 `json:"counts,omitempty"`
	DeviceNS map[string]int64 `json:"device_ns,omitempty"`

	// partial: made of a file that holds categories and arguments only.
	partial bool
}

// SchemaName names the form of a baseline file, as it is named in all documents of
// this program. Format and Version say the same, and are older.
const (
	SchemaName = "flagos-trace.baseline/1"
	Format     = "flagos-trace-baseline"
	Version    = 1
)

// Source is where a shape comes from.
type Source struct {
	File     string   `json:"file,omitempty"`
	SHA256   string   `json:"sha256,omitempty"` // of the file's bytes
	Producer string   `json:"producer,omitempty"`
	Vendor   string   `json:"vendor,omitempty"`
	Devices  []string `json:"devices,omitempty"`
	// Versions are top-level members that say a version, as they stood.
	Versions     map[string]string `json:"versions,omitempty"`
	Completeness string            `json:"completeness,omitempty"`
}

// Category is one category of events.
type Category struct {
	Presence Presence `json:"presence"`
	// Required: a trace without it is worse.
	Required  bool            `json:"required,omitempty"`
	Spellings []string        `json:"spellings,omitempty"` // other than the canonical name
	Args      map[string]*Arg `json:"args,omitempty"`
}

// Arg is one key among the arguments of a category's events.
type Arg struct {
	Required bool `json:"required,omitempty"` // a trace without it is worse
	Every    bool `json:"every,omitempty"`    // each event of the category has it
	// Types are JSON's, with "integer" for numbers without a fraction.
	Types []string `json:"types,omitempty"`
	// Arrays are the forms of its arrays, on device work and API calls, as count and
	// types of their elements: "3 integer". There are none where they are too many.
	Arrays []string `json:"arrays,omitempty"`
	// Varies: not all events have one value.
	Varies bool `json:"varies,omitempty"`
}

// Flow is one kind of arrows.
type Flow struct {
	Presence Presence `json:"presence"`
	// From and To are the categories that its two ends stand on.
	From []string `json:"from,omitempty"`
	To   []string `json:"to,omitempty"`
}

// Operator is one name of operators.
type Operator struct {
	Presence Presence `json:"presence"`
	// Work are the kinds of device work (kernel, gpu_memcpy, gpu_memset) that the
	// operator itself starts, not those inside it. Always: in every trace that has the
	// operator.
	Work map[string]Presence `json:"work,omitempty"`
	// Kernels are the names of its kernels, without arguments.
	Kernels []string `json:"kernels,omitempty"`
}

// Member is one top-level member of the document.
type Member struct {
	Presence Presence `json:"presence"`
	Required bool     `json:"required,omitempty"`
	Type     string   `json:"type"`
}

// Level says how many of what a measure looked at broke it.
type Level string

// Levels, the best first. They are coarse, so that two runs have the same.
const (
	None Level = "none"
	Few  Level = "few"  // up to 5 %
	Some Level = "some" // up to half
	Most Level = "most"
)

// Rank orders levels, 0 being the best.
func (l Level) Rank() int { return slices.Index([]Level{None, Few, Some, Most}, l) }

// Partial reports whether the shape says nothing beyond categories and arguments.
func (s *Shape) Partial() bool { return s.partial }

// Merge adds what another trace of the kind is made of: what is not in both is
// then marked as not always there and not required.
func (s *Shape) Merge(o *Shape) {
	s.Sources = append(s.Sources, o.Sources...)
	mergeMap(&s.Categories, o.Categories, func(c *Category) { c.Presence, c.Required = Sometimes, false }, (*Category).merge)
	mergeMap(&s.Flows, o.Flows, func(f *Flow) { f.Presence = Sometimes }, func(f, g *Flow) {
		f.Presence = both(f.Presence, g.Presence)
		f.From, f.To = union(f.From, g.From), union(f.To, g.To)
	})
	mergeMap(&s.Operators, o.Operators, func(p *Operator) { p.Presence = Sometimes }, func(p, q *Operator) {
		p.Presence = both(p.Presence, q.Presence)
		mergePresence(&p.Work, q.Work)
		p.Kernels = union(p.Kernels, q.Kernels)
	})
	mergeMap(&s.Metadata, o.Metadata, func(m *Member) { m.Presence, m.Required = Sometimes, false }, func(m, n *Member) {
		m.Presence, m.Required = both(m.Presence, n.Presence), m.Required && n.Required
		if m.Type != n.Type {
			m.Type = ""
		}
	})
	mergePresence(&s.Calls, o.Calls)
	mergePresence(&s.DeviceProperties, o.DeviceProperties)
	for kind, names := range o.Rows {
		have := s.Rows[kind]
		mergePresence(&have, names)
		if s.Rows == nil {
			s.Rows = map[string]map[string]Presence{}
		}
		s.Rows[kind] = have
	}
	for id, level := range o.Holds {
		if have, ok := s.Holds[id]; !ok || level.Rank() > have.Rank() {
			if s.Holds == nil {
				s.Holds = map[string]Level{}
			}
			s.Holds[id] = level
		}
	}
	maps.Copy(s.knownGaps(), o.KnownGaps)
	s.Equivalents = append(s.Equivalents, o.Equivalents...)
	s.Exceptions = append(s.Exceptions, o.Exceptions...)
	s.Counts, s.DeviceNS = nil, nil
	s.partial = s.partial && o.partial
}

func (s *Shape) knownGaps() map[string]string {
	if s.KnownGaps == nil {
		s.KnownGaps = map[string]string{}
	}
	return s.KnownGaps
}

func (c *Category) merge(o *Category) {
	c.Presence, c.Required = both(c.Presence, o.Presence), c.Required && o.Required
	c.Spellings = union(c.Spellings, o.Spellings)
	mergeMap(&c.Args, o.Args, func(a *Arg) { a.Required, a.Every = false, false }, func(a, b *Arg) {
		a.Required, a.Every, a.Varies = a.Required && b.Required, a.Every && b.Every, a.Varies || b.Varies
		a.Types, a.Arrays = union(a.Types, b.Types), mergeArrays(a, b)
	})
}

// mergeMap merges b into a; alone is called for what is in one of them only.
func mergeMap[T any](a *map[string]*T, b map[string]*T, alone func(*T), merge func(a, b *T)) {
	if *a == nil {
		*a = map[string]*T{}
	}
	for name, v := range *a {
		if b[name] == nil {
			alone(v)
		}
	}
	for name, v := range b {
		if have := (*a)[name]; have != nil {
			merge(have, v)
			continue
		}
		c := *v
		alone(&c)
		(*a)[name] = &c
	}
}

func mergePresence(a *map[string]Presence, b map[string]Presence) {
	if *a == nil {
		*a = map[string]Presence{}
	}
	for name := range *a {
		if _, ok := b[name]; !ok {
			(*a)[name] = Sometimes
		}
	}
	for name, p := range b {
		if have, ok := (*a)[name]; ok {
			(*a)[name] = both(have, p)
		} else {
			(*a)[name] = Sometimes
		}
	}
}

func both(a, b Presence) Presence {
	if a == Always && b == Always {
		return Always
	}
	return Sometimes
}

// union merges two sorted lists without repetition.
func union(a, b []string) []string {
	out := append(slices.Clone(a), b...)
	slices.Sort(out)
	return slices.Compact(out)
}
