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
	{"capability", "internal/guest", "internal/hugepage", "internal/version", "internal/outfile", "internal/plain", "internal/sarif", "internal/strictyaml", "internal/testrig", "internal/unpack"},
	{"event"},
	{"timeline", "tracer"},
	{"chrome", "spool", "occupancy", "tracer/*"},
	{"ctl"},
	{"calltree", "correlate", "host", "host/bootstrap", "agent", "measure", "merge", "occupancy/kernels", "ranks"},
	{"baseline", "baseline/*", "compare", "cut", "repair", "validate"},
	{"gate", "record", "report", "summary", "pprofile", "export", "export/perfetto"},
	{"doctor"},
	{"bench", "cmd/*"},
}

// sideways are the imports within a floor.
var sideways = map[string][]string{
	"capability":            {"internal/strictyaml"},
	"baseline":              {"baseline/shape", "baseline/verdict"},
	"baseline/load":         {"baseline", "baseline/shape", "compare"},
	"baseline/shape":        {"baseline/verdict"},
	"chrome":                {"occupancy"},
	"compare":               {"baseline/verdict"},
	"measure":               {"calltree"},
	"ranks":                 {"merge"},
	"report":                {"summary"},
	"tracer/ascend/bind":    {"tracer/ascend", "tracer/dl"},
	"tracer/metax":          {"tracer/cupti"},
	"tracer/metax/bind":     {"tracer/cupti/bind", "tracer/metax"},
	"tracer/musa":           {"tracer/cupti"},
	"tracer/musa/bind":      {"tracer/cupti/bind", "tracer/musa"},
	"tracer/ppu":            {"tracer/cupti"},
	"tracer/ppu/bind":       {"tracer/cupti/bind", "tracer/ppu"},
	"tracer/roctracer/bind": {"tracer/dl", "tracer/roctracer"},
	"tracer/cupti/bind":     {"tracer/cupti", "tracer/dl"},
	"cmd/flagos-trace":      {"cmd/flagos-trace/internal/tracecheck"},
}

