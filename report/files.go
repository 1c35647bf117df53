package report

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/compare"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/summary"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Options of Files. The zero value is good.
type Options struct {
	// Base are the traces that the others are held against; none: nothing is.
	Base []string
	// Title of the page; "": the files' names.
	Title string
	Rules *chrome.Rules // names of further categories and arguments; nil: the built-in ones
	// ByShape has a row for every shape of an operator's inputs.
	ByShape bool
	// NoFindings leaves validation out, which reads each file once more.
	NoFindings bool
}

const (
	maxPieces  = 60_000 // of all rows of a page
	maxBins    = 600    // of a device
	maxAllBins = 40_000 // of all devices of a page
)

// Files makes a report of the traces in files: documents, compressed or not, archives of
// them, merged traces; "-" is standard input. Where that or a named pipe is among them,
// nothing is validated. Errors are those of summary.Files, and name the file.
func Files(paths []string, o Options) (*Report, error) {
	if o.Rules == nil {
		o.Rules = chrome.DefaultRules()
	}
	r := &Report{Schema: Schema, Title: o.Title, Tool: "flagos-trace " + version.String()}
	if r.Title == "" {
		r.Title = titleOf(paths)
	}
	c := &collector{o: &o, traces: len(paths) + len(o.Base)}
	var all [2][]*reduced
	for side, files := range [][]string{paths, o.Base} {
		if len(files) == 0 {
			break
		}
		s, err := c.side(files, &all[side])
		if err != nil {
			return nil, err
		}
		r.Sides = append(r.Sides, s)
	}
	if len(r.Sides) > 1 {
		r.Sides[0].Label, r.Sides[1].Label = "new", "base"
		var inputs [2][]compare.Input
		for side, list := range all {
			for _, v := range list {
				inputs[side] = append(inputs[side], v.input)
			}
		}
		r.Diff = diffOf(compare.Run(inputs[1], inputs[0], compare.Options{}))
	}
	r.join(all)
	return r, nil
}

func titleOf(paths []string) string {
	title := filepath.Base(paths[0])
	if n := len(paths); n > 1 {
		title += fmt.Sprintf(" and %d more", n-1)
	}
	return title
}

// collector reads traces.
type collector struct {
	o      *Options
	traces int // how many are expected, on both sides
}

// reduced is what is kept of a trace. Its names and frames are its own until all are
// there, so that traces can be read in any order.
type reduced struct {
	view   *TraceView
	names  names
	flames flames
	input  compare.Input // the trace itself, only for a comparison
}

// side reads the traces of a side.
func (c *collector) side(paths []string, all *[]*reduced) (*Side, error) {
	s := &Side{Files: paths}
	// Validation reads the files again, and has long stretches on one processor. One file
	// alone may be so large that both tables of it, while they grow, are much memory: it
	// is validated first, but for the end of that, which is short.
	var group sync.WaitGroup
	var notValid error
	begun := make(chan struct{})
	begin := sync.OnceFunc(func() { close(begun) })
	if len(paths) > 1 || c.o.NoFindings {
		begin()
	}
	if !c.o.NoFindings {
		group.Go(func() {
			defer begin()
			s.Findings, s.NotValidated, notValid = findings(paths, c.o.Rules, begin)
		})
	}
	<-begun
	defer group.Wait()
	parts := make([][]*reduced, len(paths))
	sum, err := summary.Files(paths, summary.Options{Rules: c.o.Rules, ByShape: c.o.ByShape, KeepKeys: []string{allocatedKey}, Look: func(r summary.Reading) {
		parts[r.File] = append(parts[r.File], c.trace(&r))
	}})
	if err != nil {
		return nil, err
	}
	*all = slices.Concat(parts...)
	for i, v := range *all {
		v.view.order = i
		s.Traces = append(s.Traces, v.view)
	}
	s.take(sum)
	group.Wait()
	return s, notValid
}

// take takes over what a summary says.
func (s *Side) take(sum *summary.Summary) {
	s.Tables = tablesOf(sum)
	short := *sum
	short.Operators, short.Kernels, short.Modules, short.Annotations, short.Steps = nil, nil, nil, nil, nil
	short.Copies, short.Collectives, short.Calls, short.Gaps = nil, nil, nil, nil
	short.CriticalPath, short.Ranks = nil, nil
	if short.Occupancy != nil {
		sums := *short.Occupancy
		sums.Configurations = nil
		short.Occupancy = &sums
	}
	s.Summary = &short
	// Both are in the order in which they were read, but that the summary's are sorted
	// by rank.
	slices.SortStableFunc(s.Traces, func(a, b *TraceView) int { return s.place(a) - s.place(b) })
	if sum.Ranks != nil {
		s.align(sum.Ranks)
	}
	s.clock()
}

// place finds a trace in the summary.
func (s *Side) place(v *TraceView) int {
	for i := range s.Summary.Traces {
		t := &s.Summary.Traces[i]
		if t.Name == v.Name && t.Start == v.start && t.WindowNS == v.WindowNS {
			return i
		}
	}
	return len(s.Summary.Traces) + v.order
}

// align moves the traces of ranks onto the clock of the first, as far as that was found
// out.
func (s *Side) align(a *ranks.Analysis) {
	for _, v := range s.Traces {
		i := slices.IndexFunc(a.Ranks, func(r ranks.RankReport) bool { return r.File == v.Name && r.Clock != nil })
		if i < 0 {
			continue
		}
		c := a.Ranks[i].Clock
		switch c.Method {
		case timeline.AlignCollectives, timeline.AlignCausality:
			v.shift = c.Map(v.start) - v.start
			v.Clock = "moved by " + time.Duration(v.shift).String()
			if v.shift == 0 {
				v.Clock = "agrees"
			}
			if c.UncertaintyNS != nil {
				v.Clock += ", ±" + time.Duration(*c.UncertaintyNS).String()
			}
		}
	}
}

// clock puts traces on one clock if all of them were recorded at one time.
func (s *Side) clock() {
	if len(s.Traces) == 0 {
		return
	}
	begin := func(v *TraceView) int64 { return v.start + v.shift }
	first, latest, longest := begin(s.Traces[0]), begin(s.Traces[0]), s.Traces[0].WindowNS
	end := first + longest // of the last to end
	soonest := end         // of the first to end
	for _, v := range s.Traces {
		first, latest = min(first, begin(v)), max(latest, begin(v))
		end, soonest = max(end, begin(v)+v.WindowNS), min(soonest, begin(v)+v.WindowNS)
		longest = max(longest, v.WindowNS)
	}
	s.OneClock, s.SpanNS = latest <= soonest, longest
	if !s.OneClock {
		return
	}
	s.SpanNS = end - first
	for _, v := range s.Traces {
		v.OffsetNS = begin(v) - first
	}
}

// label gives devices the names that the summary has for them.
func (s *Side) label(v *TraceView) {
	i := s.place(v)
	if i >= len(s.Summary.Traces) {
		return
	}
	for k := range v.Devices {
		if of := s.Summary.Traces[i].Devices; k < len(of) {
			v.Devices[k].Label, v.Devices[k].Name = of[k].Label, of[k].Name
		}
	}
}
