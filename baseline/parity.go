package baseline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/capability"
)

// ParityTorchFL is the name of Torch-FL's set of assertions.
const ParityTorchFL = "torch-fl"

// parityAssertions are Torch-FL's seven, in its order. Source: Torch-FL
// tests/integration/test_profiler_parity.py.
var parityAssertions = []struct {
	id, title string
	check     func(*parity)
}{
	{"torch-fl/1-categories", "Every category of the baseline is there, runtime under an equivalent name", (*parity).categories},
	{"torch-fl/2-flows", "Ids of arrows' starts are those of their finishes, and there are some", (*parity).flows},
	{"torch-fl/3-arg-keys", "Each key of the baseline stands on some kernel, copy, fill or API call", (*parity).argKeys},
	{"torch-fl/4-device-time", "aten::mm's device time is that of its linked work, and kernels hold more than 40 %", (*parity).deviceTime},
	{"torch-fl/5-demangled", "No kernel's name is mangled, and some have a scope", (*parity).demangled},
	{"torch-fl/6-runtime-names", "API calls have more names than placeholders, and a cbid", (*parity).runtimeNames},
	{"torch-fl/7-window", "Every event lies in the longest Trace span", (*parity).window},
}

type parity struct {
	*differ
	seen *shape.Observation
}

// Parity asks Torch-FL's seven assertions of a trace, absolutely: torch.profiler's
// own traces do not keep all of them. base is Torch-FL's file, or another baseline
// that requires what it does. Errors are about exceptions that cannot be understood.
func Parity(base *Side, o *shape.Observation, opts Options) (*verdict.Result, error) {
	if opts.Capabilities == nil {
		opts.Capabilities = capability.Default()
	}
	if opts.Max == 0 {
		opts.Max = 1000
	}
	now := FromTrace(o)
	d := &differ{base: base, now: now, o: opts, vendor: opts.Vendor}
	if d.vendor == "" {
		d.vendor = now.Vendor
	}
	d.r = verdict.New("parity", base.describe(), now.describe())
	d.r.New.Vendor = d.vendor
	d.r.Incomparable = append(d.r.Incomparable, now.unusable("new trace")...)
	p := &parity{d, o}
	if err := CheckExceptions(opts.Exceptions); err != nil {
		return d.r, fmt.Errorf("%w: %w", verdict.ErrExceptions, err)
	}
	for _, a := range parityAssertions {
		d.assert(&assertion{a.id, a.title, true, func(*differ) { a.check(p) }})
	}
	return d.r, d.r.Judge(slices.Concat(base.Shape.Exceptions, opts.Exceptions), opts.Now)
}

func (p *parity) fails(subject, what, expected, got, fix string, where verdict.Place) {
	p.broken++
	p.find(verdict.Finding{Subject: subject, Severity: verdict.Error, What: what, Expected: expected, Got: got, Fix: fix, Where: where})
}

func (p *parity) categories() {
	for _, name := range sorted(p.base.Shape.Categories) {
		if !p.base.Shape.Categories[name].Required {
			continue
		}
		p.checked++
		p.judged = true
		if p.category(name) == nil && p.base.Shape.KnownGaps[name] == "" {
			p.fails("category:"+name, "category "+name+" is missing", "events of category "+name, "none", "record this kind of activity", verdict.Nowhere)
		}
	}
}

func (p *parity) flows() {
	starts, finishes, both := p.seen.FlowStarts, p.seen.FlowFinishes, p.seen.FlowBoth
	p.checked, p.judged = starts+finishes-both, true
	switch {
	case starts == 0 && finishes == 0:
		p.fails("flows:none", "there are no arrows from API calls to device work", "some", "none", "write s on the call and f on the work", verdict.Nowhere)
	case starts != both || finishes != both:
		p.fails("flows:halves", "some arrows have one end", "the same ids at starts and finishes",
			fmt.Sprintf("%d starts without a finish, %d finishes without a start, %d whole", starts-both, finishes-both, both),
			"write an arrow only with both ends (torch.profiler itself does not)", verdict.Nowhere)
	}
}

