package record

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// ErrNoHeader is returned for a spool whose first frame is not its header: the
// process died before it could write one, or the file is damaged there.
var ErrNoHeader = errors.New("the spool has no header, so what it holds cannot be told")

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
	c := spoolCollector{collector: newCollector(path), o: o}
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
	damage := r.Damage()
	torn, reason := r.Torn()
	c.rec.Spool = &timeline.SpoolCounts{
		Frames: c.frames, BadFrames: damage.Frames + damage.Missing + c.bad, TornBytes: torn, Bytes: st.Size(),
	}
	if torn > 0 {
		c.diagnose(fmt.Sprintf("the last %d bytes of the spool were cut: %s", torn, reason))
	}
	return c.finish()
}

// spoolCollector feeds a collector from the frames of a spool.
type spoolCollector struct {
	*collector
	o          CollectOptions
	header     spool.Header
	haveHeader bool
	offsets    []uint32
	haveOffs   bool
	clocks     clockSamples
	end        *spool.End
	windows    []spool.Window
	frames     uint64
	bad        uint64 // frames that were whole and could not be parsed
}

// frame takes one frame. Frames that cannot be parsed are told of, counted and
// left out.
func (c *spoolCollector) frame(f spool.Frame) error {
	c.frames++
	if f.Type == spool.TypeHeader {
		return c.start(f)
	}
	if !c.haveHeader {
		return fmt.Errorf("%s: %w", c.origin, ErrNoHeader)
	}
	if err := c.take(f); err != nil {
		if errors.Is(err, spool.ErrPayload) {
			c.bad++
		}
		c.diagnose(fmt.Sprintf("%s: frame at byte %d: %v", c.origin, f.Offset, err))
	}
	return nil
}

// start opens the decoder that the header calls for.
func (c *spoolCollector) start(f spool.Frame) error {
	h, err := f.Header()
	if err != nil {
		return fmt.Errorf("%s: byte %d: %w", c.origin, f.Offset, err)
	}
	if c.haveHeader {
		return nil
	}
	c.header, c.haveHeader = h, true
	level := c.o.API
	if level == "" {
		level = h.Options.API
	}
	// An API version of 0 means that the tracer could not be bound: there are
	// only diagnoses.
	if err := c.open(h.Binding, tracer.Config{API: level}); err != nil && h.Binding.APIVersion != 0 {
		c.diagnose(fmt.Sprintf("%s: %v; its device records are not in the trace", c.origin, err))
	}
	return nil
}

func (c *spoolCollector) take(f spool.Frame) (err error) {
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
			c.rec.Buffers = &timeline.BufferCounts{
				Requested: n.BuffersRequested, Delivered: n.BuffersDelivered, Discarded: n.BuffersDiscarded, BytesDiscarded: n.BytesDiscarded,
				RecordsDropped: n.RecordsDropped, WriteErrors: n.WriteErrors, BytesUnwritten: n.BytesUnwritten, AgentCPUNS: n.AgentCPUNS,
			}
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
	case spool.TypeLoss:
		var l spool.Loss
		if l, err = f.Loss(); err == nil {
			c.lose(l.Code, l.Text)
		}
	case spool.TypeBuffer:
		err = c.buffer(f)
	default:
		if c.decoder != nil {
			err = c.teach(f)
		}
	}
	return err
}

// teach takes the frames that the decoder needs beside the buffers.
func (c *spoolCollector) teach(f spool.Frame) (err error) {
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
	}
	return err
}

func (c *spoolCollector) buffer(f spool.Frame) error {
	b, err := f.Buffer()
	if err != nil {
		c.undecoded += uint64(len(f.Payload))
		return err
	}
	in := tracer.Buffer{Data: b.Data, Forced: b.Forced, Origin: fmt.Sprintf("buffer %d", b.Sequence)}
	if c.haveOffs {
		in.Offsets = c.offsets
	}
	c.haveOffs = false
	return c.decode(in)
}
