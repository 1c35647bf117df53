package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// CheckExceptions says which accepted finding is of an assertion that there is not: it
// would cover nothing.
func CheckExceptions(list []verdict.Exception) error {
	var known []string
	for i := range assertions {
		known = append(known, assertions[i].id)
	}
	for i := range parityAssertions {
		known = append(known, parityAssertions[i].id)
	}
	for _, e := range list {
		if !slices.Contains(known, e.Assertion) {
			return fmt.Errorf("there is no assertion %q; there are %s", e.Assertion, strings.Join(known, ", "))
		}
	}
	return nil
}
