package baseline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/capability"
)

// ErrCapabilities: a table of capabilities cannot be used.
var ErrCapabilities = errors.New("baseline: bad table of capabilities")

// ReadCapabilities reads a table, and sees that its assertions are those that there are.
// Errors wrap ErrCapabilities.
func ReadCapabilities(text []byte) (*capability.Table, error) {
	c, err := capability.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCapabilities, err)
	}
	for vendor, list := range c.Vendors {
		for _, m := range list {
			if !slices.ContainsFunc(assertions, func(a assertion) bool { return a.id == m.Assertion }) && !strings.HasPrefix(m.Assertion, "torch-fl/") {
				return nil, fmt.Errorf("%w: %s: there is no assertion %q", ErrCapabilities, vendor, m.Assertion)
			}
		}
	}
	return c, nil
}

// excuse returns why a vendor's trace may have a finding, nil if there is no reason.
func excuse(c *capability.Table, vendor string, f *verdict.Finding) *verdict.Excuse {
	m := c.Why(vendor, f.Assertion, f.Subject)
	if m == nil {
		return nil
	}
	return &verdict.Excuse{Assertion: f.Assertion, Subject: f.Subject, Vendor: vendor, Reason: m.Reason, Source: m.Source}
}
