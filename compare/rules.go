package compare

import (
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
	"github.com/flagos-ai/flagos-trace/timeline"
)

//go:embed rules.yaml
var defaultRules []byte

// ErrRules: a rules file cannot be used.
var ErrRules = errors.New("bad rules")

// Rules say what is the same though it is called differently. Make them with
// DefaultRules or LoadRules; then they are only read.
type Rules struct {
	operators map[string]string // exact names, lower case, to what they are compared under
	globs     []rename
	vary      []vary
	compiled  []pattern
	graphs    []pattern
	kernels   []classRule
	families  map[string]string // class to family
}

type rename struct {
	pattern pattern
	to      string
}

type vary struct {
	Prefix string `yaml:"prefix"`
	Cut    string `yaml:"cut"`
}

type classRule struct {
	class string
	any   []pattern
}

type rulesFile struct {
	Operators map[string][]string `yaml:"operators"`
	Vary      []vary              `yaml:"vary"`
	Compiled  []string            `yaml:"compiled"`
	Graphs    []string            `yaml:"graphs"`
	Kernels   []struct {
		Class string   `yaml:"class"`
		Any   []string `yaml:"any"`
	} `yaml:"kernels"`
	Families map[string][]string `yaml:"families"`
}

var builtin = sync.OnceValue(func() *Rules {
	r, err := new(Rules).Extend(defaultRules)
	if err != nil {
		panic("compare: the embedded rules: " + err.Error()) // a test loads them
	}
	return r
})

// DefaultRules are the rules that come with this package.
func DefaultRules() *Rules { return builtin() }

// LoadRules returns the default rules extended by a YAML file of the same form,
// whose entries go first. Errors wrap ErrRules, or are those of the system.
func LoadRules(path string) (*Rules, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err // it names the file
	}
	r, err := DefaultRules().Extend(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Extend returns r with the rules of a YAML text added. Errors wrap ErrRules.
func (r *Rules) Extend(text []byte) (*Rules, error) {
	var f rulesFile
	if err := strictyaml.Read(text, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRules, err)
	}
	c := &Rules{operators: maps.Clone(r.operators), families: maps.Clone(r.families)}
	if c.operators == nil {
		c.operators, c.families = map[string]string{}, map[string]string{}
	}
	for _, to := range slices.Sorted(maps.Keys(f.Operators)) {
		for _, from := range f.Operators[to] {
			if strings.Contains(from, "*") {
				c.globs = append(c.globs, rename{whole(from), to})
			} else {
				c.operators[strings.ToLower(from)] = to
			}
		}
	}
	for _, v := range f.Vary {
		if v.Prefix == "" || v.Cut != "rest" && v.Cut != "number" {
			return nil, fmt.Errorf("%w: vary: prefix %q, cut %q: a prefix is needed, and cut is rest or number", ErrRules, v.Prefix, v.Cut)
		}
	}
	for _, k := range f.Kernels {
		if k.Class == "" || len(k.Any) == 0 {
			return nil, fmt.Errorf("%w: kernels: class %q: a class and patterns are needed", ErrRules, k.Class)
		}
		rule := classRule{class: k.Class}
		for _, s := range k.Any {
			rule.any = append(rule.any, part(s))
		}
		c.kernels = append(c.kernels, rule)
	}
	for family, classes := range f.Families {
		for _, class := range classes {
			c.families[class] = family
		}
	}
	c.globs = append(c.globs, r.globs...)
	c.vary = append(slices.Clone(f.Vary), r.vary...)
	c.compiled = append(wholes(f.Compiled), r.compiled...)
	c.graphs = append(wholes(f.Graphs), r.graphs...)
	c.kernels = append(c.kernels, r.kernels...)
	return c, nil
}

// Operator returns the name that an operator or annotation is compared under.
func (r *Rules) Operator(name string) string {
	if to, ok := r.operators[strings.ToLower(name)]; ok {
		return to
	}
	for _, g := range r.globs {
		if g.pattern.fits(name) {
			return g.to
		}
	}
	for _, v := range r.vary {
		if !strings.HasPrefix(name, v.Prefix) {
			continue
		}
		if v.Cut == "rest" {
			return v.Prefix
		}
		return strings.TrimRight(name, "0123456789_")
	}
	return name
}

// Class returns the class of a kernel, copy or fill, "other" if no rule knows it.
func (r *Rules) Class(kind timeline.Kind, name string) string {
	switch kind {
	case timeline.Memcpy, timeline.MemcpyPeer:
		return "copy"
	case timeline.Memset:
		return "fill"
	}
	lower := strings.ToLower(bare(name))
	for _, k := range r.kernels {
		for _, p := range k.any {
			if p.fitsLower(lower) {
				return k.class
			}
		}
	}
	return "other"
}

// Family returns the family of a class, the class itself if it is of none.
func (r *Rules) Family(class string) string {
	if f, ok := r.families[class]; ok {
		return f
	}
	return class
}

// isCompiled reports whether work under an operator or annotation is a compiler's.
func (r *Rules) isCompiled(c calltree.Class, name string) bool {
	return (c == calltree.Operator || c == calltree.Annotation) && fitsAny(r.compiled, name)
}

// isReplay reports whether an API call replays a graph.
func (r *Rules) isReplay(name string) bool { return fitsAny(r.graphs, name) }

// bare is a kernel's name without what its declaration has before it.
func bare(name string) string { return strings.TrimPrefix(name, "void ") }
