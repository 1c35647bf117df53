package correlate

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Thread ids of rows that are not a stream's own, beside those of timeline.
const (
	// contextRow is the row of waits for a whole context.
	contextRow = timeline.SyncRow - 1
	laneRow    = timeline.LaneRow
	// kinetoNoStream is where Kineto puts waits without a stream: |-1|.
	kinetoNoStream = 1
	// copyRow is added to a stream's id for copies whose times are those of their calls:
	// they would overlap the work of the stream, and are none of its. copyRow-1 is the row
	// of those without a stream.
	copyRow     = timeline.CopyRow
	overheadPID = -1
)

// assignRows gives every event of ours its row.
func (b *Builder) assignRows() {
	threads := b.threadRows()
	onRow := map[timeline.Row][]uint32{} // device rows and the overhead's: events to be laid into lanes
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		switch {
		case e.Kind.IsAPI():
			e.Row = threads[e.Row]
		case e.Kind == timeline.Host:
			e.Row = b.rangeRow(e, threads)
		case e.Kind == timeline.Overhead:
			r := timeline.Row{PID: overheadPID, Kind: timeline.RowOverhead}
			onRow[r] = append(onRow[r], i)
		default:
			r := b.deviceRow(e)
			onRow[r] = append(onRow[r], i)
		}
	}
	rows := make([]timeline.Row, 0, len(onRow))
	for r := range onRow {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y timeline.Row) int {
		return cmp.Or(cmp.Compare(x.PID, y.PID), cmp.Compare(x.TID, y.TID), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Stream, y.Stream))
	})
	for _, r := range rows {
		b.layLanes(r, onRow[r])
	}
}

// deviceRow returns the row an event of a device belongs to before lanes.
func (b *Builder) deviceRow(e *timeline.Event) timeline.Row {
	p := b.t.Places[e.Place]
	r := timeline.Row{PID: int64(p.Device), TID: int64(p.Stream), Stream: p.Stream, Kind: timeline.RowStream}
	if b.t.HostTimed(e) {
		r.TID, r.Name = copyRow-1, "copies (time of the call)"
		if p.Has&event.HasStream != 0 {
			r.TID, r.Name = copyRow+int64(p.Stream), "stream "+strconv.Itoa(int(p.Stream))+" copies (time of the call)"
		}
		return r
	}
	if e.Kind != timeline.Sync {
		return r
	}
	r.Kind = timeline.RowSync
	switch {
	case b.o.KinetoRows && p.Has&event.HasStream == 0:
		r.TID = kinetoNoStream
	case b.o.KinetoRows:
		r.Kind = timeline.RowStream
	case p.Has&event.HasDevice == 0:
		// No device's row: that would show a device that may not be there.
		r = timeline.Row{PID: int64(b.t.Process.PID), TID: contextRow, Name: "waits (device unknown)", Kind: timeline.RowOther}
	case p.Has&event.HasStream == 0:
		r.TID, r.Kind = contextRow, timeline.RowContextSync
	default:
		r.TID += timeline.SyncRow
	}
	return r
}

// layLanes puts events on a row and, where they would overlap on it, on further
// rows: viewers drop or misplace slices that overlap without nesting. Only an
// annotation may contain other events.
func (b *Builder) layLanes(row timeline.Row, events []uint32) {
	at := b.t.Events.At
	inOrder := func(x, y uint32) int {
		return cmp.Or(cmp.Compare(at(x).Start, at(y).Start), cmp.Compare(at(y).End, at(x).End),
			cmp.Compare(at(y).Kind, at(x).Kind), cmp.Compare(x, y))
	}
	if !slices.IsSortedFunc(events, inOrder) {
		slices.SortFunc(events, inOrder)
	}
	var lanes []lane
	next := 0
	for _, i := range events {
		e := at(i)
		n := 0
		if !b.o.KinetoRows {
			for n < len(lanes) && !lanes[n].takes(e) {
				n++
			}
		}
		if n == len(lanes) {
			lanes = append(lanes, lane{row: b.laneRow(row, &next)})
		}
		e.Row = lanes[n].row
		if b.o.KinetoRows {
			continue
		}
		lanes[n].open = append(lanes[n].open, span{e.End, e.Kind == timeline.DeviceAnnotation})
		if n > 0 {
			b.noted["events_moved_to_a_lane"]++
		}
	}
}

// laneRow returns the row of the next lane. A pid and a tid that are a host
// thread's already (process 7 beside device 7) are passed over, except among
// Kineto's rows.
func (b *Builder) laneRow(row timeline.Row, next *int) uint32 {
	for {
		r := row
		r.Lane = uint16(*next)
		step := int64(laneRow)
		if row.Kind == timeline.RowOverhead {
			step = 1
		}
		r.TID += int64(*next) * step
		*next++
		id := b.t.Row(r)
		if b.o.KinetoRows || b.t.Rows[id].Kind == r.Kind {
			return id
		}
	}
}

type span struct {
	end        int64
	annotation bool
}

// lane is a row while it is being filled: the spans that are open at the start
// of the event to come.
type lane struct {
	row  uint32
	open []span
}

// takes reports whether e can stand in the lane, and closes what has ended.
func (l *lane) takes(e *timeline.Event) bool {
	for len(l.open) > 0 && l.open[len(l.open)-1].end <= e.Start {
		l.open = l.open[:len(l.open)-1]
	}
	if len(l.open) == 0 {
		return true
	}
	top := l.open[len(l.open)-1]
	return top.annotation && top.end >= e.End
}

// threadRows returns the row of each thread that made API calls.
func (b *Builder) threadRows() []uint32 {
	rows := make([]uint32, len(b.threadList))
	for i, th := range b.threadList {
		rows[i] = b.t.Row(timeline.Row{PID: int64(th.pid), TID: b.tids[i], Kind: timeline.RowThread})
	}
	return rows
}

// threadIDs returns the system's id of each thread. Where records hold pthread
// handles, a thread's id is the one of the operators that its calls' External
// ids name (most votes win); with none to ask, it is the handle's low half as a
// positive number, which is what Kineto shows.
func (b *Builder) threadIDs() []int64 {
	ids := make([]int64, len(b.threadList))
	for i, th := range b.threadList {
		ids[i] = int64(th.tid)
	}
	if b.o.ThreadIDs {
		return ids
	}
	votes := make([]map[int64]int, len(ids))
	operators := b.hosts().operators
	for i := b.first; i < uint32(b.t.Events.Len()) && operators.n > 0; i++ {
		e := b.t.Events.At(i)
		if !e.Kind.IsAPI() {
			continue
		}
		x := b.operators.get(e.Correlation)
		host, ok := b.named(operators, x.id, e.Start)
		if !x.has || !ok {
			continue
		}
		if votes[e.Row] == nil {
			votes[e.Row] = map[int64]int{}
		}
		votes[e.Row][b.t.Rows[b.t.Events.At(host).Row].TID]++
	}
	for i := range ids {
		best := 0
		for tid, n := range votes[i] {
			if n > best || n == best && tid < ids[i] {
				best, ids[i] = n, tid
			}
		}
		if best == 0 {
			if v := int64(int32(b.threadList[i].tid)); v < 0 {
				ids[i] = -v
			}
		}
	}
	return ids
}
