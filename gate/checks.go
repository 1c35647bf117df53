package gate

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// check is a check of a configuration, of whatever kind.
type check struct {
	*Common
	kind  string
	at    int    // of its kind, from 0
	title string // its name, or the one it has without
	reads []string
}

// all are the checks in the order in which they are made.
func (c *Config) all() (list []check) {
	add := func(o *Common, kind string, at int, title string, reads ...string) {
		if o.Name != "" {
			title = o.Name
		}
		list = append(list, check{o, kind, at, title, append(reads, o.Exceptions)})
	}
	if v := c.Validate; v != nil {
		add(&v.Common, "validate", 0, "validate")
	}
	for i := range c.Structure {
		s := &c.Structure[i]
		add(&s.Common, "structure", i, "structure against "+s.Base, s.Base, s.Capabilities)
	}
	for i := range c.Performance {
		p := &c.Performance[i]
		add(&p.Common, "performance", i, "performance", p.MatchRules)
	}
	if o := c.Occupancy; o != nil {
		add(&o.Common, "occupancy", 0, "occupancy", o.Ratchet)
	}
	return list
}

// title is the name of a check, given or not.
func (c *Config) title(o *Common) string {
	for _, k := range c.all() {
		if k.Common == o {
			return k.title
		}
	}
	return o.Name
}

// distinct says so if two checks are called the same: reports name checks, and what
// reads reports knows findings by them.
func (c *Config) distinct() error {
	seen := map[string]check{}
	for _, k := range c.all() {
		first, twice := seen[k.title]
		if twice {
			return fmt.Errorf("%s and %s are both called %q: give each a name of its own", c.place(first), c.place(k), k.title)
		}
		seen[k.title] = k
	}
	return nil
}

// place names a check by its line.
func (c *Config) place(k check) string {
	if lines := c.lines[k.kind]; k.at < len(lines) {
		return fmt.Sprintf("line %d (%s)", lines[k.at], k.kind)
	}
	return fmt.Sprintf("%s %d", k.kind, k.at+1)
}

// checkLines are the lines on which checks begin, by kind. A list of checks with
// nothing in it, or in one of its entries, would be passed over: that is an error.
func checkLines(text []byte) (map[string][]int, error) {
	var doc yaml.Node
	lines := map[string][]int{}
	if err := yaml.Unmarshal(text, &doc); err != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return lines, err
	}
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		key, value := top[i], top[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		list := key.Value == "structure" || key.Value == "performance"
		if list && (value.ShortTag() == "!!null" || value.Kind == yaml.SequenceNode && len(value.Content) == 0) {
			return nil, fmt.Errorf("line %d: %s is empty: it needs a list of checks", key.Line, key.Value)
		}
		if value.Kind != yaml.SequenceNode {
			lines[key.Value] = []int{key.Line}
			continue
		}
		for _, item := range value.Content {
			if list && item.ShortTag() == "!!null" {
				return nil, fmt.Errorf("line %d: an entry of %s is empty; {} is one with all defaults", item.Line, key.Value)
			}
			lines[key.Value] = append(lines[key.Value], item.Line)
		}
	}
	return lines, nil
}

// Inputs are the files that Run would read, as far as they can be told, so that a
// command does not write over one. traces are those of the command line.
func (c *Config) Inputs(traces []string) []string {
	out := append([]string{}, traces...)
	if c.path != "" {
		out = append(out, c.path)
	}
	add := func(list Patterns) {
		for _, p := range list {
			found, _ := c.files(Patterns{p}) // what is wrong with it is told by the check
			out = append(out, found...)
		}
	}
	if len(traces) == 0 {
		add(c.New)
	}
	for _, k := range c.all() {
		add(k.New)
		for _, path := range k.reads {
			if path != "" {
				out = append(out, c.file(path))
			}
		}
	}
	for i := range c.Performance {
		add(c.Performance[i].Base)
	}
	return out
}
