package archtest

import (
	"slices"
	"strings"
	"testing"
)

// layers are the floors of the house, the lowest first. A package imports from
// floors below its own; the exceptions stand in sideways. "/*" stands for every
// package below a folder.
var layers = [][]string{
	{"internal/guest", "internal/version", "internal/outfile"},
	{"event"},
	{"timeline", "tracer"},
	{"chrome", "spool", "occupancy", "tracer/*"},
	{"ctl"},
	{"correlate", "host", "host/bootstrap", "agent", "merge", "occupancy/kernels"},
	{"baseline", "validate"},
	{"record", "report", "summary", "pprofile"},
	{"doctor"},
	{"cmd/*"},
}

// sideways are the imports within a floor.
var sideways = map[string][]string{
	"chrome":            {"occupancy"},
	"tracer/cupti/bind": {"tracer/cupti", "tracer/dl"},
	"cmd/flagos-trace":  {"cmd/flagos-trace/internal/tracecheck"},
}

// arrows lists, for each package, what it may import of this module.
var arrows = map[string][]string{
	"event":             {},
	"timeline":          {"event"},
	"tracer":            {"event"},
	"tracer/cupti":      {"event", "tracer"},
	"tracer/cupti/abi":  {},
	"tracer/cupti/bind": {"event", "internal/guest", "tracer", "tracer/cupti", "tracer/dl"},
	"tracer/dl":         {"internal/guest"},
	"spool":             {"internal/guest", "tracer"},
	"occupancy":         {},
	"occupancy/kernels": {"chrome", "occupancy"},
	"chrome":            {"event", "internal/outfile", "occupancy", "timeline"},
	"correlate":         {"chrome", "event", "timeline"},
	"ctl":               {"spool"},
	"agent":             {"internal/guest", "internal/version", "spool", "tracer", "tracer/dl"},
	"merge":             {"timeline"},
	"host":              {"chrome", "event", "timeline"},
	"host/bootstrap":    {},
	"record":            {"chrome", "correlate", "event", "host", "host/bootstrap", "internal/outfile", "internal/version", "merge", "spool", "timeline", "tracer", "tracer/cupti"},
	"doctor":            {"internal/version", "record", "timeline"},
	"validate":          {"chrome", "occupancy"},

	"cmd/flagos-trace":                     {"chrome", "cmd/flagos-trace/internal/tracecheck", "ctl", "doctor", "internal/outfile", "internal/version", "occupancy", "occupancy/kernels", "record", "spool", "timeline", "tracer", "validate"},
	"cmd/flagos-trace/internal/tracecheck": {},
	"cmd/libflagos-trace":                  {"agent", "spool", "tracer", "tracer/cupti/bind"},

	"internal/archtest":                  {},
	"internal/gen/cuptilayout":           {},
	"internal/fakegpu":                   {},
	"internal/faketorch":                 {},
	"internal/fakegpu/cmd/build-fakegpu": {"internal/fakegpu"},
	"internal/guest":                     {},
	"internal/outfile":                   {},
	"internal/reliability":               {},
	"internal/testrig":                   {},
	"internal/version":                   {},
}

func TestArrows(t *testing.T) {
	for _, p := range packages(t) {
		from := p.short()
		allowed := arrows[from]
		for _, imp := range p.Imports {
			if imp != module && !strings.HasPrefix(imp, module+"/") {
				continue
			}
			if to := short(imp); !slices.Contains(allowed, to) {
				t.Errorf("%s imports %s, which is not among its arrows. If it should, add it to arrows_test.go", from, to)
			}
		}
		if _, ok := arrows[from]; !ok && len(p.files()) > 0 {
			t.Errorf("package %s has no entry in arrows", from)
		}
	}
}

// TestArrowsPointDown keeps the list itself in order.
func TestArrowsPointDown(t *testing.T) {
	for from, targets := range arrows {
		if !slices.IsSorted(targets) {
			t.Errorf("the arrows of %s are not sorted", from)
		}
		for _, to := range targets {
			if strings.HasPrefix(from, "internal/") {
				continue // tools, not part of the house
			}
			a, b := floor(from), floor(to)
			switch {
			case a < 0:
				t.Errorf("%s is on no floor", from)
			case b < 0:
				t.Errorf("%s, imported by %s, is on no floor", to, from)
			case b > a || b == a && !slices.Contains(sideways[from], to):
				t.Errorf("%s (floor %d) must not import %s (floor %d)", from, a, to, b)
			}
		}
	}
}

// floor returns the index in layers, -1 if a package is on none.
func floor(path string) int {
	for i, names := range layers {
		for _, name := range names {
			if path == name {
				return i
			}
			if below, ok := strings.CutSuffix(name, "*"); ok && strings.HasPrefix(path, below) {
				return i
			}
		}
	}
	return -1
}

// TestToolIsPure: the command line tool carries nothing that binds a vendor's
// library or belongs into the traced process.
func TestToolIsPure(t *testing.T) {
	ours := map[string]*pkg{}
	for _, p := range packages(t) {
		ours[p.ImportPath] = p
	}
	tool := ours[module+"/cmd/flagos-trace"]
	if tool == nil {
		t.Fatal("cmd/flagos-trace is not there")
	}
	for _, dep := range tool.Deps {
		switch {
		case dep == module+"/agent",
			strings.HasPrefix(dep, module+"/tracer/") && strings.HasSuffix(dep, "/bind"),
			strings.HasPrefix(dep, "github.com/ebitengine/purego"):
			t.Errorf("cmd/flagos-trace depends on %s", dep)
		}
		if p := ours[dep]; p != nil && len(p.CgoFiles) > 0 {
			t.Errorf("cmd/flagos-trace depends on %s, which needs cgo", dep)
		}
	}
}
