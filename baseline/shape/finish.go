package shape

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// requiredMembers are the top-level members without which readers of a trace do
// worse. The others depend on what was asked for.
var requiredMembers = map[string]bool{
	"schemaVersion": true, "deviceProperties": true, "distributedInfo": true, "baseTimeNanoseconds": true, "displayTimeUnit": true,
}

// metadata lists the top-level members and the keys of deviceProperties.
func (s *scanner) metadata() {
	s.shape.Metadata = map[string]*Member{}
	for i := range s.t.Metadata {
		m := &s.t.Metadata[i]
		if len(m.Raw) == 0 {
			continue
		}
		types := typeOf(chrome.Value(m.Raw)).names()
		kind := types[0]
		if kind == "array" && len(strings.TrimSpace(strings.Trim(strings.TrimSpace(string(m.Raw[:min(len(m.Raw), 4096)])), "[]"))) == 0 {
			kind = "empty array"
		}
		s.shape.Metadata[m.Key] = &Member{Presence: Always, Required: requiredMembers[m.Key], Type: kind}
	}
	if len(s.t.Devices) == 0 {
		return
	}
	s.shape.DeviceProperties = map[string]Presence{}
	for i := range s.t.Devices {
		d := &s.t.Devices[i]
		if d.Name != "" {
			s.shape.DeviceProperties["name"] = Always
		}
		for _, p := range d.Properties {
			s.shape.DeviceProperties[p.Key] = Always
		}
	}
}

// finish puts what was gathered of the categories and measures into place.
func (s *scanner) finish() {
	for _, c := range s.classes {
		if c.n == 0 {
			continue
		}
		x := &Class{Name: c.name, N: c.n, Names: c.names, NS: c.ns, First: c.first, SameTime: c.duration >= 0, Args: map[string]*ArgStat{}}
		s.keep(c.first)
		k := &Category{Presence: Always, Required: true, Spellings: union(c.spellings, nil), Args: map[string]*Arg{}}
		for i := range c.keys {
			a := &c.keys[i]
			s.keep(a.example)
			x.Args[a.key] = &ArgStat{N: a.n, First: string(a.first), Varies: a.varies, Many: len(a.values) >= ManyValues, Example: a.example}
			for name, values := range c.named {
				if i < len(values) && values[i] != "" {
					if x.Args[a.key].ByName == nil {
						x.Args[a.key].ByName = map[string]string{}
					}
					x.Args[a.key].ByName[s.t.Strings.At(name)] = values[i]
				}
			}
			k.Args[a.key] = &Arg{Required: true, Every: a.n == c.n, Types: a.types.names(), Arrays: a.forms.names(), Varies: a.varies}
		}
		for _, p := range c.pairs {
			if p.n > 0 && p.equal == p.n {
				x.Copied = append(x.Copied, Copied{c.keys[p.a].key, c.keys[p.b].key, p.n})
			}
		}
		s.o.Classes[c.name] = x
		s.shape.Categories[c.name] = k
	}
	for id, m := range s.o.Measures {
		if l, ok := m.Level(); ok {
			s.shape.Holds[id] = l
		}
	}
	source := Source{File: s.o.Name, Producer: s.o.Producer.String(), Vendor: s.o.Producer.Vendor, Devices: s.o.Devices, Versions: map[string]string{}}
	for i := range s.t.Metadata {
		m := &s.t.Metadata[i]
		if strings.HasSuffix(m.Key, "_version") && len(m.Raw) < 200 {
			source.Versions[m.Key] = string(chrome.Value(m.Raw).Text(nil))
		}
	}
	if s.o.Completeness != nil {
		source.Completeness = string(s.o.Completeness.Verdict)
	}
	s.shape.Sources = []Source{source}
}

// WithCounts adds how many events each category has, and the device time of each
// operator, to the shape: they are not the same in two runs.
func (o *Observation) WithCounts() {
	o.Shape.Counts, o.Shape.DeviceNS = map[string]int64{}, maps.Clone(o.OperatorNS)
	for name, c := range o.Classes {
		o.Shape.Counts[name] = c.N
	}
}

// CategoryNames lists the canonical names of the categories of the trace, sorted.
func (o *Observation) CategoryNames() []string { return slices.Sorted(maps.Keys(o.Classes)) }
