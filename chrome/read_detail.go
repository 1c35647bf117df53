package chrome

import (
	"math"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// detail fills the table that the event's kind names.
func (b *builder) detail(e *timeline.Event, s *timeline.SourceEvent, d *details) {
	t := b.t
	has := func(slot int) bool { return d.set&(1<<slot) != 0 }
	switch e.Kind {
	case timeline.Kernel:
		k := timeline.KernelDetail{
			GraphID: uint32(d.v[slotGraph]), GraphNodeID: uint64(d.v[slotGraphNode]), Queued: uint64(d.v[slotQueued]),
			Channel: uint32(d.v[slotChannel]), ChannelType: uint32(d.v[slotChannelType]), Priority: int32(d.v[slotPriority]),
		}
		var l event.Launch
		if has(slotGrid) && has(slotBlock) {
			l.Grid, l.Block = d.grid, d.block
			l.Has |= event.HasDims
			k.Has |= event.HasDims
		}
		if has(slotShared) {
			l.Has |= event.HasSharedTotal
			l.Static = int32(d.v[slotShared])
		}
		l.Registers = uint32(d.v[slotRegisters])
		k.Launch = t.Launch(l)
		k.Has |= fields(d)
		if has(slotCollective) {
			k.Collective = s.Args
		}
		e.Detail = t.Kernels.Add(k)
	case timeline.Memcpy, timeline.MemcpyPeer, timeline.Memset:
		c := timeline.CopyDetail{
			Bytes: uint64(d.v[slotBytes]), GraphID: uint32(d.v[slotGraph]), GraphNodeID: uint64(d.v[slotGraphNode]),
			Channel: uint32(d.v[slotChannel]), ChannelType: uint32(d.v[slotChannelType]), Has: fields(d),
		}
		if has(slotBytes) {
			c.Has |= event.HasBytes
		}
		if has(slotTimedBy) {
			c.Has |= event.HostSpan
		}
		if has(slotSrcDevice) && has(slotDstDevice) && e.Kind == timeline.Memcpy {
			e.Kind = timeline.MemcpyPeer
			c.SrcDevice, c.DstDevice = uint32(d.v[slotSrcDevice]), uint32(d.v[slotDstDevice])
			c.SrcContext, c.DstContext = uint32(d.v[slotSrcContext]), uint32(d.v[slotDstContext])
		}
		n := b.copyName(e.Name)
		c.Copy, c.Src, c.Dst = n.kind, n.src, n.dst
		e.Detail = t.Copies.Add(c)
	case timeline.Runtime, timeline.Driver:
		c := timeline.CallDetail{CBID: uint32(d.v[slotCallbackID]), ReturnValue: uint32(d.v[slotReturn])}
		if has(slotCallbackID) {
			c.Has |= event.HasCallID
		}
		if has(slotReturn) {
			c.Has |= event.HasReturn
		}
		starts, known := b.launches[e.Name]
		if !known {
			starts = b.rules.Named("launch", t.Strings.At(e.Name))
			b.launches[e.Name] = starts
		}
		if starts {
			c.Has |= event.StartsWork
		}
		e.Detail = t.Calls.Add(c)
	case timeline.Sync:
		y := timeline.SyncDetail{Kind: event.SyncKind(d.v[slotSyncKind])}
		if !has(slotSyncKind) {
			y.Kind = event.SyncKind(syncKind(Value(`"` + t.Strings.At(e.Name) + `"`)))
		}
		if has(slotWaitEvent) && d.v[slotWaitEvent] >= 0 {
			y.EventID, y.Has = uint32(d.v[slotWaitEvent]), y.Has|event.HasEventID
		}
		if has(slotWaitStream) && d.v[slotWaitStream] >= 0 && has(slotWaitCorrelation) && d.v[slotWaitCorrelation] >= 0 {
			y.HasSource = true
			y.SourceStream, y.SourceCorrelation = uint32(d.v[slotWaitStream]), uint64(d.v[slotWaitCorrelation])
		}
		e.Detail = t.Syncs.Add(y)
	case timeline.Host, timeline.Other:
		e.Detail = s.Args
	}
	if e.Kind.OnDevice() || e.Kind == timeline.Sync {
		e.Place = t.Place(b.place(e, d))
	}
}

// place is where device work ran. Kineto shows a device's work under the device's
// ordinal, so that a row says the device where the arguments do not.
func (b *builder) place(e *timeline.Event, d *details) (p timeline.Place) {
	has := func(slot int) bool { return d.set&(1<<slot) != 0 && d.v[slot] >= 0 && d.v[slot] <= math.MaxUint32 }
	r := &b.t.Rows[e.Row]
	switch {
	case has(slotDevice):
		p.Device, p.Has = uint32(d.v[slotDevice]), event.HasDevice
	case has(slotInDevice):
		p.Device, p.Has = uint32(d.v[slotInDevice]), event.HasDevice
	case r.PIDText == "" && !r.EmptyPID && r.PID >= 0 && r.PID < 4096:
		p.Device, p.Has = uint32(r.PID), event.HasDevice
	}
	switch {
	case has(slotContext):
		p.Context = uint32(d.v[slotContext])
	case has(slotInContext):
		p.Context = uint32(d.v[slotInContext])
	}
	if has(slotStream) {
		p.Stream, p.Has = uint32(d.v[slotStream]), p.Has|event.HasStream
	} else if n, ok := streamOf(r); ok && e.Kind != timeline.Sync {
		p.Stream, p.Has = n, p.Has|event.HasStream
	}
	return p
}

// streamOf is the stream that a row of device work stands for.
func streamOf(r *timeline.Row) (uint32, bool) {
	if r.TIDText != "" {
		n, err := strconv.ParseUint(strings.TrimSpace(strings.TrimPrefix(r.TIDText, "stream")), 10, 32)
		return uint32(n), err == nil
	}
	return uint32(r.TID), !r.EmptyTID && r.TID >= 0 && r.TID <= math.MaxUint32
}

func fields(d *details) (f event.Fields) {
	for _, s := range [...]struct {
		slots uint64
		has   event.Fields
	}{
		{1<<slotGraph | 1<<slotGraphNode, event.HasGraph},
		{1<<slotChannel | 1<<slotChannelType, event.HasChannel},
		{1 << slotPriority, event.HasPriority},
		{1 << slotQueued, event.HasQueued},
	} {
		if d.set&s.slots == s.slots {
			f |= s.has
		}
	}
	return f
}

// copyName is what the name of a copy or a fill says.
type copyName struct {
	kind     event.CopyKind
	src, dst event.MemoryKind
}

// copyName reads "Memcpy HtoD (Pageable -> Device)" and "Memset (Device)".
func (b *builder) copyName(name uint32) copyName {
	if c, ok := b.copies[name]; ok {
		return c
	}
	var c copyName
	s := b.t.Strings.At(name)
	what, inside, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	for k := event.CopyKind(1); k.String() != "<unknown>"; k++ {
		if strings.TrimSpace(what) == "Memcpy "+k.String() {
			c.kind = k
		}
	}
	src, dst, ok := strings.Cut(inside, " -> ")
	if !ok {
		src, dst = "", inside
	}
	c.src, c.dst = memoryKind(src), memoryKind(dst)
	b.copies[name] = c
	return c
}

func memoryKind(s string) event.MemoryKind {
	for k := event.MemoryKind(0); k.String() != "Unrecognized"; k++ {
		if k.String() == s {
			return k
		}
	}
	return 0
}

// syncKind reads the name of a kind of wait.
func syncKind(v Value) int64 {
	for k := event.EventSync; k <= event.ContextSync; k++ {
		if v.Is(k.String()) {
			return int64(k)
		}
	}
	return 0
}
