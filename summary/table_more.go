package summary

import "fmt"

func (s *Summary) devices() *Table {
	t := &Table{Name: "devices", Title: "Devices", Note: "every nanosecond of the window is in one column from compute to at end",
		Columns: []Column{{Key: "trace", Title: "trace"}, {Key: "device", Title: "device"}, {Key: "name", Title: "name", Wide: true}, {Key: "streams", Title: "streams", Unit: Number, Wide: true},
			{Key: "count", Title: "work", Unit: Number, Wide: true}, {Key: "device_ns", Title: "device", Unit: NS, Wide: true}, {Key: "window_ns", Title: "window", Unit: NS}, {Key: "busy_ns", Title: "busy", Unit: NS},
			{Key: "busy_share", Title: "busy", Unit: Share}}}
	for _, c := range []Column{
		{Key: "compute_ns", Title: "compute"}, {Key: "communication_ns", Title: "exposed comm."}, {Key: "copy_ns", Title: "copies"},
		{Key: "compute_and_communication_ns", Title: "compute+comm.", Wide: true}, {Key: "compute_and_copy_ns", Title: "compute+copies", Wide: true},
		{Key: "communication_and_copy_ns", Title: "comm.+copies", Wide: true}, {Key: "compute_communication_and_copy_ns", Title: "all three", Wide: true},
		{Key: "waiting_for_host_ns", Title: "waits for host"}, {Key: "in_launch_ns", Title: "in launch"}, {Key: "waiting_for_other_stream_ns", Title: "other stream"},
		{Key: "between_queued_work_ns", Title: "in queue"}, {Key: "unknown_ns", Title: "unknown", Wide: true}, {Key: "at_start_ns", Title: "at start", Wide: true}, {Key: "at_end_ns", Title: "at end", Wide: true},
		{Key: "communication_waiting_for_peer_ns", Title: "waits for peer"},
	} {
		c.Unit = NS
		t.Columns = append(t.Columns, c)
	}
	t.Columns = append(t.Columns, Column{Key: "launch_bound_share", Title: "launch-bound", Unit: Share},
		Column{Key: "mean_queue_depth", Title: "queue", Unit: Number, Wide: true}, Column{Key: "max_queue_depth", Title: "longest queue", Unit: Number, Wide: true})
	add := func(trace string, d *Device) {
		b, i := &d.Busy, &d.Idle
		row := []any{trace, d.Label, d.Name, int64(d.Streams), d.Works, d.DeviceNS, d.WindowNS, d.BusyNS, share(d.BusyNS, d.WindowNS),
			b.ComputeNS, b.CommunicationNS, b.CopyNS, b.ComputeCommunicationNS, b.ComputeCopyNS, b.CommunicationCopyNS, b.AllNS,
			i.HostNS, i.LaunchNS, i.StreamNS, i.QueueNS, i.UnknownNS, i.StartNS, i.EndNS, optional(b.PeerNS)}
		var bound, depth, most any
		if v, ok := d.LaunchBound(); ok {
			bound = v
		}
		if d.Queue != nil {
			depth, most = d.Queue.Mean(), d.Queue.Max
		}
		t.Rows = append(t.Rows, append(row, bound, depth, most))
	}
	for i := range s.Traces {
		tr := &s.Traces[i]
		name := tr.label(true)
		for k := range tr.Devices {
			add(name, &tr.Devices[k])
		}
	}
	return t
}

func (s *Summary) gapTable() *Table {
	t := &Table{Name: "gaps", Title: "Longest gaps, in which a device had nothing to do", Note: "at: after the start of the window",
		Columns: []Column{{Key: "trace", Title: "trace"}, {Key: "device", Title: "device"}, {Key: "at_ns", Title: "at", Unit: NS}, {Key: "duration_ns", Title: "length", Unit: NS},
			{Key: "why", Title: "waiting for"}, {Key: "before", Title: "after"}, {Key: "after", Title: "before"}, {Key: "host", Title: "host meanwhile in"}}}
	if len(s.Traces) < 2 {
		t.Columns[0].Wide = true
	}
	around := func(operator, work string) string {
		if operator == "" {
			return work
		}
		return operator + ": " + work
	}
	for i := range s.Gaps {
		g := &s.Gaps[i]
		t.Rows = append(t.Rows, []any{g.Trace, g.Device, g.AtNS, g.NS, g.Idle.Why(), around(g.BeforeOperator, g.Before), around(g.AfterOperator, g.After), g.Host})
	}
	return t
}

