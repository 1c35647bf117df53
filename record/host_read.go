package record

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// memoryPerHostByte is how many bytes of memory a byte of a slice's document may
// take while it is read: BenchmarkHostSlices shows 3 allocated in all, of which 0.5
// stay.
const memoryPerHostByte = 3

// hostReader finds what the host side of one process left and puts it into a
// collector, slice by slice.
type hostReader struct {
	*collector
	asked  bool // the bootstrap was put in the program's way
	files  hostFiles
	status *hostStatus
	found  bool // there is something of the host side
	open   bool // a slice of a process that runs is being recorded or written
	counts timeline.Operators
}

// readHost reads the host side beside a spool. What is damaged or missing of it is
// counted; it never keeps the device's side from being read. It must be called
// before the collector is opened.
func (c *collector) readHost(spoolPath, dir string, alive bool) *hostReader {
	r := &hostReader{collector: c, asked: hostAsked(dir), files: findHostFiles(spoolPath), status: &hostStatus{}}
	r.found = r.files.status != "" || len(r.files.slices) > 0
	owner, ok := ownerOf(spoolPath)
	if !r.found || !ok {
		return r
	}
	c.ownIdentity = true
	from, to := r.files.span(spoolPath)
	alive = alive && len(r.files.after) == 0
	r.counts.Noted = map[string]uint64{}
	if r.files.status != "" {
		if f, _, err := openHostFile(r.files.status, owner, maxStatus); err != nil {
			c.diagnose(err.Error())
			r.counts.Noted[notedBadFile]++
		} else {
			if r.status, err = readStatus(f, from, to); err != nil {
				c.diagnose(fmt.Sprintf("%s: %v", r.files.status, err))
			}
			f.Close()
		}
	}
	if r.status.garbage > 0 {
		r.counts.Noted[notedGarbage] = r.status.garbage
	}
	r.counts.Python, r.counts.Framework, r.counts.Steps = r.status.python, r.status.torch, uint64(r.status.lastStep-r.status.firstStep)
	for _, s := range r.inOrder(alive) {
		r.take(s, owner)
	}
	r.otherPrograms()
	return r
}

// Counts of the host side's files, in Operators.Noted.
const (
	notedBadFile = "host_files_not_taken"
	notedGarbage = "status_lines_not_understood"
	notedCut     = "slices_cut" // read as far as they go
	notedRemoved = "slices_removed"
)

// pending is a slice that is to be read.
type pending struct {
	n      int
	lines  sessionLines
	file   sliceFile
	exists bool
	live   bool // of a process that still runs, and perhaps not finished
}

// inOrder lists the slices in the order of their numbers, which is that of time.
func (r *hostReader) inOrder(alive bool) (list []pending) {
	numbers := map[int]bool{}
	for n := range r.files.slices {
		// Of a slice that no line tells of, the first of several spools has to.
		numbers[n] = r.status.sessions[n] != nil || !r.status.image.others[n] && r.files.number == 0
	}
	for n := range r.status.sessions {
		numbers[n] = true
	}
	for n, mine := range numbers {
		if !mine {
			continue
		}
		p := pending{n: n, live: alive}
		if l := r.status.sessions[n]; l != nil {
			p.lines = *l
		}
		p.file, p.exists = r.files.slices[n]
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b pending) int { return cmp.Compare(a.n, b.n) })
	return list
}

// take reads one slice.
func (r *hostReader) take(p pending, owner uint32) {
	switch {
	case p.exists && isRemoved(p.file.path):
		r.counts.Noted[notedRemoved]++
		r.addSlice(&hostSlice{window: window(p.lines.open, p.lines.close), state: correlate.SessionRemoved})
		return
	case p.exists && !(p.live && p.file.part):
	case p.live && (p.file.part || p.lines.close == 0): // it is being recorded or written
		r.open = true
		r.side.sessions = append(r.side.sessions, correlate.Session{
			Window: window(p.lines.open, p.lines.close), State: correlate.SessionOther})
		return
	}
	s := hostSlice{window: window(p.lines.open, p.lines.close), program: p.lines.program, state: correlate.SessionLost}
	if p.exists {
		r.read(p, owner, &s)
	}
	if s.host == nil {
		r.counts.LostSlices++
		if s.window.Start > 0 {
			r.addSlice(&s)
		}
		return
	}
	r.counts.Slices++
	if s.program {
		r.counts.ProgramSlices++
	}
	r.addSlice(&s)
}

// window is that of two times of which either may not be known, 0.
func window(open, end int64) timeline.Window {
	if end == 0 {
		end = math.MaxInt64
	}
	return timeline.Window{Start: open, End: max(end, open)}
}

