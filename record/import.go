package record

import (
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// Errors of ImportCUPTI.
var (
	// ErrOptions: import options contradict each other.
	ErrOptions = errors.New("bad import options")
	// ErrClock: the times in the dump cannot be what the options say.
	ErrClock = errors.New("wrong clock")
	// ErrNoOverlap: nothing of the dump lies in the host trace's window.
	ErrNoOverlap = errors.New("the dump and the host trace have no time in common")
)

// plausible times, ns since the epoch: 2001 to 2100. A CUPTI on another clock
// counts from the machine's start.
const (
	earliest = 980_000_000_000_000_000
	latest   = 4_100_000_000_000_000_000
)

// ImportOptions say how to read a dump of CUPTI's activity buffers.
type ImportOptions struct {
	APIVersion uint32 // as cuptiGetVersion returned it
	Buffers    string // file of buffers, gzip'd or not
	Names      string // file of kernel names; "" if there is none
	// Host is a Kineto trace whose CPU rows and window are merged in; its device
	// and API rows are left out. "" if there is none.
	Host string
	// Clock is "realtime" (the default), "fit" or "ticks".
	Clock string
	// NSPerTick is the length of a tick, ns, for "ticks".
	NSPerTick float64
	// API is the level of API calls to keep; "" is Kineto's.
	API tracer.APILevel
	// KinetoRows puts events on rows as Kineto does, see correlate.Options.
	KinetoRows bool

	// clock, if set, maps the dump's times; tests fit it to a reference.
	clock correlate.Clock
}

// ImportCUPTI reads a dump of completed activity buffers and joins it, with the
// host's operators if there are any, into a trace: the recorder's own path from
// decoding on. A dump that ends early or cannot be walked to its end gives a
// trace of what could be read, and says in its Completeness what was lost.
func ImportCUPTI(o ImportOptions) (*timeline.Trace, error) {
	t := &timeline.Trace{Completeness: &timeline.Completeness{
		Tool: version.Full(), Tracer: cupti.Name, API: o.APIVersion, Ended: timeline.EndDump,
	}}
	join, err := o.joining()
	if err != nil {
		return nil, err
	}
	if o.Host != "" {
		h, err := host.ReadKinetoFile(o.Host)
		if err != nil {
			return nil, err
		}
		addHost(t, h)
		if h.HasWindow {
			join.Window = &h.Window
		}
	}
	level := o.API
	if level == "" {
		level = tracer.APIKineto
	}
	d, err := tracer.NewDecoder(cupti.Name, tracer.Config{APIVersion: o.APIVersion, NSPerTick: o.tick(), API: level, Strings: &t.Strings})
	if err != nil {
		return nil, err
	}
	if o.Names != "" {
		if err := readNames(o.Names, d.Name); err != nil {
			return nil, err
		}
	}
	b := correlate.New(t)
	rec := t.Completeness
	lostBuffers := 0
	var timed, odd uint64
	var example uint64
	add := func(e *event.Event) {
		if e.Start != 0 {
			timed++
			if e.Start < earliest || e.Start > latest {
				odd++
				example = e.Start
			}
		}
		b.Add(e)
	}
	err = readDump(o.Buffers, func(off int64, data []byte) error {
		in := tracer.Buffer{Data: data, Origin: fmt.Sprintf("%s: buffer at byte %d", o.Buffers, off), Forced: true}
		if err := d.Decode(in, add); err != nil {
			if lostBuffers++; lostBuffers <= maxDiagnoses {
				rec.Diagnoses = append(rec.Diagnoses, err.Error())
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrTruncatedDump) && d.Report().Buffers > 0:
		rec.Diagnoses = append(rec.Diagnoses, err.Error())
		rec.Ended = timeline.EndCut
	case err != nil:
		return nil, err
	}
	r := d.Report()
	if r.Buffers > 0 && received(r) == 0 {
		return nil, fmt.Errorf("%s: not one record of %d bytes could be used with API version %d (dropped %v, %d bytes lost); is that the version that wrote it?",
			o.Buffers, r.Bytes, o.APIVersion, r.Dropped, r.LostBytes)
	}
	report(rec, r)
	if r.LostBytes > 0 {
		rec.Diagnoses = append(rec.Diagnoses, fmt.Sprintf("%d of %d bytes could not be decoded: is %d really the API version of the library that wrote them?",
			r.LostBytes, r.Bytes, o.APIVersion))
	}
	if _, isRealtime := join.Clock.(correlate.Realtime); isRealtime && join.Fit == nil && odd > 0 {
		if odd*10 >= timed*9 {
			return nil, fmt.Errorf("%s: %w: its times, such as %d, are not nanoseconds since the Unix epoch; fit them to a host trace, or give the length of a tick",
				o.Buffers, ErrClock, example)
		}
		rec.Diagnoses = append(rec.Diagnoses, fmt.Sprintf("%d of %d records, one at %d, are not on CLOCK_REALTIME like the rest: another profiler had replaced the library's clock; their times are wrong",
			odd, timed, example))
	}
	if err := b.Finish(join); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Buffers, err)
	}
	if out := rec.Dropped[timeline.DropOutOfWindow]; o.Host != "" && out > 0 && out+rec.Dropped[timeline.DropFiltered] >= timed {
		return nil, fmt.Errorf("%s: %w (%s): are they of one run, and is the clock right?", o.Buffers, ErrNoOverlap, o.Host)
	}
	if t.Process.PID == 0 {
		t.Process.PID = firstProcess(t)
	}
	if !hasMetadata(t, "cupti_version") {
		t.Metadata = append(t.Metadata, versions(tracer.BindingInfo{APIVersion: o.APIVersion})...)
	}
	rec.Judge()
	return t, nil
}

// joining turns the clock's options into correlate's.
func (o *ImportOptions) joining() (correlate.Options, error) {
	j := correlate.Options{KinetoRows: o.KinetoRows, Clock: correlate.Realtime{}}
	switch o.Clock {
	case "", "realtime":
	case "fit":
		j.Fit = new(correlate.Fit)
	case "ticks":
		if o.NSPerTick <= 0 {
			return j, fmt.Errorf("%w: a tick of %v ns", ErrOptions, o.NSPerTick)
		}
		if o.Host != "" {
			j.Fit = &correlate.Fit{NSPerTick: o.NSPerTick}
		} else {
			j.Clock = correlate.Linear{Slope: o.NSPerTick}
		}
	default:
		return j, fmt.Errorf("%w: clock %q: use realtime, fit or ticks", ErrOptions, o.Clock)
	}
	if o.Clock == "fit" && o.Host == "" {
		return j, fmt.Errorf("%w: a clock can only be fitted to a host trace", ErrOptions)
	}
	if o.clock != nil {
		j.Clock, j.Fit = o.clock, nil
	}
	return j, nil
}

// tick returns the length of one unit of time in the dump, as far as it is
// known before anything is read. The limits of plausibility do not need more.
func (o *ImportOptions) tick() float64 {
	if o.Clock == "ticks" {
		return o.NSPerTick
	}
	return 1
}

func received(r tracer.Report) (n uint64) {
	for k, c := range r.Received {
		if event.Kind(k) != event.ExternalCorrelation {
			n += c
		}
	}
	return n
}

// firstProcess returns the process of the API calls, 0 if there are none.
func firstProcess(t *timeline.Trace) int {
	for _, r := range t.Rows {
		if r.Kind == timeline.RowThread {
			return int(r.PID)
		}
	}
	return 0
}

func hasMetadata(t *timeline.Trace, key string) bool {
	for _, p := range t.Metadata {
		if p.Key == key {
			return true
		}
	}
	return false
}

// addHost puts the host's rows, operators and arrows into an empty trace.
func addHost(t *timeline.Trace, h *host.Host) {
	t.Process, t.Devices, t.Metadata = h.Process, h.Devices, h.Metadata
	ids := make([]uint32, h.Strings.Len())
	for i := range ids {
		ids[i] = t.Strings.ID(h.Strings.At(uint32(i)))
	}
	for _, th := range h.Threads {
		t.Row(timeline.Row{PID: th.PID, TID: th.TID, Name: th.Name, Kind: timeline.RowThread})
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		e := timeline.Event{
			Kind: timeline.Host, Start: op.Start, End: op.End, Name: ids[op.Name], Category: ids[op.Category],
			Row:    t.Row(timeline.Row{PID: op.PID, TID: op.TID, Kind: timeline.RowThread}),
			Detail: t.Args.Add(op.Args), External: op.External,
		}
		if op.HasExternal {
			e.Flags |= timeline.HasExternal
		}
		if op.Unfinished {
			e.Flags |= timeline.Unfinished
		}
		t.Events.Add(e)
	}
	for _, f := range h.Flows {
		t.Flows = append(t.Flows, timeline.FlowPoint{
			ID: f.ID, TS: f.TS, Name: ids[f.Name], Start: f.Start,
			Row: t.Row(timeline.Row{PID: f.PID, TID: f.TID, Kind: timeline.RowThread}),
		})
	}
}