func (p *parity) argKeys() {
	for _, name := range []string{"kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime"} {
		base := p.base.Shape.Categories[name]
		if base == nil {
			continue
		}
		now := p.category(name)
		var gone []string
		for _, key := range sorted(base.Args) {
			if !base.Args[key].Required {
				continue
			}
			p.checked++
			p.judged = true
			if now != nil && now.Args[key] != nil {
				continue
			}
			f := verdict.Finding{Assertion: "arg-keys", Subject: "arg:" + name + "/" + key}
			if e := excuse(p.o.Capabilities, p.vendor, &f); e != nil {
				e.Assertion = p.id
				p.r.Cannot = append(p.r.Cannot, *e)
				p.excused++
				continue
			}
			gone = append(gone, key)
		}
		if len(gone) > 0 {
			p.fails("args:"+name, fmt.Sprintf("no event of category %s has the %s %s", name, count(len(gone), "argument"), strings.Join(gone, ", ")),
				"each on at least one event", "on none", "write what the library tells", p.first(name, ""))
		}
	}
}

func (p *parity) deviceTime() {
	const mm = "aten::mm"
	if !p.seen.AttributedTo[mm] {
		p.absent = mm + " was not recorded with device work: run the workload of Torch-FL's test, or compare with diff"
	} else {
		p.checked, p.judged = 1, true
		for _, a := range p.seen.Attribution {
			if a.Operator == mm {
				p.fails("device-time:"+mm, mm+" has another device time than its linked work", a.Example.Want, a.Example.Got,
					"write the operator's External id on the work that it starts", verdict.Place{Operator: mm, Event: a.Example.Event, Offset: a.Example.Offset})
			}
		}
	}
	if m := p.seen.Measures[shape.KernelsDominate]; m != nil && m.Checked > 0 {
		p.checked++
		p.judged = true
		if m.Broken > 0 {
			p.fails("device-time:kernels", "kernels hold too little of the device time", m.Examples[0].Want, m.Examples[0].Got,
				"look for missing kernels; check that copies have the length they had on the device", verdict.Nowhere)
		}
	}
}

func (p *parity) demangled() {
	for _, x := range []struct{ id, what, want string }{
		{shape.NamesDemangled, "kernels have mangled names", "no name with _ZN"}, {shape.NamesScoped, "no kernel's name has a scope", "some name with ::"},
	} {
		m := p.seen.Measures[x.id]
		if m == nil || m.Checked == 0 {
			p.absent = "there are no kernels"
			continue
		}
		p.checked += m.Checked
		p.judged = true
		if m.Broken > 0 {
			where, got := verdict.Nowhere, broken(m)
			if e := m.Examples[0]; e.Event >= 0 {
				where, got = verdict.Place{Category: "kernel", Name: e.Name, Event: e.Event, Offset: e.Offset}, e.Name
			}
			p.fails("names:"+x.id, x.what, x.want, got, "demangle kernels' names", where)
		}
	}
}

func (p *parity) runtimeNames() {
	calls := p.seen.Classes["cuda_runtime"]
	if calls == nil {
		p.absent = "there are no API calls"
		return
	}
	p.checked, p.judged = calls.N, true
	named := false
	for name := range p.seen.Shape.Calls {
		named = named || !slices.Contains(shape.Placeholders, name)
	}
	if !named {
		p.fails("runtime:names", "API calls have nothing but placeholders for names", "names of functions", some(sorted(p.seen.Shape.Calls)), "look names up by the call's number", p.first("cuda_runtime", ""))
	}
	if calls.Args["cbid"] == nil {
		p.fails("runtime:cbid", "no API call has a cbid", "the number of the function", "none", "write the library's callback id", p.first("cuda_runtime", ""))
	}
}

func (p *parity) window() {
	if !p.seen.HasTrace {
		p.fails("window:none", "there is no Trace span", "a span of category Trace around all events", "none", "write the window that was recorded", verdict.Nowhere)
		return
	}
	m := &p.seen.Outside
	p.checked, p.judged = m.Checked, true
	if m.Broken > 0 {
		x := m.Examples[0]
		p.fails("window:outside", broken(m)+" events lie outside the longest Trace span", "all inside", "outside", "drop what lies outside the window, or widen the span",
			verdict.Place{Name: x.Name, Event: x.Event, Offset: x.Offset})
	}
}
