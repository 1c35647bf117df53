package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
)

// vendorWords stand in the names of operators that one vendor's library carries out.
var vendorWords = strings.NewReplacer("cudnn", "*", "miopen", "*", "cuda", "*", "hip", "*", "npu", "*", "musa", "*", "mudnn", "*", "mlu", "*", "xpu", "*", "gcu", "*")

func (d *differ) operators() {
	if len(d.base.Shape.Operators) == 0 || !d.hasOperators() {
		return
	}
	if d.some(shape.OperatorsOnce) != nil {
		d.measured(shape.OperatorsOnce, verdict.Error, verdict.Finding{What: "operators stand in the trace twice", Fix: "write each record once; sums count it as often as it is there"})
	}
	now := d.now.Shape.Operators
	var renamed map[string]string
	if !d.sameVendor() {
		renamed = map[string]string{}
		for _, name := range sorted(now) {
			renamed[vendorWords.Replace(name)] = name
		}
	}
	for _, name := range sorted(d.base.Shape.Operators) {
		base := d.base.Shape.Operators[name]
		if base.Presence != shape.Always {
			continue
		}
		d.checked++
		d.judged = true
		if now[name] != nil {
			continue
		}
		if to := renamed[vendorWords.Replace(name)]; to != "" && vendorWords.Replace(name) != name {
			d.note("operator:"+name, "operator %s is %s on the new side", name, to)
			continue
		}
		d.broken++
		f := verdict.Finding{Subject: "operator:" + name, Severity: verdict.Warning, Where: verdict.Place{Operator: name, Event: -1, Offset: -1},
			What: "operator " + name + " is not there", Expected: "calls of " + name, Got: "none",
			Fix: "check that both sides ran the same program; if a library of the vendor's took the operator's place, accept it as an exception"}
		if len(base.Work) > 0 {
			f.Severity = verdict.Error
			f.What += ", which starts " + strings.Join(sorted(base.Work), ", ") + " in the base"
		}
		if b := d.base.Seen; b != nil {
			f.DeviceNS = b.OperatorNS[name]
		}
		d.find(f)
	}
	var extra []string
	for _, name := range sorted(now) {
		if d.base.Shape.Operators[name] == nil {
			extra = append(extra, name)
		}
	}
	if len(extra) > 0 && d.base.Seen != nil {
		d.note("operator:extra", "the new side has %s that the base does not: %s", count(len(extra), "operator"), some(extra))
	}
}

// some lists the first few names.
func some(names []string) string {
	const most = 5
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}

func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (d *differ) operatorWork() {
	if len(d.base.Shape.Operators) == 0 || !d.hasOperators() {
		return
	}
	kernels := 0
	var differ []string
	for _, name := range sorted(d.base.Shape.Operators) {
		base, now := d.base.Shape.Operators[name], d.now.Shape.Operators[name]
		if now == nil {
			continue
		}
		d.checked++
		d.judged = true
		for _, kind := range sorted(base.Work) {
			if base.Work[kind] != shape.Always || now.Work[kind] != "" {
				continue
			}
			d.broken++
			f := verdict.Finding{Subject: "work:" + name + "/" + kind, Severity: verdict.Error, Where: d.operator(name),
				What: fmt.Sprintf("%s starts no %s", name, kind), Expected: strings.Join(sorted(base.Work), ", "), Got: strings.Join(sorted(now.Work), ", "),
				Fix: "look for work that was dropped, or that belongs to another operator (External id)"}
			if f.Got == "" {
				f.Got = "no device work"
			}
			if len(now.Work) > 0 && !d.sameVendor() {
				f.Severity = verdict.Note // a fill by a kernel, and the like
			}
			if b := d.base.Seen; b != nil {
				f.DeviceNS = b.OperatorNS[name]
			}
			d.find(f)
		}
		for _, kind := range sorted(now.Work) {
			if base.Work[kind] == "" && d.base.Seen != nil {
				d.note("work:"+name+"/extra:"+kind, "%s starts %s, which it does not in the base", name, kind)
			}
		}
		if d.sameVendor() && d.base.Seen != nil && len(now.Kernels) > 0 && !slices.Equal(base.Kernels, now.Kernels) {
			kernels++
			differ = append(differ, name)
		}
	}
	if d.exchanged() {
		return
	}
	if kernels > 0 {
		d.note("work:kernels", "other kernels than in the base run under %s: %s", count(kernels, "operator"), some(differ))
	}
}

