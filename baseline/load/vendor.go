package load

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/chrome"
)

// CheckVendor refuses a vendor that neither the table of capabilities nor a producer of
// traces knows: with it what a library cannot deliver would be told as missing.
func CheckVendor(o *baseline.Options) error {
	if o.Vendor == "" {
		return nil
	}
	known := map[string]bool{}
	table := o.Table()
	for vendor := range table.Vendors {
		known[vendor] = true
	}
	for alias := range table.Aliases {
		known[alias] = true
	}
	for _, vendor := range chrome.DefaultRules().Vendors() {
		known[vendor] = true
	}
	if known[o.Vendor] {
		return nil
	}
	return fmt.Errorf("vendor is %q, which nobody knows; there are %s", o.Vendor, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}
