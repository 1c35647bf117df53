package shape

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// ErrBaseline: a text is no baseline this version can use.
var ErrBaseline = errors.New("baseline: not a baseline file")

// Write writes the shape as a baseline file. The same shape gives the same bytes.
func (s *Shape) Write(w io.Writer) error {
	s.Schema, s.Format, s.Version = SchemaName, Format, Version
	return plain.JSON(w, s, "  ")
}

// IsBaseline reports whether a JSON text is a baseline, ours or Torch-FL's, by its
// members; it need not be one that Read accepts.
func IsBaseline(text []byte) bool {
	var head struct {
		identity
		Kernel  json.RawMessage `json:"kernel_arg_keys"`
		Events  json.RawMessage `json:"traceEvents"`
		Runtime json.RawMessage `json:"runtime_arg_keys"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		// What is damaged is told as that, by Read.
		begins := text[:min(len(text), 512)]
		return !bytes.Contains(begins, []byte(`"traceEvents"`)) && (bytes.Contains(begins, []byte(`"`+Format+`"`)) || bytes.Contains(begins, []byte(`"`+SchemaName+`"`)))
	}
	if head.Events != nil {
		return false
	}
	return head.ours() || head.Kernel != nil && head.Runtime != nil
}

// Read reads a baseline file: one that Write wrote, or Torch-FL's
// profiler_cuda_baseline.json. Errors wrap ErrBaseline.
func Read(text []byte) (*Shape, error) {
	var head struct {
		identity
		Kernel json.RawMessage `json:"kernel_arg_keys"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBaseline, inWords(err))
	}
	if !head.ours() && head.Format == "" && head.Kernel != nil {
		return readTorchFL(text)
	}
	if err := head.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBaseline, err)
	}
	s := &Shape{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(s); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBaseline, inWords(err))
	}
	if len(s.Categories) == 0 {
		return nil, fmt.Errorf("%w: it has no categories", ErrBaseline)
	}
	for name, c := range s.Categories {
		if c == nil {
			return nil, fmt.Errorf("%w: category %q is null", ErrBaseline, name)
		}
		for key, a := range c.Args {
			if a == nil {
				return nil, fmt.Errorf("%w: category %q: argument %q is null", ErrBaseline, name, key)
			}
		}
	}
	if i := slices.IndexFunc(mapValues(s.Flows), func(f *Flow) bool { return f == nil }); i >= 0 {
		return nil, fmt.Errorf("%w: a kind of flows is null", ErrBaseline)
	}
	if slices.Contains(mapValues(s.Operators), nil) || slices.Contains(mapValues(s.Metadata), nil) {
		return nil, fmt.Errorf("%w: an operator or a member of the metadata is null", ErrBaseline)
	}
	for id, l := range s.Holds {
		if l.Rank() < 0 {
			return nil, fmt.Errorf("%w: holds: %s is %q; it is none, few, some or most", ErrBaseline, id, l)
		}
	}
	for _, e := range s.Exceptions {
		if _, _, err := e.Until(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBaseline, err)
		}
		if e.Reason == "" || e.Assertion == "" {
			return nil, fmt.Errorf("%w: an exception needs an assertion and a reason", ErrBaseline)
		}
	}
	return s, nil
}

// inWords is an error of encoding/json with the place and without the names of Go's
// types.
func inWords(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
		return fmt.Errorf("byte %d: %s is of JSON's type %s, which does not belong there", kind.Offset, cmp.Or(strings.TrimPrefix(kind.Field, "identity."), "the whole"), kind.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("byte %d: %w", syntax.Offset, err)
	}
	return errors.New(strings.TrimPrefix(err.Error(), "json: "))
}

