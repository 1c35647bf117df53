package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// strict reads YAML whose keys all have to be known. Errors wrap ErrConfig and name
// the line.
func strict(text []byte, c *Config) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(c)
	var types *yaml.TypeError
	switch {
	case errors.Is(err, io.EOF):
		return fmt.Errorf("%w: it is empty", ErrConfig)
	case errors.As(err, &types):
		var lines []string
		for _, s := range types.Errors {
			lines = append(lines, words(s))
		}
		return fmt.Errorf("%w: %s", ErrConfig, strings.Join(lines, "; "))
	case err != nil:
		return fmt.Errorf("%w: %s", ErrConfig, strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: there is more than one document in it", ErrConfig)
	}
	c.fill(text)
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

var (
	unknownKey = regexp.MustCompile(`^(line \d+): field (.*) not found in type gate\.(\w+)$`)
	otherType  = regexp.MustCompile(`^(line \d+): cannot unmarshal \S+ (.*) into (\S+)$`)
)

// words says an error of the decoder without the names of Go's types.
func words(s string) string {
	if m := unknownKey.FindStringSubmatch(s); m != nil {
		return fmt.Sprintf("%s: there is no key %q here; there are %s", m[1], m[2], strings.Join(keysOf(m[3]), ", "))
	}
	if m := otherType.FindStringSubmatch(s); m != nil {
		return fmt.Sprintf("%s: %s is not what belongs here, %s", m[1], m[2], typeWords(m[3]))
	}
	return s
}

func typeWords(name string) string {
	switch {
	case strings.HasPrefix(name, "[]"):
		return "a list"
	case strings.HasPrefix(name, "map["), strings.HasPrefix(name, "gate."), strings.HasPrefix(name, "verdict.Exception"):
		return "keys with values"
	case strings.HasPrefix(name, "float"):
		return "a number"
	case strings.HasPrefix(name, "int"):
		return "a whole number"
	case name == "bool":
		return "true or false"
	case name == "time.Duration":
		return "a time such as 1.5ms"
	}
	return "text"
}

// keysOf are the keys of one of the types of a configuration.
func keysOf(name string) (keys []string) {
	for _, v := range []any{Config{}, Structure{}, Performance{}, Budget{}, Validate{}, Occupancy{}} {
		if t := reflect.TypeOf(v); t.Name() == name {
			keys = fields(t)
		}
	}
	return keys
}

func fields(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch tag := f.Tag.Get("yaml"); {
		case f.Anonymous:
			keys = append(keys, fields(f.Type)...)
		case tag != "":
			keys = append(keys, tag)
		}
	}
	return keys
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
