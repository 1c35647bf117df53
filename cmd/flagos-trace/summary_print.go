package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/summary"
)

// summaryPage prints a summary for people.
type summaryPage struct {
	tablePrinter
	f *summaryFlags
	s *summary.Summary
}

// firstPage is what is printed when nothing was asked for, and how many rows of it.
var firstPage = []struct {
	table string
	rows  int
}{{"operators", 8}, {"kernels", 8}, {"steps", 6}, {"copies", 4}, {"collectives", 5}, {"gaps", 5}, {"path", 6}, {"ranks", 8}}

func (p *summaryPage) page() {
	p.heads()
	if len(p.f.by) == 0 {
		p.overview()
	}
	p.print("\n")
	for _, t := range p.s.Tables() {
		rows := 10
		switch {
		case len(p.f.by) == 0:
			i := slices.IndexFunc(firstPage, func(f struct {
				table string
				rows  int
			}) bool {
				return f.table == t.Name
			})
			if i < 0 {
				continue
			}
			rows = firstPage[i].rows
			if t.Name == "operators" && len(p.s.Operators) == 0 {
				continue // kernels say the same
			}
		case !slices.Contains(p.f.by, t.Name):
			continue
		}
		if p.f.full {
			rows = p.f.top
		}
		if p.f.sort != "" {
			t.Sort(p.f.sort)
		}
		p.sheet(t, rows)
	}
	p.missing()
	p.checks()
}

// heads says what was read, and how complete it is.
func (p *summaryPage) heads() {
	traces := p.s.Traces
	shown := min(len(traces), 8)
	for i := range traces[:shown] {
		t := &traces[i]
		who := strings.TrimSpace(t.Producer + " " + t.Version)
		if who == "" {
			who = "a producer that cannot be told"
		}
		if t.Vendor != "" {
			who += " (" + t.Vendor + ")"
		}
		p.line("%s: by %s; %s in %s", t.Name, who, number(t.Events, "event"), span(t.WindowNS))
		p.completeness(t)
	}
	if shown < len(traces) {
		p.line("and %d more traces", len(traces)-shown)
	}
	if p.s.Selected != "" {
		p.line("only %s", p.s.Selected)
	}
}

func (p *summaryPage) completeness(t *summary.Trace) {
	c := t.Completeness
	switch {
	case c == nil:
		p.line("  completeness: not known, the trace carries no record of what it lacks")
	case len(c.Lost) == 0:
		p.line("  completeness: %s", c.Verdict)
	default:
		p.line("  completeness: %s; %s", c.Verdict, strings.Join(c.Lost, "; "))
	}
	if c != nil && len(c.Cuts) > 0 {
		p.line("  a part of a trace: %s", strings.Join(c.Cuts, ", then "))
	}
	for _, lost := range chrome.Unread(t.Findings) {
		p.line("  a part of the trace is missing: %s", lost)
	}
	if len(t.Findings) > 0 {
		var n uint64
		for _, k := range t.Findings {
			n += k
		}
		p.line("  reading it found %s: flagos-trace validate says more", plural(int(n), "odd or broken thing", "odd or broken things"))
	}
}

// overview says how busy devices were, and why they were not.
func (p *summaryPage) overview() {
	n := 0
	for i := range p.s.Traces {
		t := &p.s.Traces[i]
		for k := range t.Devices {
			d := &t.Devices[k]
			n++
			if n > 4 {
				continue
			}
			label := "device " + d.Label
			if d.Name != "" {
				label += ", " + d.Name
			}
			if len(p.s.Traces) > 1 {
				if t.Rank != nil {
					label = fmt.Sprintf("rank %d, %s", *t.Rank, label)
				} else {
					label = t.Name + ", " + label
				}
			}
			p.device(label, d)
		}
		if l := t.Launches; l != nil && len(p.s.Traces) == 1 {
			text := fmt.Sprintf("  launch delay: median %s, 99 %% below %s, longest %s, of %s", span(l.MedianNS), span(l.P99NS), span(l.MaxNS), number(int(l.Calls), "call"))
			if l.Early > 0 {
				text += fmt.Sprintf("; %s before its call: clocks are apart", plural(int(l.Early), "piece of work begins", "pieces of work begin"))
			}
			p.line("%s", text)
		}
	}
	if n > 4 {
		p.device(fmt.Sprintf("all %d devices", n), p.s.Whole)
	}
	if c := p.s.CriticalPath; c != nil {
		var list []namedNS
		for kind, ns := range c.ByKind {
			list = append(list, namedNS{kind, ns})
		}
		slices.SortFunc(list, func(a, b namedNS) int { return strings.Compare(a.name, b.name) })
		of := ""
		if len(p.s.Traces) > 1 {
			of = " of the first trace"
		}
		p.shares("critical path"+of+": ", c.NS, list)
	}
	if o := p.s.Occupancy; o != nil && o.Calculable > 0 {
		p.line("occupancy: launch configurations leave %s of %s of kernels unused (%s), by --by occupancy", percentOf(o.LostNS, o.CalculableNS), span(o.CalculableNS), span(o.LostNS))
	}
}