// read reads the document of a slice, as far as it goes.
func (r *hostReader) read(p pending, owner uint32, s *hostSlice) {
	f, _, err := openHostFile(p.file.path, owner, availableMemory()/memoryPerHostByte)
	if err != nil {
		r.diagnose(err.Error())
		r.counts.Noted[notedBadFile]++
		return
	}
	defer f.Close()
	h, err := host.ReadKineto(f)
	if err != nil {
		r.diagnose(fmt.Sprintf("%s: %v", p.file.path, err))
		if !h.HasBase && len(h.Ops) > 0 || len(h.Ops) == 0 {
			return
		}
		r.counts.Noted[notedCut]++
	}
	if h.Window.Start < earliest || h.Window.End > latest {
		if len(h.Ops) > 0 || h.HasWindow {
			r.diagnose(fmt.Sprintf("%s: its times, such as %d, are not of this recording", p.file.path, h.Window.Start))
		}
		if len(h.Ops) > 0 {
			r.counts.Noted[notedBadFile]++
			return
		}
	}
	s.host, s.state = h, correlate.SessionRead
	if p.lines.open == 0 {
		s.window.Start = h.Window.Start
	}
	if p.lines.close == 0 {
		s.window.End = max(h.Window.End, s.window.Start)
	}
}

// otherPrograms adds the sessions of the program's own profiler that left us no
// slice: there, nobody could have recorded the operators but it.
func (r *hostReader) otherPrograms() {
	var others []correlate.Session
	for _, p := range r.status.programs {
		if l := r.status.sessions[p.n]; l != nil && l.program && r.files.slices[p.n].path != "" {
			continue
		}
		others = append(others, correlate.Session{Window: window(p.on, p.off), State: correlate.SessionOther})
	}
	slices.SortStableFunc(others, func(a, b correlate.Session) int { return cmp.Compare(a.Window.Start, b.Window.Start) })
	// The order of those with events stays as it is.
	list := make([]correlate.Session, 0, len(r.side.sessions)+len(others))
	for _, s := range r.side.sessions {
		for len(others) > 0 && others[0].Window.Start < s.Window.Start {
			list, others = append(list, others[0]), others[1:]
		}
		list = append(list, s)
	}
	list = append(list, others...)
	for i := range list { // one that was not closed ends where the next begins
		if i+1 < len(list) {
			list[i].Window.End = max(min(list[i].Window.End, list[i+1].Window.Start), list[i].Window.Start)
		}
	}
	r.side.sessions = list
}

// noteHost puts into the account what the slices had in common.
func (c *collector) noteHost() {
	if o := c.rec.Operators; o != nil {
		for code, n := range c.side.noted {
			if o.Noted == nil {
				o.Noted = map[string]uint64{}
			}
			o.Noted[code] += n
		}
	}
}

// account opens the account of the operators, which the join completes; nil where
// nobody asked for any.
func (r *hostReader) account() *timeline.Operators {
	if !r.found && !r.asked {
		return nil
	}
	for _, text := range r.status.texts {
		if text != "" {
			r.diagnose("operators: " + text)
		}
	}
	o := r.counts // alone: a summary keeps it, and must not keep the collector with it
	return &o
}

// reasonUnwritten, in Operators.Reason: the process runs, and its first slice too.
const reasonUnwritten = "slice_not_written"

// Others.
const (
	reasonSteps   = "steps_not_reached" // said by the bootstrap
	reasonNoAgent = "no_agent"
)

// conclude says why there are no operators.
func (r *hostReader) conclude(h spool.Header) {
	o := r.rec.Operators
	if o == nil || o.Seen > 0 {
		return
	}
	python := strings.HasPrefix(h.Process, "python") || strings.HasPrefix(h.Process, "pypy")
	switch {
	case r.rec.Ended == timeline.EndUnavailable:
		o.Reason = reasonNoAgent
	case len(r.status.codes) > 0:
		o.Reason = r.status.codes[len(r.status.codes)-1]
	case o.Slices > 0:
		o.Reason = timeline.ReasonEmpty
	case o.LostSlices > 0 || o.Noted[notedRemoved] > 0 || o.Noted[notedBadFile] > 0:
		o.Reason = timeline.ReasonLost
	case r.open:
		o.Reason = reasonUnwritten
	case r.found:
		o.Reason = timeline.ReasonNotUsed
	case python:
		o.Reason = timeline.ReasonNoBootstrap
	default:
		o.Reason = timeline.ReasonNotPython
	}
}
