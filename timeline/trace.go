package timeline

import "github.com/flagos-ai/flagos-trace/event"

// Trace is one trace: events in columns, the rows they stand on, and what is
// known about the whole.
type Trace struct {
	Strings  event.Strings
	Events   Blocks[Event]
	Kernels  Blocks[KernelDetail]
	Copies   Blocks[CopyDetail]
	Calls    Blocks[CallDetail]
	Syncs    Blocks[SyncDetail]
	Args     Args
	Rows     []Row
	Places   []Place
	Launches []event.Launch
	// Flows are arrows other than those between API calls and device work.
	Flows    []FlowPoint
	Devices  []Device
	Metadata []Property // top-level entries of the document, in order
	// Process is the process the trace was recorded from; zero in a merged one.
	Process Process
	// Groups name the processes of a merged trace, devices' included, instead of
	// what a writer derives from Process; nil in the trace of one process.
	Groups []Group
	// Window is the span that was recorded. Everything lies inside it.
	Window Window
	// Completeness says what was asked for, received and lost. Nil in a trace
	// that carried none.
	Completeness *Completeness
	// Source is set in a trace that was read from a document; nil in a recorded
	// one.
	Source *Source

	places   map[Place]uint32
	launches map[event.Launch]uint32
	rows     map[rowKey]uint32
}

// Window is the recorded span, ns since the Unix epoch.
type Window struct{ Start, End int64 }

// Process names the traced process.
type Process struct {
	PID  int
	Name string // base name of argv[0]
	Host string
}

// Group is what a merged trace shows as one process: a host process, a device of
// one, or the tracer's overhead in one.
type Group struct {
	PID       int64  // as the rows have it
	PIDText   string // as the rows have it
	Name      string
	Label     string
	SortIndex int64
	// NoSortIndex: no place was said.
	NoSortIndex bool
}

// Property is one key with its raw JSON value.
type Property struct {
	Key string
	Raw []byte
}

// Device is one device with its properties in the order and the spelling of
// Kineto's deviceProperties. A property that is not known is absent.
type Device struct {
	ID         uint32
	Name       string
	Properties []DeviceProperty
}

// DeviceProperty is one integer property of a device.
type DeviceProperty struct {
	Key   string
	Value int64
}

// Property returns a device property by its Kineto name.
func (d *Device) Property(key string) (int64, bool) {
	for _, p := range d.Properties {
		if p.Key == key {
			return p.Value, true
		}
	}
	return 0, false
}

// NoCategory is the Category of a FlowPoint that has none.
const NoCategory = ^uint32(0)

// FlowPoint is one end of an arrow.
type FlowPoint struct {
	ID   uint64
	TS   int64  // ns since the Unix epoch
	Row  uint32 // in Trace.Rows
	Name uint32 // in Trace.Strings; also the category if that is 0
	// Category is in Trace.Strings, where it differs from the name.
	Category uint32
	Start    bool // the arrow leaves here
	Step     bool // the arrow passes here
	// Enclosing: the arrow binds to the span around it ("bp": "e"). A recorded
	// trace's ends all do, whether this is set or not.
	Enclosing bool
}

// Place returns the index of p in Places, adding it if it is new.
func (t *Trace) Place(p Place) uint32 {
	return internIn(&t.places, &t.Places, p)
}

// Launch returns the index of l in Launches, adding it if it is new.
func (t *Trace) Launch(l event.Launch) uint32 {
	return internIn(&t.launches, &t.Launches, l)
}

func internIn[K comparable](ids *map[K]uint32, list *[]K, k K) uint32 {
	if id, ok := (*ids)[k]; ok {
		return id
	}
	if *ids == nil {
		*ids = map[K]uint32{}
	}
	id := uint32(len(*list))
	*list = append(*list, k)
	(*ids)[k] = id
	return id
}
