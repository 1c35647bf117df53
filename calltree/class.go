package calltree

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Class says what a node is.
type Class uint8

// Classes of nodes.
const (
	Other      Class = iota // a span of a host thread that is none of these
	Step                    // a step of training or inference: torch's ProfilerStep#N
	Annotation              // record_function and the like
	Module                  // a call of an nn.Module, in a Python stack
	Python                  // another Python function
	Operator
	Call // of the vendor's runtime or driver
	NumClasses
)

var classNames = [NumClasses]string{"other", "step", "annotation", "module", "python", "operator", "call"}

// String returns the class in one word.
func (c Class) String() string {
	if c < NumClasses {
		return classNames[c]
	}
	return "other"
}

const (
	stepPrefix   = "ProfilerStep#"
	modulePrefix = "nn.Module: "
	// none marks what is no node.
	none = NumClasses
)

// classifier tells what events are, asking each name and category once.
type classifier struct {
	t          *timeline.Trace
	categories []Class // by string; value + 1, 0 is unknown yet
	names      []Class // by string, for those a name decides of
}

func newClassifier(t *timeline.Trace) *classifier {
	return &classifier{t: t, categories: make([]Class, t.Strings.Len()), names: make([]Class, t.Strings.Len())}
}

// class returns what event i is, none where it is no span of a host thread.
func (c *classifier) class(i uint32, e *timeline.Event) Class {
	switch {
	case e.Kind.IsAPI():
		return Call
	case e.Kind != timeline.Host && e.Kind != timeline.Other || e.Flags&timeline.Instant != 0:
		return none
	case e.Kind == timeline.Other && c.t.Source != nil && c.t.Source.Events.At(i).Phase != 0:
		return none
	}
	k := c.categories[e.Category]
	if k == 0 {
		k = categoryClass(c.t.Strings.At(e.Category), e.Kind) + 1
		c.categories[e.Category] = k
	}
	switch k - 1 {
	case Annotation, Python:
		n := c.names[e.Name]
		if n == 0 {
			n = nameClass(c.t.Strings.At(e.Name)) + 1
			c.names[e.Name] = n
		}
		if n-1 == Step && k-1 == Annotation || n-1 == Module && k-1 == Python {
			return n - 1
		}
	}
	return k - 1
}

// categoryClass goes by the spelling of a category: those that a rules file adds
// to chrome's are of torch's backends, which name theirs after torch's.
func categoryClass(category string, kind timeline.Kind) Class {
	switch s := strings.ToLower(category); {
	case kind == timeline.Other && (s == "trace" || strings.HasPrefix(s, "gpu_") || strings.HasPrefix(s, "cuda_")):
		return none
	case strings.HasSuffix(s, "_op"), s == "operator":
		return Operator
	case strings.HasSuffix(s, "annotation"):
		return Annotation
	case strings.HasPrefix(s, "python"):
		return Python
	}
	return Other
}

func nameClass(name string) Class {
	switch {
	case strings.HasPrefix(name, stepPrefix):
		return Step
	case strings.HasPrefix(name, modulePrefix):
		return Module
	}
	return Other
}
