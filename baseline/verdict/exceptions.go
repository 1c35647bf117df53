package verdict

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrExceptions: a file of accepted exceptions cannot be used.
var ErrExceptions = errors.New("verdict: bad file of exceptions")

// ReadExceptions reads accepted exceptions: a YAML (or JSON) list of entries with
// assertion, subject, reason and expires. Errors wrap ErrExceptions.
func ReadExceptions(text []byte) ([]Exception, error) {
	var list []struct {
		Assertion string `yaml:"assertion"`
		Subject   string `yaml:"subject"`
		Reason    string `yaml:"reason"`
		Expires   string `yaml:"expires"`
	}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(&list); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExceptions, err)
	}
	var out []Exception
	for i, e := range list {
		x := Exception(e)
		if err := x.Check(); err != nil {
			return nil, fmt.Errorf("%w: entry %d: %w", ErrExceptions, i+1, err)
		}
		out = append(out, x)
	}
	return out, nil
}

// Check says what an exception lacks, or what of it cannot be understood.
func (e Exception) Check() error {
	if e.Assertion == "" || e.Reason == "" {
		return errors.New("it needs an assertion and a reason")
	}
	_, _, err := e.Until()
	return err
}
