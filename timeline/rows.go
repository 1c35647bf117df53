package timeline

// RowKind says what a row of the trace stands for.
type RowKind uint8

// Kinds of rows.
const (
	RowThread      RowKind = iota // a host thread
	RowStream                     // a stream of a device
	RowSync                       // waits that concern a stream, in host time
	RowContextSync                // waits for a whole context, in host time
	RowOverhead                   // the tracer's own time
	RowOther                      // a row of a trace that was read
)

// Row is one line of the trace: a (pid, tid) pair. In a Kineto trace a device
// stands where a process does. PID and TID are numbers unless the text form is
// set, which traces that were read may have ("Spans").
type Row struct {
	PID, TID         int64
	PIDText, TIDText string
	// EmptyPID and EmptyTID: the text form is set and is the empty string.
	EmptyPID, EmptyTID bool
	Name               string // "" if none is known
	SortIndex          int64
	HasSortIndex       bool
	Kind               RowKind
	// Lane numbers the sub-rows of a stream whose work overlapped; 0 is the
	// stream's own row.
	Lane uint16
	// Stream is the stream a RowStream or RowSync row belongs to.
	Stream uint32
}

// Numbers of rows that are not a stream's own. CUPTI's stream ids and a system's
// thread ids are smaller, so that these do not collide with them.
const (
	// SyncRow is added to a stream's id for waits on it: they are host time and
	// would overlap the work of the stream. The number is newer Kineto's.
	SyncRow = 1_000_000
	// CopyRow is added to a stream's id for copies that were timed on the host.
	CopyRow = 2 * SyncRow
	// LaneRow times the lane's number is added to a row's tid for events that
	// overlap others of the row.
	LaneRow = 10_000_000
)

// OfStream reports whether a row with this tid shows work of a stream: its own row, one
// of its lanes, or those of its copies that the host timed.
func OfStream(tid, stream int64) bool {
	beside := (tid - stream) % LaneRow
	return beside == 0 || beside == CopyRow
}

type rowKey struct {
	pid, tid         int64
	pidText, tidText string
	noPID, noTID     bool
}

// Row returns the index of the row with r's pid and tid, adding r if there is
// none yet. An existing row is not changed.
func (t *Trace) Row(r Row) uint32 {
	k := rowKey{r.PID, r.TID, r.PIDText, r.TIDText, r.EmptyPID, r.EmptyTID}
	if id, ok := t.rows[k]; ok {
		return id
	}
	if t.rows == nil {
		t.rows = map[rowKey]uint32{}
	}
	id := uint32(len(t.Rows))
	t.Rows = append(t.Rows, r)
	t.rows[k] = id
	return id
}

// SetRows replaces the rows by the same in another order. Whoever does that
// renumbers what points to them.
func (t *Trace) SetRows(rows []Row) {
	t.Rows, t.rows = nil, nil
	for _, r := range rows {
		t.Row(r)
	}
}