// arrows lists, for each package, what it may import of this module.
var arrows = map[string][]string{
	"event":                 {},
	"timeline":              {"event", "internal/hugepage"},
	"tracer":                {"event"},
	"tracer/ascend":         {"event", "tracer"},
	"tracer/ascend/bind":    {"event", "tracer", "tracer/ascend", "tracer/dl"},
	"tracer/metax":          {"event", "tracer", "tracer/cupti"},
	"tracer/metax/bind":     {"tracer", "tracer/cupti/bind", "tracer/metax"},
	"tracer/musa":           {"event", "tracer", "tracer/cupti"},
	"tracer/musa/bind":      {"tracer", "tracer/cupti/bind", "tracer/musa"},
	"tracer/ppu":            {"event", "tracer", "tracer/cupti"},
	"tracer/ppu/bind":       {"tracer", "tracer/cupti/bind", "tracer/ppu"},
	"tracer/roctracer":      {"event", "tracer"},
	"tracer/roctracer/bind": {"event", "tracer", "tracer/dl", "tracer/roctracer"},
	"tracer/cupti":          {"event", "tracer"},
	"tracer/cupti/abi":      {},
	"tracer/cupti/bind":     {"event", "internal/guest", "tracer", "tracer/cupti", "tracer/dl"},
	"tracer/dl":             {"internal/guest"},
	"spool":                 {"internal/guest", "tracer"},
	"bench":                 {"baseline", "baseline/load", "baseline/verdict", "chrome", "export", "internal/testrig", "internal/unpack", "report", "summary", "validate"},
	"occupancy":             {},
	"occupancy/kernels":     {"chrome", "event", "internal/plain", "occupancy", "timeline"},
	"chrome":                {"event", "internal/hugepage", "internal/outfile", "internal/strictyaml", "internal/unpack", "occupancy", "timeline"},
	"correlate":             {"chrome", "event", "timeline"},
	"ctl":                   {"spool"},
	"agent":                 {"internal/guest", "internal/version", "spool", "tracer", "tracer/dl"},
	"baseline":              {"baseline/shape", "baseline/verdict", "capability", "timeline"},
	"baseline/load":         {"baseline", "baseline/shape", "chrome", "compare"},
	"baseline/shape":        {"baseline/verdict", "calltree", "chrome", "event", "internal/plain", "timeline"},
	"baseline/verdict":      {"capability", "internal/plain", "internal/sarif", "internal/strictyaml"},
	"capability":            {"internal/strictyaml"},
	"calltree":              {"chrome", "internal/hugepage", "timeline"},
	"compare":               {"baseline/verdict", "calltree", "chrome", "event", "internal/plain", "internal/strictyaml", "measure", "timeline"},
	"measure":               {"calltree", "event", "internal/hugepage", "timeline"},
	"gate":                  {"baseline", "baseline/load", "baseline/verdict", "compare", "internal/strictyaml", "occupancy/kernels", "validate"},
	"merge":                 {"chrome", "timeline"},
	"ranks":                 {"chrome", "merge", "timeline"},
	"cut":                   {"chrome", "event", "merge", "timeline"},
	"repair":                {"chrome", "correlate", "event", "timeline", "tracer/cupti"},
	"host":                  {"chrome", "event", "timeline"},
	"host/bootstrap":        {},
	"record":                {"chrome", "correlate", "event", "host", "host/bootstrap", "internal/outfile", "internal/plain", "internal/version", "merge", "ranks", "spool", "timeline", "tracer", "tracer/ascend", "tracer/cupti", "tracer/metax", "tracer/musa", "tracer/ppu", "tracer/roctracer"},
	"pprofile":              {"calltree", "chrome", "correlate", "event", "internal/plain", "measure", "ranks", "timeline"},
	"export":                {"calltree", "chrome", "event", "measure", "ranks", "timeline"},
	"export/perfetto":       {"calltree", "chrome", "timeline"},
	"doctor":                {"internal/plain", "internal/version", "record", "timeline", "tracer"},
	"validate":              {"capability", "chrome", "internal/hugepage", "internal/plain", "internal/sarif", "internal/unpack", "occupancy", "timeline"},
	"summary":               {"calltree", "chrome", "cut", "event", "internal/plain", "measure", "merge", "occupancy/kernels", "ranks", "timeline"},
	"report":                {"calltree", "chrome", "compare", "event", "internal/hugepage", "internal/version", "measure", "merge", "occupancy/kernels", "ranks", "summary", "timeline", "validate"},

	"cmd/flagos-trace":                     {"baseline", "baseline/load", "baseline/shape", "baseline/verdict", "calltree", "capability", "chrome", "cmd/flagos-trace/internal/tracecheck", "compare", "ctl", "cut", "doctor", "export", "export/perfetto", "gate", "internal/outfile", "internal/strictyaml", "internal/unpack", "internal/version", "merge", "occupancy", "occupancy/kernels", "pprofile", "ranks", "record", "repair", "report", "spool", "summary", "timeline", "tracer", "validate"},
	"cmd/flagos-trace/internal/tracecheck": {},
	"cmd/libflagos-trace":                  {"agent", "spool", "tracer", "tracer/ascend/bind", "tracer/cupti/bind", "tracer/metax/bind", "tracer/musa/bind", "tracer/ppu/bind", "tracer/roctracer/bind"},

	"internal/archtest":                  {},
	"internal/canon":                     {"timeline"},
	"internal/gen/baseline":              {"baseline/shape", "chrome", "internal/testrig"},
	"internal/gen/cuptilayout":           {},
	"internal/fakegpu":                   {},
	"internal/faketorch":                 {},
	"internal/fakegpu/cmd/build-fakegpu": {"internal/fakegpu"},
	"internal/guest":                     {},
	"internal/hugepage":                  {},
	"internal/hostile":                   {},
	"internal/outfile":                   {},
	"internal/reliability":               {},
	"internal/plain":                     {},
	"internal/sarif":                     {"internal/plain"},
	"internal/strictyaml":                {},
	"internal/testrig":                   {},
	"internal/unpack":                    {},
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
