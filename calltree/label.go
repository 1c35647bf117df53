package calltree

import "regexp"

var objectAddress = regexp.MustCompile(` at 0x[0-9a-fA-F]+`)

// StepLabel is the label of a step of any number.
const StepLabel = "ProfilerStep"

// Label returns what a node is called in a call path that is to be the same in every
// step and every run: without the number of a step, and without the address that
// Python prints of an object.
func Label(c Class, name string) string {
	switch c {
	case Step:
		return StepLabel
	case Python, Module:
		return objectAddress.ReplaceAllString(name, "")
	}
	return name
}