// Why names the largest of the fields: "host", "launch", "other stream", "queue",
// "unknown", "start", "end".
func (i *Idle) Why() string {
	why, most := "", int64(-1)
	for _, f := range []struct {
		name string
		ns   int64
	}{{"host", i.HostNS}, {"launch", i.LaunchNS}, {"other stream", i.StreamNS}, {"queue", i.QueueNS}, {"unknown", i.UnknownNS}, {"start", i.StartNS}, {"end", i.EndNS}} {
		if f.ns > most {
			why, most = f.name, f.ns
		}
	}
	return why
}

func (s *Summary) occupancyTable() *Table {
	t := &Table{Name: "occupancy", Title: "Occupancy, by time lost", Note: "lost: time x the share of the SMs' places for warps that the launch configuration leaves empty; nothing of it was measured",
		Columns: []Column{{Key: "name", Title: "kernel"}, {Key: "device_name", Title: "on", Wide: true}, {Key: "grid", Title: "grid"}, {Key: "block", Title: "block"},
			{Key: "registers", Title: "registers", Unit: Number}, {Key: "shared_memory_bytes", Title: "shared", Unit: Bytes}, {Key: "calls", Title: "calls", Unit: Number}, {Key: "time_ns", Title: "device", Unit: NS},
			{Key: "lost_ns", Title: "lost", Unit: NS}, {Key: "theoretical", Title: "theoretical", Unit: Share}, {Key: "resident", Title: "resident", Unit: Share}, {Key: "waves", Title: "waves", Unit: Number, Wide: true},
			{Key: "limiting", Title: "limited by"}}}
	if s.Occupancy == nil {
		return t
	}
	dims := func(d [3]int32) string { return fmt.Sprintf("%dx%dx%d", d[0], d[1], d[2]) }
	for i := range s.Occupancy.Configurations {
		c := &s.Occupancy.Configurations[i]
		t.Rows = append(t.Rows, []any{c.Name, c.Device, dims(c.Grid), dims(c.Block), int64(c.Registers), int64(c.SharedMemory), c.Calls, c.TimeNS, c.LostNS, c.Theoretical, c.Resident, c.Waves, c.Limiting})
	}
	return t
}

func (s *Summary) path() *Table {
	t := &Table{Name: "path", Title: "Critical path", Note: "what each thing waited for, back from the end: what is not on it could take longer and nobody would notice",
		Columns: []Column{{Key: "kind", Title: "kind"}, {Key: "name", Title: "name"}, {Key: "ns", Title: "time", Unit: NS}, {Key: "share", Title: "share", Unit: Share}, {Key: "count", Title: "count", Unit: Number}}}
	if s.CriticalPath == nil {
		return t
	}
	for i := range s.CriticalPath.Entries {
		e := &s.CriticalPath.Entries[i]
		name := e.Name
		if e.Kind == PathHost && name == "" {
			name = "(between recorded spans)"
		}
		t.Rows = append(t.Rows, []any{e.Kind, name, e.NS, share(e.NS, s.CriticalPath.NS), e.Count})
	}
	return t
}

func (s *Summary) rankTable() *Table {
	t := &Table{Name: "ranks", Title: "Ranks", Note: "exposed: communication beside which nothing computes; waits: until the last rank had begun; last: operations that it was the last to begin",
		Columns: []Column{{Key: "name", Title: "rank"}, {Key: "file", Title: "file", Wide: true}, {Key: "compute_ns", Title: "computes", Unit: NS}, {Key: "communication_ns", Title: "communicates", Unit: NS},
			{Key: "exposed_communication_ns", Title: "exposed", Unit: NS}, {Key: "wait_ns", Title: "waits", Unit: NS}, {Key: "transfer_ns", Title: "transfers", Unit: NS},
			{Key: "operations", Title: "operations", Unit: Number}, {Key: "matched", Title: "matched", Unit: Number, Wide: true}, {Key: "last_to_begin", Title: "last", Unit: Number}}}
	if s.Ranks == nil {
		return t
	}
	for i := range s.Ranks.Ranks {
		r := &s.Ranks.Ranks[i]
		var wait, transfer, last any
		if r.Matched > 0 {
			wait, transfer, last = r.Wait, r.Transfer, int64(r.Last)
		}
		t.Rows = append(t.Rows, []any{r.Name, r.File, r.Compute, r.Communicate, r.Exposed, wait, transfer, int64(r.Operations), int64(r.Matched), last})
	}
	return t
}
