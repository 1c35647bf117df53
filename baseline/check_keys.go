package baseline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// essential are the categories without which sums and joins of a trace are wrong.
var essential = map[string]bool{
	"kernel": true, "gpu_memcpy": true, "gpu_memset": true, "cuda_runtime": true, "cuda_driver": true, "cpu_op": true, "Trace": true,
}

// hostSide are the categories that the framework writes, not the device's tracer.
var hostSide = map[string]bool{
	"cpu_op": true, "user_annotation": true, "gpu_user_annotation": true, "python_function": true, "cpu_instant_event": true,
}

// category finds the new side's category for one of the base.
func (d *differ) category(name string) *shape.Category {
	if c := d.now.Shape.Categories[name]; c != nil {
		return c
	}
	for _, list := range d.base.Shape.Equivalents {
		for _, a := range list {
			if shape.Canonical(a) != name {
				continue
			}
			for _, b := range list {
				if c := d.now.Shape.Categories[shape.Canonical(b)]; c != nil {
					return c
				}
			}
		}
	}
	return nil
}

// hostNotAsked says why the framework's side is not there, where the new trace's
// record says that nobody asked for it.
func (d *differ) hostNotAsked() string {
	if d.now.Seen == nil || d.now.Seen.Completeness == nil || d.now.Seen.Completeness.Operators == nil {
		return ""
	}
	switch r := d.now.Seen.Completeness.Operators.Reason; r {
	case timeline.ReasonNotAsked, timeline.ReasonNotPython, timeline.ReasonNoBootstrap, timeline.ReasonNotUsed:
		return "operators were not recorded (" + r + "); --scope device compares the rest"
	}
	return ""
}

// hasOperators reports whether the new side has operators, and else says why they
// cannot be judged.
func (d *differ) hasOperators() bool {
	if len(d.now.Shape.Operators) > 0 {
		return true
	}
	if len(d.base.Shape.Operators) == 0 && !d.base.Shape.Partial() {
		return false // nor has the base
	}
	if d.absent = d.hostNotAsked(); d.absent == "" {
		d.absent = "the new trace has no operators"
	}
	return false
}

