package gate

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/flagos-ai/flagos-trace/internal/strictyaml"
)

// strict reads YAML whose keys all have to be known. Errors wrap ErrConfig and name
// the line.
func strict(text []byte, c *Config) error {
	if err := strictyaml.Read(text, c); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	c.fill(text)
	var err error
	if c.lines, err = checkLines(text); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}

// fill makes sections of which only the name stands there ask for the defaults.
func (c *Config) fill(text []byte) {
	var keys map[string]any
	if yaml.Unmarshal(text, &keys) != nil {
		return
	}
	if v, ok := keys["validate"]; ok && v == nil {
		c.Validate = &Validate{}
	}
	if v, ok := keys["occupancy"]; ok && v == nil {
		c.Occupancy = &Occupancy{}
	}
}

// whole is a whole number: the decoder would make 1 of 1.9.
type whole int64

// UnmarshalYAML takes no fraction.
func (w *whole) UnmarshalYAML(n *yaml.Node) error {
	if tag := n.ShortTag(); tag != "!!int" {
		return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: cannot unmarshal %s `%s` into int64", n.Line, tag, n.Value)}}
	}
	return n.Decode((*int64)(w))
}

// UnmarshalYAML takes one name or a list.
func (p *Patterns) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		var s string
		if err := n.Decode(&s); err != nil {
			return err
		}
		*p = Patterns{s}
		return nil
	}
	var list []string
	if err := n.Decode(&list); err != nil {
		return err
	}
	*p = list
	return nil
}