func percentOf(part, whole int64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

type namedNS struct {
	name string
	ns   int64
}

// device prints the lines of one device.
func (p *summaryPage) device(label string, d *summary.Device) {
	p.line("%s: busy %s of %s; %s, %s; device time %s", label, percentOf(d.BusyNS, d.WindowNS), span(d.WindowNS),
		plural(int(d.Works), "kernel, copy or fill", "kernels, copies and fills"), number(d.Streams, "stream"), span(d.DeviceNS))
	b, i := &d.Busy, &d.Idle
	p.shares("  busy: ", d.WindowNS, []namedNS{{"compute", b.ComputeNS}, {"communication", b.CommunicationNS}, {"copies", b.CopyNS}, {"compute and communication", b.ComputeCommunicationNS},
		{"compute and copies", b.ComputeCopyNS}, {"communication and copies", b.CommunicationCopyNS}, {"all three", b.AllNS}})
	if b.PeerNS != nil {
		p.line("        of communication alone, %s waiting for peers", span(*b.PeerNS))
	}
	p.shares("  idle: ", d.WindowNS, []namedNS{{"waiting for the host", i.HostNS}, {"in launch", i.LaunchNS}, {"waiting for another stream", i.StreamNS}, {"between queued work", i.QueueNS},
		{"unknown", i.UnknownNS}, {"at start", i.StartNS}, {"at end", i.EndNS}})
	var extra []string
	if v, ok := d.LaunchBound(); ok {
		extra = append(extra, fmt.Sprintf("launch-bound %.1f %%", 100*v))
	}
	if d.Queue != nil {
		extra = append(extra, fmt.Sprintf("queue %.1f launches deep on average, %d at most", d.Queue.Mean(), d.Queue.Max))
	}
	if len(extra) > 0 {
		p.line("  %s", strings.Join(extra, "; "))
	}
}

// shares prints what is not zero, the largest first.
func (p *summaryPage) shares(head string, whole int64, list []namedNS) {
	list = slices.DeleteFunc(list, func(n namedNS) bool { return n.ns == 0 })
	if len(list) == 0 {
		return
	}
	slices.SortStableFunc(list, func(a, b namedNS) int { return int(max(min(b.ns-a.ns, 1), -1)) })
	var parts []string
	for _, n := range list {
		parts = append(parts, fmt.Sprintf("%s %s (%s)", n.name, span(n.ns), percentOf(n.ns, whole)))
	}
	p.line("%s%s", head, strings.Join(parts, ", "))
}

// missing says what the page cannot hold, and why.
func (p *summaryPage) missing() {
	if p.s.RanksUnaligned != "" {
		p.line("What ranks waited for is not known: %s.", p.s.RanksUnaligned)
	}
	if r := p.s.Ranks; r != nil {
		if r.Imbalance != nil {
			p.line("Imbalance: %s computes most, %.1f %% more than the mean.", r.Busiest, *r.Imbalance*100)
		}
		for _, text := range r.Ends() {
			p.line("%s.", text)
		}
	}
	if len(p.s.Missing) == 0 {
		return
	}
	p.line("Not in the trace:")
	for _, text := range p.s.Missing {
		p.line("  %s", text)
	}
}

// checks says whether the sums are right.
func (p *summaryPage) checks() {
	var right, wrong []string
	for _, c := range p.s.Checks {
		if c.OK() {
			right = append(right, c.Of)
		} else {
			wrong = append(wrong, fmt.Sprintf("%s: %d ns of %d ns", c.Of, c.SumNS, c.TotalNS))
		}
	}
	if len(right) > 0 {
		p.line("Sums are right to the nanosecond: %s.", strings.Join(right, "; "))
	}
	for _, text := range wrong {
		p.line("A sum is WRONG, please report it: %s", text)
	}
}
