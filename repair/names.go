package repair

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// names makes symbols of kernels C++ names, and names API calls that have none.
func (r *repairer) names() {
	t := r.t
	shown := map[uint32]uint32{}
	demangled, mangled, named, unnamed := 0, 0, 0, 0
	for i := range uint32(t.Events.Len()) {
		e := t.Events.At(i)
		switch {
		case e.Kind == timeline.Kernel:
			id, ok := shown[e.Name]
			if !ok {
				id = e.Name
				if s := t.Strings.At(id); strings.HasPrefix(s, "_Z") {
					id = t.Strings.ID(correlate.Demangle(s))
				}
				shown[e.Name] = id
			}
			if id != e.Name {
				e.Name = id
				demangled++
			} else if strings.HasPrefix(t.Strings.At(id), "_Z") {
				mangled++
			}
		case e.Kind.IsAPI() && placeholder(t.Strings.At(e.Name)):
			if name, ok := r.callName(e); ok {
				e.Name = t.Strings.ID(name)
				if r.rules.Named("launch", name) {
					t.Calls.At(e.Detail).Has |= event.StartsWork // as reading tells by the name
				}
				named++
			} else {
				unnamed++
			}
		}
	}
	r.repaired("names_demangled", demangled)
	r.repaired("calls_named", named)
	r.remains(RemainingNames, mangled)
	r.remains(RemainingUnnamed, unnamed)
}

// placeholder reports whether a name says that a call's name was not known.
// "INVALID" is Kineto's word for ids that its table does not have.
func placeholder(name string) bool { return name == "INVALID" || name == "<unknown>" }

// callName looks a CUDA call up by its callback id. Ids are given once and for
// all, by CUPTI's headers, so that they mean the same in traces of any version.
func (r *repairer) callName(e *timeline.Event) (string, bool) {
	c := r.t.Calls.At(e.Detail)
	if c.Has&event.HasCallID == 0 {
		return "", false
	}
	switch r.t.Strings.At(e.Category) {
	case "cuda_runtime":
		return cupti.CallbackName(cupti.DomainRuntime, c.CBID)
	case "cuda_driver":
		return cupti.CallbackName(cupti.DomainDriver, c.CBID)
	}
	return "", false
}
