package summary

import (
	"slices"
	"sort"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/measure"
)

// interval is from start up to end, ns.
type interval struct{ start, end int64 }

// devices says of each device how busy it was, and why it was not.
func (p *part) devices() {
	streams := make([]busyStream, p.numStreams())
	ordinals := map[uint32]int{}
	for i := range p.m.Devices {
		ordinals[p.m.Devices[i].Ordinal]++
	}
	for i := range p.m.Devices {
		d := &p.m.Devices[i]
		s := sweep{p: p, of: d, out: Device{WindowNS: p.trace.WindowNS}, streams: streams}
		s.out.Label = itoa(int64(d.Ordinal))
		if !d.HasOrdinal || ordinals[d.Ordinal] > 1 {
			if s.out.Label = d.PIDText; s.out.Label == "" {
				s.out.Label = itoa(d.PID)
			}
		}
		for k := range p.t.Devices {
			if v := &p.t.Devices[k]; d.HasOrdinal && v.ID == d.Ordinal {
				s.out.Name = v.Name
			}
		}
		s.run()
		s.queue()
		p.trace.Devices = append(p.trace.Devices, s.out)
	}
	if len(p.m.Devices) != 1 {
		p.exposed = nil
	}
	p.nameGaps()
}

// sweep goes over the work of a device in the order of time.
type sweep struct {
	p       *part
	of      *measure.Device
	out     Device
	streams []busyStream // by stream; those of other devices are zero
	busy    []interval
}

// busyStream is a stream while a device is swept.
type busyStream struct {
	seen  bool
	until int64 // when it was busy
}

// numStreams is what stream numbers are below.
func (p *part) numStreams() int { return len(p.t.Places) + len(p.t.Rows) }

// stream tells the streams of a device apart, by numbers.
func (p *part) stream(w calltree.Work) int {
	e := p.x.WorkAt(w)
	if p.t.Places[e.Place].Has&event.HasStream != 0 {
		return int(e.Place)
	}
	return len(p.t.Places) + int(e.Row)
}

func (s *sweep) run() {
	x, list, ends := s.p.x, s.of.Works, s.of.Ends
	for _, w := range list {
		s.out.Measures.Add(&s.p.m.Works[w])
	}
	var running [3]int
	last := s.p.trace.Start
	before := calltree.NoWork // that ended last
	next, e := 0, 0
	for e < len(ends) {
		if next < len(list) && x.WorkAt(list[next]).Start <= ends[e].At {
			w := list[next]
			now := x.WorkAt(w).Start
			s.pass(running, last, now, before, w)
			last = now
			running[s.p.works[w].kind]++
			k := &s.streams[s.p.stream(w)]
			if !k.seen {
				k.seen = true
				s.out.Streams++
			}
			k.until = max(k.until, x.WorkAt(w).End)
			next++
			continue
		}
		s.pass(running, last, ends[e].At, before, calltree.NoWork)
		last, before = ends[e].At, ends[e].Work
		running[s.p.works[before].kind]--
		e++
	}
	s.out.Idle.EndNS += s.p.trace.Start + s.p.trace.WindowNS - last
	s.out.BusyNS = s.out.Busy.Total()
	for _, w := range list {
		s.streams[s.p.stream(w)] = busyStream{}
	}
	s.p.tables.busy = append(s.p.tables.busy, s.busy)
}

// pass accounts for the time up to now.
func (s *sweep) pass(running [3]int, from, now int64, before, next calltree.Work) {
	ns := now - from
	if ns == 0 {
		return
	}
	mask := 0
	for k, n := range running {
		if n > 0 {
			mask |= 1 << k
		}
	}
	b := &s.out.Busy
	if mask == 0 {
		s.idle(from, now, before, next)
		return
	}
	*[...]*int64{nil, &b.ComputeNS, &b.CommunicationNS, &b.ComputeCommunicationNS, &b.CopyNS, &b.ComputeCopyNS, &b.CommunicationCopyNS, &b.AllNS}[mask] += ns
	s.busy = grow(s.busy, from, now)
	if mask == 1<<communication && len(s.p.m.Devices) == 1 {
		s.p.exposed = grow(s.p.exposed, from, now)
	}
}

// grow appends an interval to a list in order, or makes its last one longer.
func grow(list []interval, from, to int64) []interval {
	if n := len(list); n > 0 && list[n-1].end == from {
		list[n-1].end = to
		return list
	}
	return append(list, interval{from, to})
}

// idle says what the device waited for until next began.
func (s *sweep) idle(from, to int64, before, next calltree.Work) {
	i := Idle{}
	call := s.p.x.Call(next)
	switch {
	case before == calltree.NoWork:
		s.out.Idle.StartNS += to - from
		return
	case call == calltree.None || measure.Apart(s.p.x.At(call).Start, to):
		i.UnknownNS = to - from
	case s.p.x.At(call).Start > from:
		begun := s.p.x.At(call).Start
		i.HostNS, i.LaunchNS = begun-from, to-begun
	case s.p.stream(before) != s.p.stream(next) && s.streams[s.p.stream(next)].until < from:
		i.StreamNS = to - from
	default:
		i.QueueNS = to - from
	}
	s.out.Idle.add(&i)
	s.p.keepHole(hole{from: from, to: to, before: before, next: next, idle: i, device: len(s.p.trace.Devices), label: s.out.Label})
}

// queue measures how many launches were waiting.
func (s *sweep) queue() {
	x := s.p.x
	called, begun := make([]int64, 0, len(s.of.Works)), make([]int64, 0, len(s.of.Works))
	for _, w := range s.of.Works {
		if s.p.works[w].first {
			called, begun = append(called, x.At(x.Call(w)).Start), append(begun, x.WorkAt(w).Start)
		}
	}
	if len(called) == 0 {
		return
	}
	slices.Sort(called)
	q := &Queue{NS: begun[len(begun)-1] - called[0]} // works are in the order of their starts
	depth, c, last := int64(0), 0, called[0]
	for b := 0; b < len(begun); {
		if c < len(called) && called[c] <= begun[b] {
			q.DepthNS += depth * (called[c] - last)
			last = called[c]
			depth++
			c++
			q.Max = max(q.Max, depth)
			continue
		}
		q.DepthNS += depth * (begun[b] - last)
		last = begun[b]
		depth--
		b++
	}
	s.out.Queue = q
}

// launches sums up the launch delays of a trace.
func (p *part) launches() {
	delays := make([]int64, 0, p.x.NumWorks())
	var l Launches
	for w := range p.x.Works() {
		c := p.x.Call(w)
		switch {
		case c == calltree.None:
			l.Unknown++
		case p.works[w].first:
			delays = append(delays, p.m.Works[w].DelayNS)
		case p.x.WorkAt(w).Start < p.x.At(c).Start:
			l.Early++
		}
	}
	if len(delays) == 0 {
		return
	}
	slices.Sort(delays)
	n := len(delays)
	l.Calls, l.MedianNS, l.P99NS, l.MaxNS = int64(n), delays[n/2], delays[(n-1)*99/100], delays[n-1]
	l.MeanNS = p.m.Whole.DelayNS / int64(n)
	p.trace.Launches = &l
}

// within returns for how long a list in order is inside of an interval.
func within(list []interval, from, to int64) (sum int64) {
	i := sort.Search(len(list), func(i int) bool { return list[i].end > from })
	for ; i < len(list) && list[i].start < to; i++ {
		sum += min(list[i].end, to) - max(list[i].start, from)
	}
	return sum
}