func sorted[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

func (d *differ) categories() {
	for _, name := range sorted(d.base.Shape.Categories) {
		c := d.base.Shape.Categories[name]
		if !c.Required || d.o.Scope == Device && hostSide[name] {
			continue
		}
		d.checked++
		d.judged = true
		if d.category(name) != nil {
			continue
		}
		d.broken++
		if gap, ok := d.base.Shape.KnownGaps[name]; ok {
			d.note("category:"+name, "category %s is missing, which the base allows: %s", name, gap)
			continue
		}
		if why := d.hostNotAsked(); hostSide[name] && why != "" {
			d.absent = why
			continue
		}
		f := verdict.Finding{Subject: "category:" + name, Severity: verdict.Warning, Where: verdict.Place{Category: name, Event: -1, Offset: -1},
			Expected: "events of category " + strings.Join(append([]string{name}, c.Spellings...), " or "), Got: "none"}
		f.What = fmt.Sprintf("category %s is missing", name)
		if essential[name] {
			f.Severity = verdict.Error
		}
		switch {
		case name == "cuda_driver" && !d.sameVendor() && d.category("cuda_runtime") != nil:
			f.Severity = verdict.Note
		case name == "cuda_sync" && !d.sameProducer():
			f.Severity = verdict.Note // torch writes waits only where it is asked to
		case name == "overhead" && d.base.Seen != nil:
			f.Severity = verdict.Note // what the tracer happened to cost
		case name == "cpu_op":
			f.Fix = "record the framework's operators too, or compare the device's side with --scope device"
		case name == "Trace":
			f.Fix = "write the span of category Trace that says what was recorded"
		case d.base.Seen == nil:
			f.Fix = "check that the tracer enables this kind of record, and that the program recorded does such work"
		default:
			f.Fix = "check that the tracer enables this kind of record, and that both sides ran the same program"
		}
		if b := d.base.Seen; b != nil && b.Classes[name] != nil {
			f.Expected += fmt.Sprintf(" (%d in the base)", b.Classes[name].N)
			if essential[name] && !hostSide[name] && name != "Trace" && name != "cuda_runtime" && name != "cuda_driver" {
				f.DeviceNS = b.Classes[name].NS
			}
		}
		d.find(f)
	}
	var extra []string
	for _, name := range sorted(d.now.Shape.Categories) {
		if _, ok := d.base.Shape.Categories[name]; !ok && !(d.o.Scope == Device && hostSide[name]) {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 {
		d.note("category:extra", "the new side has categories that the base does not: %s", strings.Join(extra, ", "))
	}
}

// eachArgs calls f for the categories that both sides have.
func (d *differ) eachArgs(f func(name string, base, now *shape.Category)) {
	for _, name := range sorted(d.base.Shape.Categories) {
		if d.o.Scope == Device && hostSide[name] {
			continue
		}
		base := d.base.Shape.Categories[name]
		if now := d.category(name); now != nil && len(base.Args) > 0 {
			f(name, base, now)
		}
	}
}

// keySeverity is the weight of a difference in one argument. What joins operators
// with their work matters wherever it stands.
func keySeverity(category, key string) verdict.Severity {
	if category == "cpu_op" && key == operatorKey {
		return verdict.Error
	}
	return argSeverity(category)
}

// argSeverity is the weight of a difference in the arguments of a category.
func argSeverity(category string) verdict.Severity {
	switch category {
	case "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver":
		return verdict.Error
	}
	return verdict.Warning
}

// operatorKey is the argument that names the framework's operator, wherever it
// stands: without the framework's side there is none.
const operatorKey = "External id"

// shapeKeys are arguments of operators that are there only if shapes were asked for.
var shapeKeys = []string{"Input Dims", "Input type", "Input Strides", "Concrete Inputs"}

// newerKeys are arguments of device work and API calls that only newer versions of
// Kineto write, or that say something about few events: nobody needs them of everyone.
var newerKeys = []string{"channel", "channel_type", "graph id", "graph node id", "occupancy", "priority", "return value", "finished", "overhead_attribution"}

func (d *differ) argKeys() {
	d.eachArgs(func(name string, base, now *shape.Category) {
		var extra []string
		for _, key := range sorted(base.Args) {
			a := base.Args[key]
			if !a.Required || d.o.Scope == Device && key == operatorKey {
				continue
			}
			d.checked++
			d.judged = true
			if now.Args[key] != nil {
				continue
			}
			d.broken++
			if why := d.hostNotAsked(); key == operatorKey && why != "" {
				d.absent = why
				continue
			}
			f := verdict.Finding{Subject: "arg:" + name + "/" + key, Severity: keySeverity(name, key), Where: d.first(name, key),
				What: fmt.Sprintf("no event of category %s has the argument %q", name, key), Expected: "on every event", Got: "on none",
				Fix: "write it where the library tells it; where it cannot, leave it out and say so in the table of capabilities"}
			if !a.Every {
				f.Expected = "on some events"
			}
			if d.base.Seen == nil && !a.Every {
				f.Expected = "on at least one event"
			}
			switch {
			case slices.Contains(newerKeys, key):
				f.Severity = verdict.Note
				d.broken--
			case slices.Contains(shapeKeys, key) && name == "cpu_op" && d.now.Shape.Metadata["record_shapes"] == nil:
				f.Severity, f.What = verdict.Note, f.What+": shapes were not recorded"
			case !a.Every && argSeverity(name) == verdict.Error && d.base.Seen != nil:
				f.Severity = verdict.Warning
			}
			d.find(f)
		}
		for _, key := range sorted(now.Args) {
			if base.Args[key] == nil {
				extra = append(extra, key)
			}
		}
		if len(extra) > 0 && !d.base.Shape.Partial() {
			d.note("arg:"+name+"/extra", "events of category %s have arguments that the base does not: %s", name, strings.Join(extra, ", "))
		}
	})
}

// first is the place of the first event of a category.
func (d *differ) first(category, key string) verdict.Place {
	p := verdict.Place{Category: category, Key: key, Event: -1, Offset: -1}
	if d.now.Seen == nil {
		return p
	}
	if c := d.now.Seen.Classes[category]; c != nil {
		event := c.First
		if a := c.Args[key]; a != nil {
			event = a.Example
		}
		p.Event, p.Offset, p.Name = int64(event), d.now.Seen.Offset(event), d.now.Seen.EventName(event)
	}
	return p
}

// allLinked reports whether all device work that belongs to an operator has its id: of
// the rest, as of a graph that is replayed outside of operators, nobody expects one.
func (d *differ) allLinked(category string) bool {
	if d.now.Seen == nil || category != "kernel" && category != "gpu_memcpy" && category != "gpu_memset" {
		return false
	}
	m := d.now.Seen.Measures[shape.Linked]
	return m != nil && m.Checked > 0 && m.Broken == 0
}

func (d *differ) argCoverage() {
	d.eachArgs(func(name string, base, now *shape.Category) {
		for _, key := range sorted(base.Args) {
			a, b := base.Args[key], now.Args[key]
			if b == nil || !a.Every || slices.Contains(newerKeys, key) || d.o.Scope == Device && key == operatorKey {
				continue
			}
			d.checked++
			d.judged = true
			if b.Every || key == operatorKey && d.allLinked(name) {
				continue
			}
			d.broken++
			f := verdict.Finding{Subject: "coverage:" + name + "/" + key, Severity: verdict.Warning, Where: verdict.Place{Category: name, Key: key, Event: -1, Offset: -1},
				What:     fmt.Sprintf("not every event of category %s has the argument %q", name, key),
				Expected: "on every event", Got: "on some", Fix: "write it on every event, or say why some have none"}
			if d.now.Seen != nil {
				c := d.now.Seen.Classes[name]
				if c == nil || c.Args[key] == nil {
					continue
				}
				f.Got = fmt.Sprintf("on %d of %d", c.Args[key].N, c.N)
				f.Count, f.Of = c.N-c.Args[key].N, c.N
			}
			d.find(f)
		}
	})
}
