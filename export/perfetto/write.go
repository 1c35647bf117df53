package perfetto

import (
	"bufio"
	"io"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Options of writing. The zero value is good.
type Options struct {
	// NoArgs leaves the arguments of events out.
	NoArgs bool
}

// Stats says what was written.
type Stats struct {
	Slices   uint64 // spans
	Instants uint64
	Counters uint64 // values
	Flows    uint64 // arrows
	// SubRows counts the spans that are not on the first track of their row.
	SubRows uint64
	// Skipped counts the events of phases that are not written, Loose the ends of
	// arrows that stand on no span.
	Skipped, Loose uint64
}

// Write writes a trace. Errors are those of w.
func Write(w io.Writer, t *timeline.Trace, o Options) (Stats, error) {
	s := &writer{
		out: bufio.NewWriterSize(w, 256<<10), t: t, x: calltree.New(t), noArgs: o.NoArgs,
		names: make([]bool, t.Strings.Len()), categories: make([]bool, t.Strings.Len()),
		keys: map[string]uint64{}, texts: map[string]uint64{}, attached: map[uint32][]uint64{},
	}
	s.tracks = newTracks(s)
	s.prepare()
	s.clock()
	l := layout{t: t}
	for row, list := range s.byRow() {
		s.row(uint32(row), list, &l)
	}
	s.stats.Flows += s.arrows.count()
	if s.err == nil {
		s.err = s.out.Flush()
	}
	return s.stats, s.err
}

// writer writes one trace.
type writer struct {
	out    *bufio.Writer
	err    error
	t      *timeline.Trace
	x      *calltree.Tree
	tracks *tracks
	stats  Stats
	noArgs bool
	zero   int64 // what times are moved by, so that none is below 0, ns

	// What was written before: names and categories by their number in Trace.Strings.
	names, categories []bool
	keys, texts       map[string]uint64
	fallback          [timeline.NumKinds]uint64 // categories of kinds, in keys' manner

	arrows   arrows
	attached map[uint32][]uint64 // by span of the row at hand: arrows at it

	packet, event, interned, annotation, small []byte
}

// prepare looks over the trace.
func (s *writer) prepare() {
	for i := range uint32(s.t.Events.Len()) {
		s.zero = min(s.zero, s.t.Events.At(i).Start)
	}
	s.arrows.prepare(s)
}

// byRow lists events by their rows.
func (s *writer) byRow() [][]uint32 {
	rows := make([][]uint32, len(s.t.Rows))
	for i := range uint32(s.t.Events.Len()) {
		r := s.t.Events.At(i).Row
		rows[r] = append(rows[r], i)
	}
	return rows
}

// phase is the phase of an event: 'X', 'i', or one of the format's others.
func (s *writer) phase(i uint32) byte {
	if s.t.Source != nil {
		if p := s.t.Source.Events.At(i).Phase; p != 0 {
			return p
		}
	}
	if s.t.Events.At(i).Flags&timeline.Instant != 0 {
		return 'i'
	}
	return 'X'
}

// row writes the events of a row.
func (s *writer) row(row uint32, events []uint32, l *layout) {
	spans := events[:0:0]
	var others []uint32
	for _, i := range events {
		if s.phase(i) == 'X' {
			spans = append(spans, i)
		} else {
			others = append(others, i)
		}
	}
	kind := s.t.Rows[row].Kind
	lanes := l.lay(spans, kind == timeline.RowStream || kind == timeline.RowSync)
	s.attach(row, spans)
	for n, list := range lanes {
		s.lane(s.tracks.row(row, n), list)
		if n > 0 {
			s.stats.SubRows += uint64(len(list))
		}
	}
	for _, i := range others {
		switch s.phase(i) {
		case 'i', 'I', 'R':
			s.write(i, s.tracks.row(row, 0), typeInstant)
			s.stats.Instants++
		case 'C':
			s.counters(i)
		default:
			s.stats.Skipped++
		}
	}
}

// lane writes spans that nest: the begin of each, and the ends in between.
func (s *writer) lane(track uint64, list []uint32) {
	at := s.t.Events.At
	var open []uint32
	for _, i := range list {
		for len(open) > 0 && at(open[len(open)-1]).End <= at(i).Start {
			s.end(at(open[len(open)-1]).End, track)
			open = open[:len(open)-1]
		}
		s.write(i, track, typeBegin)
		open = append(open, i)
		s.stats.Slices++
	}
	for n := len(open) - 1; n >= 0; n-- {
		s.end(at(open[n]).End, track)
	}
}

func (s *writer) end(ts int64, track uint64) {
	s.event = appendUint(appendUint(s.event[:0], eventType, typeEnd), eventTrack, track)
	s.send(ts)
}

// write writes the begin of a span, or an instant.
func (s *writer) write(i uint32, track uint64, kind uint64) {
	e := s.t.Events.At(i)
	b := appendUint(s.event[:0], eventType, kind)
	b = appendUint(b, eventTrack, track)
	b = appendUint(b, eventName, s.name(e.Name))
	if c := s.category(e); c != 0 {
		b = appendUint(b, eventCategory, c)
	}
	if kind == typeBegin {
		b = s.flows(b, i)
	}
	if !s.noArgs {
		b = s.annotations(b, s.t.RawArgs(i))
	}
	s.event = b
	s.send(e.Start)
}

// send sends the event at hand.
func (s *writer) send(ts int64) {
	p := appendUint(s.packet[:0], packetTime, uint64(ts-s.zero))
	p = appendUint(p, packetSequence, sequence)
	p = appendUint(p, packetFlags, needsState)
	if len(s.interned) > 0 {
		p = appendBytes(p, packetInterned, s.interned)
		s.interned = s.interned[:0]
	}
	s.packet = appendBytes(p, packetEvent, s.event)
	s.flush()
}

// descriptor sends the description of a track.
func (s *writer) descriptor(d []byte) {
	s.packet = appendBytes(appendUint(s.packet[:0], packetSequence, sequence), packetDescriptor, d)
	s.flush()
}

// clock sends what Perfetto's clock stands for, which begins the sequence of packets.
func (s *writer) clock() {
	at := uint64(0)
	if s.t.Events.Len() > 0 {
		at = uint64(s.t.Events.At(0).Start - s.zero)
	}
	var snapshot []byte
	for _, id := range []uint64{clockBoottime, clockRealtime} {
		snapshot = appendBytes(snapshot, snapshotClock, appendUint(appendUint(nil, clockID, id), clockTime, at))
	}
	p := appendUint(appendUint(s.packet[:0], packetSequence, sequence), packetFlags, stateCleared)
	s.packet = appendBytes(p, packetClocks, snapshot)
	s.flush()
}

// flush writes the packet at hand.
func (s *writer) flush() {
	if s.err != nil {
		return
	}
	s.small = appendBytes(s.small[:0], fieldPacket, s.packet)
	_, s.err = s.out.Write(s.small)
}
