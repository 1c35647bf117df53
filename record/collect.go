package record

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
	_ "github.com/flagos-ai/flagos-trace/tracer/cupti" // registers its decoder
)

// CollectOptions say how to turn a spool into a trace.
type CollectOptions struct {
	// API, if set, leaves out API calls that were recorded; "" takes the level
	// that was recorded.
	API tracer.APILevel
	// KinetoRows puts events on rows as Kineto does, see correlate.Options.
	KinetoRows bool
	// ExitCode and Signal say how the traced program ended, where that was seen.
	ExitCode *int
	Signal   string
}

// CollectSpool reads one process's spool and joins it into a trace. What is
// damaged in it is stepped over and counted in the trace's Completeness; an
// error is returned only if the file cannot be read or has no header.
func CollectSpool(path string, o CollectOptions) (*timeline.Trace, error) {
	r, err := spool.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	c := collector{path: path, o: o, trace: new(timeline.Trace), threads: map[int64]string{}}
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := c.frame(f); err != nil {
			return nil, err
		}
	}
	if !c.haveHeader {
		return nil, fmt.Errorf("%s: %w", path, ErrNoHeader)
	}
	return c.finish(r, st.Size())
}

// collector is a spool on its way to becoming a trace.
type collector struct {
	path       string
	o          CollectOptions
	trace      *timeline.Trace
	header     spool.Header
	haveHeader bool
	binding    tracer.BindingInfo
	decoder    tracer.Decoder
	builder    *correlate.Builder
	offsets    []uint32
	haveOffs   bool
	clocks     clockSamples
	threads    map[int64]string
	counters   *spool.Counters
	end        *spool.End
	windows    []spool.Window
	diagnoses  []string
	frames     uint64
}

// ErrNoHeader is returned for a spool whose first frame is not its header: the
// process died before it could write one, or the file is damaged there.
var ErrNoHeader = errors.New("the spool has no header, so what it holds cannot be told")

// frame takes one frame. Frames that cannot be parsed are told of and left out.
func (c *collector) frame(f spool.Frame) error {
	c.frames++
	if f.Type == spool.TypeHeader {
		return c.start(f)
	}
	if !c.haveHeader {
		return fmt.Errorf("%s: %w", c.path, ErrNoHeader)
	}
	if err := c.take(f); err != nil {
		c.diagnose(fmt.Sprintf("%s: frame at byte %d: %v", c.path, f.Offset, err))
	}
	return nil
}

// start opens the decoder that the header calls for.
func (c *collector) start(f spool.Frame) error {
	h, err := f.Header()
	if err != nil {
		return fmt.Errorf("%s: byte %d: %w", c.path, f.Offset, err)
	}
	if c.haveHeader {
		return nil
	}
	c.header, c.binding, c.haveHeader = h, h.Binding, true
	level := c.o.API
	if level == "" {
		level = h.Options.API
	}
	c.builder = correlate.New(c.trace)
	if h.Binding.APIVersion == 0 {
		return nil // the tracer could not be bound: there are only diagnoses
	}
	c.decoder, err = tracer.NewDecoder(h.Binding.Tracer, tracer.Config{
		APIVersion: h.Binding.APIVersion, API: level, Strings: &c.trace.Strings,
	})
	if err != nil {
		c.diagnose(fmt.Sprintf("%s: %v; its device records are not in the trace", c.path, err))
	}
	return nil
}

func (c *collector) take(f spool.Frame) (err error) {
	switch f.Type {
	case spool.TypeClock:
		var s spool.Clock
		if s, err = f.Clock(); err == nil {
			c.clocks.add(s)
		}
	case spool.TypeThread:
		var t spool.Thread
		if t, err = f.Thread(); err == nil {
			c.threads[int64(t.TID)] = t.Name
		}
	case spool.TypeCounters:
		var n spool.Counters
		if n, err = f.Counters(); err == nil {
			c.counters = &n
		}
	case spool.TypeDevices:
		var d []tracer.Device
		if d, err = f.Devices(); err == nil {
			c.trace.Devices = devices(d)
		}
	case spool.TypeBinding:
		var b tracer.BindingInfo
		if b, err = f.Binding(); err == nil {
			c.binding = b
		}
	case spool.TypeWindow:
		var w spool.Window
		if w, err = f.Window(); err == nil {
			c.windows = append(c.windows, w)
		}
	case spool.TypeEnd:
		var e spool.End
		if e, err = f.End(); err == nil {
			c.end = &e
		}
	case spool.TypeDiagnosis:
		var text string
		if text, err = f.Diagnosis(); err == nil {
			c.diagnose(text)
		}
	default:
		if c.decoder != nil {
			err = c.decode(f)
		}
	}
	return err
}

