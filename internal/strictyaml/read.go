package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrEmpty: there is no document in the text.
var ErrEmpty = errors.New("it is empty")

// Read reads the one document of a text into v, a pointer. The error is one line.
func Read(text []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(v)
	var types *yaml.TypeError
	switch {
	case errors.Is(err, io.EOF):
		return ErrEmpty
	case errors.As(err, &types):
		return errors.New(several(types.Errors, reflect.TypeOf(v)))
	case err != nil:
		return errors.New(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "yaml: "), "\n", " "))
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one document in it")
	}
	return nil
}

// most is how many mistakes are told.
const most = 5

// several says errors of the decoder, each once. An alias brings its mistake as often as
// it is used.
func several(list []string, root reflect.Type) string {
	var lines []string
	for _, s := range list {
		if s = words(s, root); !slices.Contains(lines, s) {
			lines = append(lines, s)
		}
		if len(lines) > most {
			return strings.Join(lines[:most], "; ") + "; and more"
		}
	}
	return strings.Join(lines, "; ")
}

var (
	unknownKey = regexp.MustCompile(`(?s)^(line \d+): field (.*) not found in type (.*)$`)
	otherType  = regexp.MustCompile(`(?s)^(line \d+): cannot unmarshal !!(\w+) ?(.*) into (.*)$`)
)

// words says an error of the decoder without the names of Go's types.
func words(s string, root reflect.Type) string {
	if m := unknownKey.FindStringSubmatch(s); m != nil {
		text := fmt.Sprintf("%s: there is no key %q here", m[1], m[2])
		if t := named(root, m[3], map[reflect.Type]bool{}); t != nil && t.Kind() == reflect.Struct {
			text += "; there are " + strings.Join(fields(t), ", ")
		}
		return text
	}
	if m := otherType.FindStringSubmatch(s); m != nil {
		is := m[3]
		switch m[2] {
		case "map":
			is = "a group of keys"
		case "seq":
			is = "a list"
		case "null":
			is = "nothing"
		}
		return fmt.Sprintf("%s: %s is not what belongs here, %s", m[1], is, kind(m[4], named(root, m[4], map[reflect.Type]bool{})))
	}
	return s
}

// basic are types that do not stand in the type that is read: those of elements, and
// those that an UnmarshalYAML asks for.
var basic = map[string]reflect.Type{"int64": reflect.TypeFor[int64](), "string": reflect.TypeFor[string](), "[]string": reflect.TypeFor[[]string]()}

// kind says what belongs where a Go type is.
func kind(name string, t reflect.Type) string {
	if t == nil {
		t = basic[name]
	}
	if name == "time.Duration" {
		return "a time such as 1.5ms"
	}
	if t != nil {
		switch k := t.Kind(); {
		case k == reflect.Slice, k == reflect.Array:
			return "a list"
		case k == reflect.Float32, k == reflect.Float64:
			return "a number"
		case k >= reflect.Int && k <= reflect.Uint64:
			return "a whole number"
		case k == reflect.Bool:
			return "true or false"
		case k == reflect.String:
			return "text"
		}
	}
	return "keys with values"
}

// named is the type of this name, which is somewhere in another.
func named(t reflect.Type, name string, seen map[reflect.Type]bool) reflect.Type {
	if seen[t] {
		return nil
	}
	seen[t] = true
	if t.String() == name {
		return t
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return named(t.Elem(), name, seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if found := named(t.Field(i).Type, name, seen); found != nil {
				return found
			}
		}
	}
	return nil
}

func fields(t reflect.Type) (keys []string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case options == "inline":
			keys = append(keys, fields(f.Type)...)
		case !f.IsExported(), name == "-":
		case name == "":
			keys = append(keys, strings.ToLower(f.Name))
		default:
			keys = append(keys, name)
		}
	}
	return keys
}
