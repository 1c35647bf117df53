package correlate

import (
	"math"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Options say how to join.
type Options struct {
	// Clock maps the tracer's times; nil stands for Realtime. Fit, if set, asks
	// for a clock fitted to the host's operators instead.
	Clock Clock
	Fit   *Fit
	// Window bounds the trace; nil takes the span of what was recorded. An End of
	// math.MaxInt64 leaves the end open: it becomes that of the last event.
	Window *timeline.Window
	// ThreadIDs says that API calls carry thread ids of the system. Without it
	// they are pthread handles, and a thread's id is that of the operators which
	// its External ids name.
	ThreadIDs bool
	// OwnThreads are the tracer's own threads in the traced process; their API
	// calls are left out and counted.
	OwnThreads map[int64]bool
	// Sessions are the spans in which the host side was recorded, in order; nil is
	// one for all host events there are.
	Sessions []Session
	// HostWindows, if set, are spans outside of which host events are left out.
	HostWindows []timeline.Window
	// KinetoRows puts device work where Kineto puts it even if that makes events
	// of one row overlap, and keeps waits on the streams' rows.
	KinetoRows bool
}

// external is an external id that may be there. It is comparable and its zero
// value means none.
type external struct {
	id  int64
	has bool
}

// thread is a host thread as API records name it.
type thread struct{ pid, tid uint32 }

// Builder joins events into a trace. See the package comment.
type Builder struct {
	t        *timeline.Trace
	o        Options
	first    uint32 // the first event of t that is ours
	received [event.NumKinds]uint64

	operators   index[external] // correlation -> operator
	annotations index[external] // correlation -> annotation
	threads     map[thread]uint32
	threadList  []thread
	recordings  recordings
	contexts    contexts
	lastLaunch  event.Launch
	lastID      uint32
	haveLaunch  bool
	copyNames   map[copyKey]uint32
	taskArgs    map[event.Task]uint32 // in Args
	dropped     map[string]uint64
	noted       map[string]uint64
	markers     []marker
	// aroundLaunch are the calls that leaveOneID is for.
	aroundLaunch []uint32
	unlinked     map[string]uint64

	// The host side; see hosts, bridge and countOperators.
	sessions          []Session
	index             *hostIndex
	tids              []int64           // the system's id of each thread
	threadSeen        []bool            // threads with operators
	parents           map[uint32]uint32 // annotation -> the one around it
	byTime            index[bool]       // correlations whose operator time told
	unnamed           index[bool]       // those in an operator without an id
	agreed, disagreed uint64
	hostNoted         map[string]uint64
}

// New returns a builder that adds to t.
func New(t *timeline.Trace) *Builder {
	return &Builder{
		t: t, first: uint32(t.Events.Len()), threads: map[thread]uint32{}, copyNames: map[copyKey]uint32{}, taskArgs: map[event.Task]uint32{},
		dropped: map[string]uint64{}, noted: map[string]uint64{}, hostNoted: map[string]uint64{}, unlinked: map[string]uint64{},
	}
}

var timelineKinds = [event.NumKinds]timeline.Kind{
	event.Kernel: timeline.Kernel, event.Memcpy: timeline.Memcpy, event.MemcpyPeer: timeline.MemcpyPeer,
	event.Memset: timeline.Memset, event.Runtime: timeline.Runtime, event.Driver: timeline.Driver,
	event.Sync: timeline.Sync, event.Overhead: timeline.Overhead,
}

// Add takes one decoded event. Its Name is an id in the trace's Strings.
func (b *Builder) Add(e *event.Event) {
	b.received[e.Kind]++
	te := timeline.Event{
		Start: int64(e.Start), End: int64(e.End), Correlation: e.Correlation, Name: e.Name, Kind: timelineKinds[e.Kind],
	}
	if e.Incomplete {
		te.Flags |= timeline.Unfinished
	}
	switch e.Kind {
	case event.Kernel:
		te.Detail = b.t.Kernels.Add(timeline.KernelDetail{
			Launch: b.launch(&e.Launch), GraphID: e.GraphID, GraphNodeID: e.GraphNodeID, Queued: e.Queued,
			Channel: e.Channel, ChannelType: e.ChannelType, Priority: e.Priority, Has: e.Has, Collective: b.task(e),
		})
		te.Place = b.place(e)
	case event.Memcpy, event.MemcpyPeer, event.Memset:
		te.Detail = b.t.Copies.Add(timeline.CopyDetail{
			Bytes: e.Bytes, GraphNodeID: e.GraphNodeID, GraphID: e.GraphID, Channel: e.Channel, ChannelType: e.ChannelType,
			SrcDevice: e.SrcDevice, SrcContext: e.SrcContext, DstDevice: e.DstDevice, DstContext: e.DstContext,
			Copy: e.Copy, Src: e.Src, Dst: e.Dst, Async: e.Async, Has: e.Has,
		})
		te.Place = b.place(e)
		te.Name = b.copyName(e)
	case event.Runtime, event.Driver:
		te.Detail = b.t.Calls.Add(timeline.CallDetail{CBID: e.CBID, ReturnValue: e.ReturnValue, Has: e.Has})
		te.Row = b.thread(thread{e.PID, e.TID})
	case event.Sync:
		te.Detail = b.t.Syncs.Add(timeline.SyncDetail{Kind: e.SyncKind, Has: e.Has, EventID: e.EventID, SyncID: e.SyncID})
		te.Place = b.t.Place(timeline.Place{Context: e.Context, Stream: e.Stream, Has: e.Has & event.HasStream})
	case event.Overhead:
	case event.ExternalCorrelation:
		if e.ExternalID > math.MaxInt64 {
			b.noted["external_id_too_large"]++
			return
		}
		x := external{int64(e.ExternalID), true}
		if e.External == event.ExternalAnnotation {
			b.annotations.set(e.Correlation, x)
		} else {
			b.operators.set(e.Correlation, x)
		}
		return
	case event.DeviceEvent:
		b.recordings.add(e)
		if e.Has&event.HasDevice != 0 {
			b.contexts.learn(e.Context, e.Device)
		}
		return
	case event.Marker:
		b.addMarker(e)
		return
	case event.Context:
		b.contexts.learn(e.Context, e.Device)
		return
	default:
		return
	}
	b.t.Events.Add(te)
}

// launch interns a launch configuration. Programs launch in runs of a few
// configurations, so the last one is tried first.
func (b *Builder) launch(l *event.Launch) uint32 {
	if b.haveLaunch && *l == b.lastLaunch {
		return b.lastID
	}
	b.lastLaunch, b.lastID, b.haveLaunch = *l, b.t.Launch(*l), true
	return b.lastID
}

func (b *Builder) place(e *event.Event) uint32 {
	if e.Has&event.NoContext == 0 {
		b.contexts.learn(e.Context, e.Device)
	}
	return b.t.Place(timeline.Place{
		Device: e.Device, Context: e.Context, Stream: e.Stream, Has: e.Has & (event.HasDevice | event.HasStream | event.NoContext),
	})
}

func (b *Builder) thread(th thread) uint32 {
	id, ok := b.threads[th]
	if !ok {
		id = uint32(len(b.threadList))
		b.threads[th] = id
		b.threadList = append(b.threadList, th)
	}
	return id
}

// Finish maps the clock, applies the window and joins. It must be called once.
// It adds what it counted to the trace's Completeness, if that is set. The error
// is ErrNoFit.
func (b *Builder) Finish(o Options) error {
	if o.Clock == nil {
		o.Clock = Realtime{}
	}
	b.o = o
	b.pairMarkers()
	if err := b.mapClock(); err != nil {
		return err
	}
	b.openSessions()
	b.alignHost()
	b.applyWindow()
	b.cutHost()
	b.tids, b.threadSeen = b.threadIDs(), make([]bool, len(b.threadList))
	b.bridge()
	calls := b.indexCalls()
	b.link(calls)
	b.countOperators(calls)
	b.demangleKernels()
	b.annotate()
	b.drawRanges(calls)
	b.joinSyncs()
	b.copyCollectives()
	b.assignRows()
	b.leaveOneID()
	b.closeWindow()
	b.count()
	return nil
}
