package pprofile

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// Where functions live, as pprof's mappings. The first one names the profile.
const (
	inProgram = iota
	inOperators
	inAPI
	onDevice
	numMappings
)

// mappingNames are in brackets where pprof shall not look for a file.
var mappingNames = [numMappings]string{"flagos-trace", "[operators]", "[API]", "[device]"}

// hostFrame is the frame of all that was left out, where nothing is around it.
const hostFrame = "(host)"

var pythonName = regexp.MustCompile(`^(.+)\(([0-9]+)\): (.+)$`)

// label says how a span of a host thread shows in call paths.
func label(c calltree.Class, name string) string {
	if name = calltree.Label(c, name); name == "" {
		return "(no name)" // pprof takes a function without a name for an unknown address
	}
	return plain.Text(name, false)
}

// function makes pprof's function of a span of a host thread.
func function(c calltree.Class, label string) (f *profile.Function, mapping int) {
	f = &profile.Function{Name: label}
	switch c {
	case calltree.Operator:
		return f, inOperators
	case calltree.Call:
		return f, inAPI
	case calltree.Python:
		if m := pythonName.FindStringSubmatch(label); m != nil {
			f.Name, f.Filename = m[1]+":"+m[3], m[1]
			f.StartLine, _ = strconv.ParseInt(m[2], 10, 64)
		}
	}
	return f, inProgram
}

// workFunction makes pprof's function of a kernel, copy or fill.
func workFunction(name string) *profile.Function {
	if name == "" {
		return &profile.Function{Name: "(no name)"}
	}
	name = plain.Text(name, false)
	f := &profile.Function{Name: name}
	if strings.HasPrefix(name, "_Z") {
		if full := correlate.Demangle(name); full != name {
			f.Name, f.SystemName = full, name
		}
	}
	return f
}
