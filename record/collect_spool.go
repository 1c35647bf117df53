package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

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
	// Alive: the process still runs, so that the end of the host side is still being
	// written.
	Alive bool
	// ExitCode and Signal say how the traced program ended, where that was seen.
	ExitCode *int
	Signal   string
	// NotRank: the process is not the rank that its environment says it is, but
	// inherited that.
	NotRank bool
}

// CollectSpool reads one process's spool and joins it into a trace. What is
// damaged in it is stepped over and counted in the trace's Completeness; an
// error is returned only if the file cannot be read or has no header.
//
// Of a spool of segments path is the newest; those before it are read as well.
func CollectSpool(path string, o CollectOptions) (*timeline.Trace, error) {
	files, err := spool.Segments(path)
	if err != nil {
		return nil, err
	}
	// All are opened first: a process that still runs removes the oldest.
	readers := make([]*spool.Reader, 0, len(files))
	var size int64
	for i, name := range files {
		r, err := spool.Open(name)
		if errors.Is(err, fs.ErrNotExist) && i < len(files)-1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		defer r.Close()
		readers = append(readers, r)
		if st, err := os.Stat(name); err == nil {
			size += st.Size()
		}
	}
	c := spoolCollector{collector: newCollector(path), o: o}
	c.rec.Spool = &timeline.SpoolCounts{Bytes: size}
	c.host = c.readHost(path, filepath.Dir(path), o.Alive)
	for i, r := range readers {
		c.next(i == 0)
		if err := c.read(r); err != nil {
			return nil, err
		}
	}
	if !c.haveHeader {
		return nil, fmt.Errorf("%s: %w", path, ErrNoHeader)
	}
	c.rec.Spool.Frames = c.frames
	c.rec.Spool.BadFrames += c.bad
	return c.finish()
}

// next prepares for a segment, which repeats what stood in those before it.
func (c *spoolCollector) next(first bool) {
	if !first {
		c.marks, c.clocks.list, c.haveSegment = nil, nil, false
	}
}

// read takes all frames of one file.
func (c *spoolCollector) read(r *spool.Reader) error {
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := c.frame(f); err != nil {
			return err
		}
	}
	damage := r.Damage()
	torn, reason := r.Torn()
	c.rec.Spool.BadFrames += damage.Frames + damage.Missing
	c.rec.Spool.TornBytes += torn
	if torn > 0 {
		c.diagnose(fmt.Sprintf("the last %d bytes of the spool were cut: %s", torn, reason))
	}
	return nil
}

// spoolCollector feeds a collector from the frames of a spool.
type spoolCollector struct {
	*collector
	o          CollectOptions
	host       *hostReader
	header     spool.Header
	haveHeader bool
	// haveSegment: the header of the segment that is being read was seen.
	haveSegment bool
	offsets     []uint32
	haveOffs    bool
	clocks      clockSamples
	end         *spool.End
	marks       []spool.Window
	sessions    []spool.Session // of the program's own profiler
	counters    spool.Counters
	oldest      int64 // when the oldest segment began, CLOCK_REALTIME ns
	frames      uint64
	bad         uint64 // frames that were whole and could not be parsed
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
		if !c.haveSegment { // of a later segment; within one it is damage
			c.header.Segment, c.haveSegment = h.Segment, true
		}
		return nil
	}
	c.header, c.haveHeader, c.haveSegment, c.oldest = h, true, true, h.SegmentNS
	level := c.o.API
	if level == "" {
		level = h.Options.API
	}
	// An API version of 0 means that the tracer could not be bound: there are
	// only diagnoses.
	if err := c.open(h.Binding, tracer.Config{API: level, Env: h.Env}); err != nil && h.Binding.APIVersion != 0 {
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
			c.counters = n
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
	case spool.TypeRequested:
		var kinds []string
		if kinds, err = f.Requested(); err == nil {
			c.header.Requested = kinds
		}
	case spool.TypeWindow:
		var w spool.Window
		if w, err = f.Window(); err == nil {
			c.marks = append(c.marks, w)
		}
	case spool.TypeEnd:
		var e spool.End
		if e, err = f.End(); err == nil {
			c.end = &e
		}
	case spool.TypeSession:
		var w spool.Session
		if w, err = f.Session(); err == nil {
			c.beside(w)
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
