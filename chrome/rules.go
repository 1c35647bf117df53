package chrome

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrRules: a rules file cannot be used.
var ErrRules = errors.New("chrome: bad rules")

//go:embed rules.yaml
var defaultRules []byte

// Rules say what traces call things: categories, arrows, arguments, processes.
// Make them with DefaultRules or LoadRules; then they are only read.
type Rules struct {
	kinds     map[string]timeline.Kind
	device    map[string]bool // names of arrows from calls to device work
	autograd  map[string]bool // names of arrows from forward to backward operators
	args      argTable
	processes map[string]processRule
	tasks     []prefixKind
	names     map[string][]string
	marks     []string
	producers []producerRule
	versions  []producerRule
}

type processRule struct {
	kind  timeline.Kind
	known bool
}

type prefixKind struct {
	prefix string
	kind   timeline.Kind
}

// rulesFile is the form of a rules file.
type rulesFile struct {
	Kinds     map[string][]string `yaml:"kinds"`
	Flows     map[string][]string `yaml:"flows"`
	Args      map[string][]string `yaml:"args"`
	Marks     []string            `yaml:"marks"`
	Processes map[string]string   `yaml:"processes"`
	Tasks     map[string][]string `yaml:"tasks"`
	Names     map[string][]string `yaml:"names"`
	Producers []producerRule      `yaml:"producers"`
	Versions  []producerRule      `yaml:"versions"`
}

var builtin = sync.OnceValue(func() *Rules {
	r := &Rules{
		kinds: map[string]timeline.Kind{}, device: map[string]bool{}, autograd: map[string]bool{},
		processes: map[string]processRule{}, names: map[string][]string{},
	}
	if err := r.add(defaultRules); err != nil {
		panic("chrome: the embedded rules: " + err.Error()) // a test loads them
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
		return nil, fmt.Errorf("chrome: rules: %w", err)
	}
	r, err := DefaultRules().Extend(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Extend returns r with the rules of a YAML text added. Errors wrap ErrRules.
func (r *Rules) Extend(text []byte) (*Rules, error) {
	c := &Rules{
		kinds: cloneMap(r.kinds), device: cloneMap(r.device), autograd: cloneMap(r.autograd), args: r.args.clone(),
		processes: cloneMap(r.processes), tasks: slices.Clone(r.tasks), names: cloneMap(r.names),
		marks: slices.Clone(r.marks), producers: slices.Clone(r.producers), versions: slices.Clone(r.versions),
	}
	return c, c.add(text)
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	c := make(map[K]V, len(m))
	for k, v := range m {
		c[k] = v
	}
	return c
}

func (r *Rules) add(text []byte) error {
	var f rulesFile
	if err := strictyaml.Read(text, &f); err != nil {
		return fmt.Errorf("%w: %w", ErrRules, err)
	}
	for name, list := range f.Kinds {
		k, ok := kindNamed(name)
		if !ok {
			return fmt.Errorf("%w: kinds: %q is no kind", ErrRules, name)
		}
		for _, category := range list {
			r.kinds[category] = k
		}
	}
	for name, list := range f.Flows {
		switch name {
		case "device":
			for _, s := range list {
				r.device[s] = true
			}
		case "autograd":
			for _, s := range list {
				r.autograd[s] = true
			}
		default:
			return fmt.Errorf("%w: flows: %q is neither device nor autograd", ErrRules, name)
		}
	}
	for name, list := range f.Args {
		slot := slices.Index(slotNames[:], name)
		if slot < 0 {
			return fmt.Errorf("%w: args: %q is no argument", ErrRules, name)
		}
		for _, key := range list {
			r.args.add(key, uint8(slot))
		}
	}
	for _, key := range f.Marks {
		if len(r.marks) >= maxMarks {
			return fmt.Errorf("%w: more than %d marks", ErrRules, maxMarks)
		}
		if !slices.Contains(r.marks, key) {
			r.args.add(key, numSlots+uint8(len(r.marks)))
			r.marks = append(r.marks, key)
		}
	}
	for name, kind := range f.Processes {
		k, ok := kindNamed(kind)
		if !ok && kind != "" {
			return fmt.Errorf("%w: processes: %q is no kind", ErrRules, kind)
		}
		r.processes[name] = processRule{k, ok}
	}
	for name, list := range f.Tasks {
		k, ok := kindNamed(name)
		if !ok {
			return fmt.Errorf("%w: tasks: %q is no kind", ErrRules, name)
		}
		for _, p := range list {
			r.tasks = append(r.tasks, prefixKind{p, k})
		}
	}
	for class, list := range f.Names {
		r.names[class] = append(slices.Clone(list), r.names[class]...)
	}
	r.producers = append(f.Producers, r.producers...)
	r.versions = append(f.Versions, r.versions...)
	return nil
}

func kindNamed(name string) (timeline.Kind, bool) {
	for k := range timeline.NumKinds {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// Kind returns what an event of a category is; ok is false for a category that
// no rule names.
func (r *Rules) Kind(category string) (k timeline.Kind, ok bool) {
	k, ok = r.kinds[category]
	return k, ok
}

// Categories returns the categories of events of a kind, sorted.
func (r *Rules) Categories(kind timeline.Kind) (list []string) {
	for category, k := range r.kinds {
		if k == kind {
			list = append(list, category)
		}
	}
	slices.Sort(list)
	return list
}

// Process returns what the events without a category of a process of that name are.
func (r *Rules) Process(name string) (k timeline.Kind, ok bool) {
	p := r.processes[name]
	return p.kind, p.known
}

// IsDeviceFlow reports whether an arrow of that name, or category, runs from an
// API call to its device work.
func (r *Rules) IsDeviceFlow(name string) bool { return r.device[name] }

// IsAutogradFlow reports whether an arrow of that name, or category, runs from a
// forward operator to its backward operator.
func (r *Rules) IsAutogradFlow(name string) bool { return r.autograd[name] }

// Named reports whether a name begins like those of a class: "collective",
// "memcpy", "memset", "launch", or what a rules file added.
func (r *Rules) Named(class, name string) bool {
	for _, p := range r.names[class] {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// task says what an event of a process with device work is, by its type or name.
func (r *Rules) task(s string) (timeline.Kind, bool) {
	for _, t := range r.tasks {
		if strings.HasPrefix(s, t.prefix) {
			return t.kind, true
		}
	}
	return 0, false
}
