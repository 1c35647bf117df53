package agent

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// Variables that say whose devices to record. EnvVendor is the recorder's own;
// EnvAccelerator is FlagOS', which other programs read, too.
const (
	EnvVendor      = "FLAGOS_TRACE_VENDOR"
	EnvAccelerator = "FLAGOS_ACCELERATOR"
)

// choose returns the candidates to try: those of the vendor that the environment names;
// else those whose devices are nearest, first of all the ones whose libraries the process
// has loaded. A name that nobody here has is told by the note, and not followed.
func choose(all []Candidate, getenv func(string) string) (list []Candidate, note string) {
	for _, variable := range []string{EnvVendor, EnvAccelerator} {
		name := strings.ToLower(strings.TrimSpace(getenv(variable)))
		if name == "" || name == "auto" {
			continue
		}
		v, _ := tracer.VendorOf(name)
		for _, c := range all {
			if c.Name == name || c.Name == v.Tracer {
				list = append(list, c)
			}
		}
		if len(list) > 0 {
			return list, note
		}
		var known []string
		for _, c := range all {
			known = append(known, c.Name)
		}
		note = fmt.Sprintf("%s=%s: this agent has no tracer of that name (it has: %s); it is chosen by what the process has loaded", variable, name, strings.Join(known, ", "))
	}
	best := tracer.Absent
	near := make([]tracer.Presence, len(all))
	for i, c := range all {
		if c.Detect != nil {
			near[i] = c.Detect(getenv)
		}
		best = max(best, near[i])
	}
	for i, c := range all {
		if near[i] == best {
			list = append(list, c)
		}
	}
	// Where there is no sign of any, only one is to say what it misses.
	if best == tracer.Absent && slices.ContainsFunc(list, func(c Candidate) bool { return c.Detect != nil }) {
		list = list[:1]
	}
	return list, note
}