// operator is the place of an operator's first call.
func (d *differ) operator(name string) verdict.Place {
	p := verdict.Place{Operator: name, Event: -1, Offset: -1}
	if s := d.now.Seen; s != nil {
		if event, ok := s.OperatorFirst[name]; ok {
			p.Event, p.Offset = int64(event), s.Offset(event)
		}
	}
	return p
}

// placeholderShare is the share of API calls without their own name from which on it
// is an error. Source: Torch-FL's contract test.
const placeholderShare = 0.05

// strange reports whether none of the names begins as those of the base do (cuda, cu,
// hip, ...); of no names nothing is said.
func strange(names []string, base map[string]shape.Presence) bool {
	begins := func(name string) string {
		return name[:len(name)-len(strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz"))]
	}
	known := map[string]bool{}
	for name := range base {
		known[begins(name)] = begins(name) != ""
	}
	return len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return known[begins(name)] })
}

// lostNames is how many names of API calls must be gone for them to be lost.
const lostNames = 4

func (d *differ) apiNames() {
	if d.contradiction() {
		return
	}
	severity := verdict.Error
	if d.now.Seen != nil {
		if m := d.now.Seen.Measures[shape.NamesReal]; m != nil && m.Share() <= placeholderShare {
			severity = verdict.Warning
		}
	}
	if d.measured(shape.NamesReal, severity, verdict.Finding{What: "API calls have a placeholder for a name", Expected: "the names of the functions that were called",
		Fix: "look the name up by the call's number in the vendor's own table"}) == worse {
		return
	}
	base, now := d.base.Shape.Calls, d.now.Shape.Calls
	if len(now) == 0 || len(base) == 0 {
		return
	}
	d.judged = true
	if len(base) >= 4 && len(now)*4 <= len(base) && d.base.Seen != nil {
		names := sorted(now)
		d.find(verdict.Finding{Subject: "calls:variety", Severity: verdict.Error, Where: d.first("cuda_runtime", ""),
			What:     fmt.Sprintf("API calls have %s, where the base has %d", count(len(now), "name"), len(base)),
			Expected: some(sorted(base)), Got: some(names), Fix: "write the name of the function that was called"})
		return
	}
	if !d.sameVendor() {
		return
	}
	var gone, extra []string
	before := d.checked
	for _, name := range sorted(base) {
		if base[name] != shape.Always || slices.Contains(shape.Placeholders, name) {
			continue
		}
		d.checked++
		if now[name] == "" {
			d.broken++
			gone = append(gone, name)
		}
	}
	for _, name := range sorted(now) {
		if base[name] == "" {
			extra = append(extra, name)
		}
	}
	// With so many gone the names are others, not the calls, unless they can be a
	// vendor's: another program makes other calls.
	if len(gone) >= lostNames && len(gone)*2 >= int(d.checked-before) && (len(extra) == len(now) || strange(extra, base)) {
		d.find(verdict.Finding{Subject: "calls:lost", Severity: verdict.Error, Where: d.first("cuda_runtime", ""), Count: int64(len(gone)), Of: d.checked - before,
			What:     fmt.Sprintf("%d of the %d names that API calls always have in the base are not there", len(gone), d.checked-before),
			Expected: some(gone), Got: some(extra), Fix: "look names up by the call's number in the vendor's own table"})
		return
	}
	for i, name := range gone {
		f := verdict.Finding{Subject: "call:" + name, Severity: verdict.Warning, Where: verdict.Place{Name: name, Event: -1, Offset: -1},
			What: "no API call is " + name, Expected: "calls of " + name, Got: "none", Fix: "check that the tracer records it, and by this name"}
		if len(extra) > 0 && i == 0 {
			f.Got = "none; new are " + some(extra)
		}
		d.find(f)
	}
	if len(extra) > 0 && len(gone) == 0 && d.base.Seen != nil {
		d.note("call:extra", "the new side calls what the base does not: %s", some(extra))
	}
}

func (d *differ) names() {
	if d.kernelsNamed() == worse {
		return
	}
	d.copyNames()
	if d.measured(shape.NamesDemangled, verdict.Error, verdict.Finding{What: "kernels have mangled names", Expected: "void at::native::...",
		Fix: "demangle the names (Itanium C++ ABI) before they are written"}) == worse {
		return
	}
	if d.oneKernelName() || d.crowded() {
		return
	}
	severity := verdict.Warning
	if d.base.Seen == nil {
		severity = verdict.Note // compiled programs have kernels of their own only
	}
	d.measured(shape.NamesScoped, severity, verdict.Finding{What: "no kernel's name has a scope (::)", Expected: "names with namespaces",
		Fix: "write the full demangled name"})
}
