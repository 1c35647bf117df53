package record

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrCategory means that a trace cannot call the runtime's calls so.
var ErrCategory = errors.New("no category of the runtime's calls")

// RuntimeCategories returns the categories by which readers know calls of a runtime,
// sorted.
func RuntimeCategories() []string {
	return chrome.DefaultRules().Categories(timeline.Runtime)
}

// CheckRuntimeCategory returns ErrCategory for a category that readers take for other
// events, or for none. "" is the tracer's own.
func CheckRuntimeCategory(name string) error {
	list := RuntimeCategories()
	if name == "" || slices.Contains(list, name) {
		return nil
	}
	why := "readers do not know it"
	if kind, known := chrome.DefaultRules().Kind(name); known {
		why = "readers take it for events of kind " + kind.String()
	}
	return fmt.Errorf("%w: --runtime-category %q: %s; choose one of %s", ErrCategory, name, why, strings.Join(list, ", "))
}
