package baseline

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

//go:embed capabilities.yaml
var capabilityText []byte

// ErrCapabilities: a table of capabilities cannot be used.
var ErrCapabilities = errors.New("baseline: bad table of capabilities")

// Capabilities say what vendors' libraries cannot deliver.
type Capabilities struct {
	Aliases map[string]string    `yaml:"aliases"`
	Vendors map[string][]Missing `yaml:"vendors"`
}

// Missing is one thing a vendor's library cannot deliver.
type Missing struct {
	Assertion string `yaml:"assertion"`
	Subject   string `yaml:"subject"`
	Reason    string `yaml:"reason"`
	Source    string `yaml:"source"`
}

var builtin = sync.OnceValues(func() (*Capabilities, error) { return ReadCapabilities(capabilityText) })

// DefaultCapabilities is the table that comes with this package.
func DefaultCapabilities() *Capabilities {
	c, err := builtin()
	if err != nil {
		panic("baseline: the embedded table of capabilities: " + err.Error()) // a test reads it
	}
	return c
}

// ReadCapabilities reads a table. Errors wrap ErrCapabilities.
func ReadCapabilities(text []byte) (*Capabilities, error) {
	c := &Capabilities{}
	d := yaml.NewDecoder(strings.NewReader(string(text)))
	d.KnownFields(true)
	if err := d.Decode(c); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCapabilities, err)
	}
	for vendor, list := range c.Vendors {
		for _, m := range list {
			if m.Assertion == "" || m.Subject == "" || m.Reason == "" || m.Source == "" {
				return nil, fmt.Errorf("%w: %s: an entry needs assertion, subject, reason and source: %+v", ErrCapabilities, vendor, m)
			}
			if !slices.ContainsFunc(assertions, func(a assertion) bool { return a.id == m.Assertion }) && !strings.HasPrefix(m.Assertion, "torch-fl/") {
				return nil, fmt.Errorf("%w: %s: there is no assertion %q", ErrCapabilities, vendor, m.Assertion)
			}
		}
	}
	return c, nil
}

// Vendor is the name under which a vendor stands in the table.
func (c *Capabilities) Vendor(name string) string {
	if to, ok := c.Aliases[name]; ok {
		return to
	}
	return name
}

// Knows reports whether the table has entries for a vendor.
func (c *Capabilities) Knows(vendor string) bool { return len(c.Vendors[c.Vendor(vendor)]) > 0 }

// excuse returns why a vendor's trace may have a finding, nil if there is no reason.
func (c *Capabilities) excuse(vendor string, f *verdict.Finding) *verdict.Excuse {
	for _, m := range c.Vendors[c.Vendor(vendor)] {
		if m.Assertion == f.Assertion && verdict.Match(m.Subject, f.Subject) {
			return &verdict.Excuse{Assertion: f.Assertion, Subject: f.Subject, Vendor: vendor, Reason: m.Reason, Source: m.Source}
		}
	}
	return nil
}
