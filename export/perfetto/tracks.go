package perfetto

import (
	"fmt"
	"math"
	"strconv"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// owner is what rows stand under: a process or a device.
type owner struct {
	pid   int64
	text  string
	empty bool
}

func ownerOf(r *timeline.Row) owner { return owner{r.PID, r.PIDText, r.EmptyPID} }

// tracks gives rows their tracks, and describes each when it is first asked for.
type tracks struct {
	w       *writer
	next    uint64
	owners  map[owner]uint64
	rows    map[uint32][]uint64 // by row: those of its lanes
	counter map[string]uint64   // by row and name
	device  map[owner]bool      // that has work of a device
	names   map[owner]*timeline.Group
}

func newTracks(w *writer) *tracks {
	s := &tracks{
		w: w, next: 1, owners: map[owner]uint64{}, rows: map[uint32][]uint64{}, counter: map[string]uint64{},
		device: map[owner]bool{}, names: map[owner]*timeline.Group{},
	}
	for i := range w.t.Groups {
		g := &w.t.Groups[i]
		s.names[owner{g.PID, g.PIDText, false}] = g
	}
	for i := range w.t.Rows {
		if r := &w.t.Rows[i]; r.Kind == timeline.RowStream {
			s.device[ownerOf(r)] = true
		}
	}
	return s
}

// owner returns the track of a process or a device.
func (s *tracks) owner(r *timeline.Row) uint64 {
	o := ownerOf(r)
	id, ok := s.owners[o]
	if ok {
		return id
	}
	id = s.next
	s.next++
	s.owners[o] = id
	name, label, rank := o.text, "", int64(0)
	if g := s.names[o]; g != nil {
		if g.Name != "" {
			name = g.Name
		}
		label, rank = g.Label, g.SortIndex
	} else if o.pid == int64(s.w.t.Process.PID) && o.text == "" {
		name = s.w.t.Process.Name
	}
	d := appendUint(nil, trackID, id)
	if s.isProcess(r) {
		p := appendInt(nil, processID, o.pid)
		if name != "" {
			p = appendBytes(p, processName, name)
		}
		if label != "" {
			p = appendBytes(p, processLabel, label)
		}
		d = appendBytes(d, trackProcess, p)
	} else {
		switch {
		case s.device[o] && o.text == "" && label != "":
			name = fmt.Sprintf("%s (%s)", label, nonEmpty(name, strconv.FormatInt(o.pid, 10)))
		case s.device[o] && o.text == "":
			name = fmt.Sprintf("device %d %s", o.pid, name)
		case name == "" && !o.empty:
			name = strconv.FormatInt(o.pid, 10)
		}
		d = appendBytes(d, trackName, nonEmpty(name, "(no name)"))
		d = appendInt(d, trackOrdering, orderExplicit)
	}
	d = appendInt(d, trackRank, clamp(rank))
	s.w.descriptor(d)
	return id
}

// isProcess reports whether what a row stands under can be a process to Perfetto.
func (s *tracks) isProcess(r *timeline.Row) bool {
	o := ownerOf(r)
	return o.text == "" && !o.empty && o.pid > 0 && o.pid <= math.MaxInt32 && !s.device[o]
}

// row returns the track of a lane of a row.
func (s *tracks) row(row uint32, lane int) uint64 {
	have := s.rows[row]
	for len(have) <= lane {
		have = append(have, s.addRow(row, have))
	}
	s.rows[row] = have
	return have[lane]
}

func (s *tracks) addRow(row uint32, lanes []uint64) uint64 {
	r := &s.w.t.Rows[row]
	parent := s.owner(r)
	id := s.next
	s.next++
	d := appendUint(nil, trackID, id)
	thread := s.isProcess(r) && r.TIDText == "" && !r.EmptyTID && r.TID > 0 && r.TID <= math.MaxInt32
	if thread && len(lanes) == 0 {
		p := appendInt(appendInt(nil, threadPID, r.PID), threadTID, r.TID)
		if r.Name != "" {
			p = appendBytes(p, threadName, r.Name)
		}
		d = appendBytes(appendUint(d, trackParent, parent), trackThread, p)
		s.w.descriptor(d)
		return id
	}
	if thread { // what does not nest on the thread stands below it
		parent = lanes[0]
	}
	d = appendBytes(appendUint(d, trackParent, parent), trackName, rowName(r))
	if r.HasSortIndex {
		d = appendInt(d, trackRank, clamp(r.SortIndex))
	} else if r.Kind == timeline.RowStream {
		d = appendInt(d, trackRank, clamp(r.TID))
	}
	s.w.descriptor(d)
	return id
}

// rowName is the same for all lanes of a row: the viewer shows such tracks as one.
func rowName(r *timeline.Row) string {
	tid := r.TIDText
	if tid == "" && !r.EmptyTID {
		tid = strconv.FormatInt(r.TID, 10)
	}
	switch {
	case r.Name != "":
		return r.Name
	case r.Kind == timeline.RowStream && r.Lane == 0:
		return "stream " + tid
	case r.Kind == timeline.RowStream:
		return "stream " + strconv.FormatUint(uint64(r.Stream), 10)
	}
	return nonEmpty(tid, "(no name)")
}

// counterTrack returns the track of a counter.
func (s *tracks) counterTrack(row uint32, name string) uint64 {
	r := &s.w.t.Rows[row]
	parent := s.owner(r)
	key := strconv.FormatUint(parent, 10) + " " + name
	id, ok := s.counter[key]
	if !ok {
		id = s.next
		s.next++
		s.counter[key] = id
		d := appendUint(appendUint(nil, trackID, id), trackParent, parent)
		s.w.descriptor(appendBytes(appendBytes(d, trackName, name), trackCounter, ""))
	}
	return id
}

func nonEmpty(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// clamp keeps a place in an order within what Perfetto has for it.
func clamp(n int64) int64 { return max(math.MinInt32, min(n, math.MaxInt32)) }
