package chrome

import (
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Producer is who wrote a trace, as far as it can be told from the trace. What
// cannot be told is empty.
type Producer struct {
	Name    string // "torch", "torch_npu", "Torch-FL", "flagos-trace", ...
	Vendor  string // of the devices: "cuda", "rocm", "ascend", "musa", "mlu", "xpu", "mtia", "cpu", ...
	Version string // of torch: a range, such as "2.4 to 2.6"; or of the tool, for our own
}

// String returns the producer in a few words.
func (p Producer) String() string {
	words := []string{p.Name, p.Version}
	if p.Name == "" {
		words = []string{"unknown"}
	}
	if p.Vendor != "" {
		words = append(words, "("+p.Vendor+")")
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// producerRule tells a producer, or a version, by features of a trace.
type producerRule struct {
	Name    string   `yaml:"name"`
	Vendor  string   `yaml:"vendor"`
	Version string   `yaml:"version"`
	Any     []string `yaml:"any"`
	All     []string `yaml:"all"`
	None    []string `yaml:"none"`
}

func (p *producerRule) fits(features []string) bool {
	has := func(f string) bool {
		if prefix, ok := strings.CutSuffix(f, "*"); ok {
			i, _ := slices.BinarySearch(features, prefix)
			return i < len(features) && strings.HasPrefix(features[i], prefix)
		}
		_, ok := slices.BinarySearch(features, f)
		return ok
	}
	for _, f := range p.All {
		if !has(f) {
			return false
		}
	}
	return (len(p.Any) == 0 || slices.ContainsFunc(p.Any, has)) && !slices.ContainsFunc(p.None, has)
}

// tracerVendors has the vendor of the devices that a tracer of ours records. The PPU's
// calls have CUDA's names, and the DCU's have ROCm's: nothing else in a trace tells.
var tracerVendors = map[string]string{
	"cupti": "cuda", "ascend": "ascend", "musa": "musa", "metax": "metax", "ppu": "ppu", "roctracer": "dcu",
}

// Vendors returns the vendors of devices that rules know by their traces, sorted.
func (r *Rules) Vendors() (list []string) {
	for i := range r.producers {
		if v := r.producers[i].Vendor; v != "" {
			list = append(list, v)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func (b *builder) producer() (p Producer) {
	features := b.features()
	for i := range b.rules.producers {
		if r := &b.rules.producers[i]; r.fits(features) {
			p.Name, p.Vendor, p.Version = r.Name, r.Vendor, r.Version
			break
		}
	}
	if c := b.t.Completeness; c != nil && c.Recorded() {
		// Our own: "flagos-trace 1.2"; the vendor is the tracer's.
		p.Version = strings.TrimSpace(strings.TrimPrefix(c.Tool, p.Name))
		if p.Vendor = tracerVendors[c.Tracer]; p.Vendor != "" {
			return p
		}
		for i := range b.rules.producers {
			if r := &b.rules.producers[i]; r.Name != p.Name && r.fits(features) {
				p.Vendor = r.Vendor
				break
			}
		}
		return p
	}
	for i := range b.rules.versions {
		if r := &b.rules.versions[i]; p.Version == "" && r.fits(features) {
			p.Version = r.Version
		}
	}
	return p
}

// features lists what rules ask for, sorted.
func (b *builder) features() []string {
	t := b.t
	seen := map[string]bool{}
	events := len(t.Metadata)
	if b.src.Array {
		seen["layout:array"] = true
	} else {
		events = b.src.EventsAt
	}
	c := t.Completeness
	for i, m := range t.Metadata {
		// What a repair added says nothing about the producer.
		if c != nil && (m.Key == KeyCompleteness && !c.Recorded() || m.Key == "baseTimeNanoseconds" && c.Repaired[timeline.RepairedAbsoluteTimes] > 0) {
			continue
		}
		seen["member:"+m.Key] = true
		if m.Key == "baseTimeNanoseconds" && i < events {
			seen["layout:time before events"] = true
		}
	}
	for k := range b.counts {
		seen["category:"+t.Strings.At(k.category)] = true
	}
	for i := range t.Groups {
		seen["process:"+t.Groups[i].Name] = true
		seen["label:"+t.Groups[i].Label] = true
	}
	for i := range t.Devices {
		seen["device:"+t.Devices[i].Name] = true
	}
	for name := range b.launches {
		seen["call:"+t.Strings.At(name)] = true
	}
	for i, key := range b.rules.marks {
		if b.marks&(1<<(numSlots+i)) != 0 {
			seen["mark:"+key] = true
		}
	}
	for i, name := range slotNames {
		if b.marks&(1<<i) != 0 {
			seen["arg:"+name] = true
		}
	}
	list := make([]string, 0, len(seen))
	for f := range seen {
		list = append(list, f)
	}
	slices.Sort(list)
	return list
}
