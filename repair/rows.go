package repair

import (
	"math"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// toSyncRow sends the waits among the spans that leave a stream's row to the row
// of the stream's waits, and returns the others.
func (l *layout) toSyncRow(row uint32, out []uint32) (others []uint32) {
	t := l.r.t
	from := t.Rows[row]
	if from.Kind != timeline.RowStream || from.TIDText != "" || from.EmptyTID || from.TID < 0 || from.TID >= timeline.SyncRow {
		return out
	}
	for _, i := range out {
		e := t.Events.At(i)
		if e.Kind != timeline.Sync {
			others = append(others, i)
			continue
		}
		to := from
		to.TID, to.Kind = from.TID+timeline.SyncRow, timeline.RowSync
		to.Name = strings.TrimRight(named(&from), " ") + " (sync)"
		id := t.Row(to)
		if l.waits == nil {
			l.waits = map[uint32][]uint32{}
		}
		if l.waits[id] == nil {
			l.syncRows = append(l.syncRows, id)
		}
		l.waits[id] = append(l.waits[id], i)
		l.moved[row] = append(l.moved[row], i)
		e.Row = id
		l.toSync++
	}
	return others
}

// subRow adds a row below another, in the numbers that recordings have for lanes.
func (l *layout) subRow(base uint32) uint32 {
	t := l.r.t
	for n := 1; ; n++ {
		to := t.Rows[base]
		to.Lane = uint16(n)
		suffix := " (" + strconv.Itoa(n+1) + ")"
		name := named(&to)
		if end := strings.TrimRight(name, " "); end != "" {
			to.Name = end + suffix + name[len(end):] // Kineto's names of streams end in a blank
		}
		switch {
		case to.TIDText != "":
			to.TIDText += suffix
		case to.EmptyTID:
			to.TIDText, to.EmptyTID = suffix, false
		case to.TID > math.MaxInt64-int64(n)*timeline.LaneRow:
			to.TID -= int64(n) * timeline.LaneRow
		default:
			to.TID += int64(n) * timeline.LaneRow
		}
		before := len(t.Rows)
		if id := t.Row(to); int(id) == before {
			return id
		}
	}
}

// named is a row's name, or what it stands for where it has none.
func named(r *timeline.Row) string {
	switch {
	case r.Name != "":
		return r.Name
	case r.TIDText != "":
		return r.TIDText
	case r.EmptyTID:
		return ""
	case r.Kind == timeline.RowStream || r.Kind == timeline.RowSync:
		return "stream " + strconv.FormatInt(r.TID, 10) + " "
	}
	return "thread " + strconv.FormatInt(r.TID, 10)
}