// decode takes the frames that concern the decoder.
func (c *collector) decode(f spool.Frame) (err error) {
	switch f.Type {
	case spool.TypeNames:
		err = f.Names(func(ptr uint64, name []byte) { c.decoder.Name(ptr, string(name)) })
	case spool.TypeStride:
		var kind, bytes uint32
		if kind, bytes, err = f.Stride(); err == nil {
			c.decoder.Stride(kind, bytes)
		}
	case spool.TypeCallbackName:
		var domain, id uint32
		var name string
		if domain, id, name, err = f.CallbackName(); err == nil {
			c.decoder.CallbackName(domain, id, name)
		}
	case spool.TypeOffsets:
		c.offsets, err = f.Offsets(c.offsets[:0])
		c.haveOffs = err == nil
	case spool.TypeBuffer:
		var b spool.Buffer
		if b, err = f.Buffer(); err != nil {
			return err
		}
		in := tracer.Buffer{Data: b.Data, Forced: b.Forced, Origin: fmt.Sprintf("buffer %d", b.Sequence)}
		if c.haveOffs {
			in.Offsets = c.offsets
		}
		c.haveOffs = false
		err = c.decoder.Decode(in, c.builder.Add)
	}
	return err
}

func (c *collector) diagnose(text string) {
	for _, t := range c.diagnoses {
		if t == text {
			return
		}
	}
	if len(c.diagnoses) < maxDiagnoses {
		c.diagnoses = append(c.diagnoses, text)
	}
}

// maxDiagnoses bounds what one damaged file can say.
const maxDiagnoses = 100

// window returns the span to record: what the program opened and closed through
// the C API, else from arming the tracer to the end. A span that nobody closed
// ends with what was recorded last.
func (c *collector) window() timeline.Window {
	w := timeline.Window{Start: c.header.StartNS, End: math.MaxInt64}
	if c.end != nil {
		w.End = c.end.NS
	}
	for i, m := range c.windows {
		switch {
		case i == 0 && m.Open:
			w.Start = m.NS
		case !m.Open && i == len(c.windows)-1:
			w.End = m.NS
		}
	}
	return w
}

// ownThreads returns the ids of the agent's own threads.
func (c *collector) ownThreads() map[int64]bool {
	own := map[int64]bool{}
	for tid, name := range c.threads {
		if strings.HasPrefix(name, spool.OwnThreadPrefix) {
			own[tid] = true
		}
	}
	return own
}

// finish joins everything and fills the completeness record.
func (c *collector) finish(r *spool.Reader, size int64) (*timeline.Trace, error) {
	t, h := c.trace, c.header
	t.Process = timeline.Process{PID: h.PID, Name: h.Process, Host: h.Host}
	torn, reason := r.Torn()
	damage := r.Damage()
	rec := &timeline.Completeness{
		Tool: version.Full(), Tracer: h.Binding.Tracer, Library: c.binding.Path, How: c.binding.How, API: c.binding.APIVersion,
		Requested: h.Requested, ExitCode: c.o.ExitCode, Signal: c.o.Signal, Ended: timeline.EndCut,
		Spool: &timeline.SpoolCounts{Frames: c.frames, BadFrames: damage.Frames + damage.Missing, TornBytes: torn, Bytes: size},
	}
	t.Completeness = rec
	if c.end != nil {
		rec.Ended = timeline.Ending(c.end.Reason)
		if rec.Ended == timeline.EndExit || rec.Ended == timeline.EndStop {
			rec.Flushed = &c.end.Flushed
		}
	}
	if torn > 0 {
		c.diagnose(fmt.Sprintf("the last %d bytes of the spool were cut: %s", torn, reason))
	}
	if n := c.counters; n != nil {
		rec.Buffers = &timeline.BufferCounts{
			Requested: n.BuffersRequested, Delivered: n.BuffersDelivered, Discarded: n.BuffersDiscarded, BytesDiscarded: n.BytesDiscarded,
			RecordsDropped: n.RecordsDropped, WriteErrors: n.WriteErrors, BytesUnwritten: n.BytesUnwritten, AgentCPUNS: n.AgentCPUNS,
		}
	}
	if c.decoder != nil {
		report(rec, c.decoder.Report())
	}
	clock, source := c.clocks.choose()
	rec.Clock = source
	w := c.window()
	if err := c.builder.Finish(correlate.Options{
		ThreadIDs: true, KinetoRows: c.o.KinetoRows, Clock: clock, Window: &w, OwnThreads: c.ownThreads(),
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", c.path, err)
	}
	rec.Diagnoses = append(c.diagnoses, rec.Diagnoses...)
	for i := range t.Rows {
		if row := &t.Rows[i]; row.Kind == timeline.RowThread && row.Name == "" {
			row.Name = c.threads[row.TID]
		}
	}
	t.Metadata = append(t.Metadata, versions(c.binding)...)
	rec.Judge()
	return t, nil
}

// report takes over what the decoder counted.
func report(rec *timeline.Completeness, r tracer.Report) {
	rec.Layout = r.Layout
	rec.Dropped = r.Dropped
	rec.Repaired = r.Repaired
	rec.Diagnoses = append(rec.Diagnoses, r.Diagnoses...)
	for kind, n := range r.Skipped {
		if rec.Skipped == nil {
			rec.Skipped = map[string]uint64{}
		}
		rec.Skipped[fmt.Sprint(kind)] = n
	}
	if rec.Spool == nil {
		rec.Spool = &timeline.SpoolCounts{Bytes: int64(r.Bytes)}
	}
	rec.Spool.LostBytes = r.LostBytes
}