// identity is what a file says of its form.
type identity struct {
	Schema  string `json:"schema"`
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// ours reports whether it is the form of this package, of whatever version.
func (i *identity) ours() bool {
	name, _, _ := strings.Cut(SchemaName, "/")
	return i.Format == Format || strings.HasPrefix(i.Schema, name+"/")
}

// check says why a form is none that this version reads.
func (i *identity) check() error {
	switch {
	case !i.ours() && i.Schema != "":
		return fmt.Errorf(`its "schema" is %q, not %q`, i.Schema, SchemaName)
	case !i.ours():
		return fmt.Errorf(`its "format" is %q, not %q`, i.Format, Format)
	case i.Schema != "" && i.Schema != SchemaName:
		return fmt.Errorf("its form is %s, and this program knows %s: use a newer flagos-trace, or create it again", i.Schema, SchemaName)
	case i.Schema == "" && (i.Version < 1 || i.Version > Version):
		return fmt.Errorf("it is of version %d, and this program knows up to %d: use a newer flagos-trace, or create it again", i.Version, Version)
	}
	return nil
}

func mapValues[T any](m map[string]*T) []*T {
	out := make([]*T, 0, len(m))
	for _, v := range m {
		out = append(out, v)
	}
	return out
}

// torchFL is Torch-FL's baseline file (tests/data/profiler_cuda_baseline.json).
type torchFL struct {
	GeneratedBy string            `json:"generated_by"`
	Note        string            `json:"note"`
	Categories  []string          `json:"categories"`
	Observed    []string          `json:"categories_observed_in_torch_cuda"`
	Gaps        map[string]string `json:"categories_known_gap"`
	Equivalents []string          `json:"runtime_cat_equivalents"`
	Kernel      []string          `json:"kernel_arg_keys"`
	Memcpy      []string          `json:"gpu_memcpy_arg_keys"`
	Memset      []string          `json:"gpu_memset_arg_keys"`
	Runtime     []string          `json:"runtime_arg_keys"`
}

func readTorchFL(text []byte) (*Shape, error) {
	var f torchFL
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBaseline, inWords(err))
	}
	if len(f.Categories) == 0 || len(f.Kernel) == 0 || len(f.Runtime) == 0 {
		return nil, fmt.Errorf("%w: it looks like Torch-FL's, and lacks categories or argument keys", ErrBaseline)
	}
	s := &Shape{Format: Format, Version: Version, Name: "Torch-FL", Note: f.Note, KnownGaps: f.Gaps, Categories: map[string]*Category{}, partial: true,
		Sources: []Source{{Producer: f.GeneratedBy, Vendor: "cuda"}}}
	if len(f.Equivalents) > 0 {
		s.Equivalents = [][]string{f.Equivalents}
	}
	for _, name := range f.Categories {
		s.Categories[Canonical(name)] = &Category{Presence: Always, Required: true}
	}
	for _, name := range f.Observed {
		if s.Categories[Canonical(name)] == nil {
			s.Categories[Canonical(name)] = &Category{Presence: Always}
		}
	}
	for category, keys := range map[string][]string{"kernel": f.Kernel, "gpu_memcpy": f.Memcpy, "gpu_memset": f.Memset, "cuda_runtime": f.Runtime} {
		c := s.Categories[category]
		if c == nil {
			continue
		}
		c.Args = map[string]*Arg{}
		for _, key := range keys {
			c.Args[key] = &Arg{Required: true}
		}
	}
	return s, nil
}

// RequireAs makes exactly those categories and arguments required that another
// shape requires; everything else becomes optional, and so does what hangs on the
// program that was recorded: its API calls, and what its operators start.
func (s *Shape) RequireAs(o *Shape) error {
	for name, c := range s.Categories {
		like := o.Categories[name]
		c.Required = like != nil && like.Required
		for key, a := range c.Args {
			a.Required = like != nil && like.Args[key] != nil && like.Args[key].Required
		}
	}
	for name := range s.Calls {
		s.Calls[name] = Sometimes
	}
	for _, p := range s.Operators {
		p.Presence = Sometimes
		for kind := range p.Work {
			p.Work[kind] = Sometimes
		}
	}
	for name, like := range o.Categories {
		if s.Categories[name] == nil && like.Required {
			return fmt.Errorf("baseline: category %s is required and was in none of the traces", name)
		}
		for key, a := range like.Args {
			if a.Required && s.Categories[name].Args[key] == nil {
				return fmt.Errorf("baseline: argument %s of %s is required and was in none of the traces", key, name)
			}
		}
	}
	return nil
}
