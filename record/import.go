package record

import (
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/host"
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
	if err := o.check(); err != nil {
		return nil, err
	}
	c := newCollector(o.Buffers)
	join := correlate.Options{KinetoRows: o.KinetoRows}
	if o.Host != "" {
		h, err := host.ReadKinetoFile(o.Host)
		if err != nil {
			return nil, err
		}
		c.addHost(h)
		if h.HasWindow {
			join.Window = &h.Window
		}
	}
	level := o.API
	if level == "" {
		level = tracer.APIKineto
	}
	err := c.open(tracer.BindingInfo{Tracer: cupti.Name, APIVersion: o.APIVersion}, tracer.Config{NSPerTick: o.tick(), API: level})
	if err != nil {
		return nil, err
	}
	if o.Names != "" {
		if err := readNames(o.Names, c.decoder.Name); err != nil {
			return nil, err
		}
	}
	if err := c.readDump(&o); err != nil {
		return nil, err
	}
	if err := o.clocks(c, &join); err != nil {
		return nil, err
	}
	if err := c.finish(join); err != nil {
		return nil, err
	}
	rec := c.rec
	if join.Fit != nil && join.Fit.Known != nil {
		rec.Clock.Source = timeline.ClockMixed
	}
	out, other := rec.Dropped[timeline.DropOutOfWindow], rec.Dropped[timeline.DropOtherClock]
	if o.Host != "" && out+other > 0 && nothingOfOurs(rec) {
		return nil, fmt.Errorf("%s: %w (%s): %d records are outside its window, %d in another clock; are they of one run, and is the clock right?",
			o.Buffers, ErrNoOverlap, o.Host, out, other)
	}
	return c.trace, nil
}

// readDump decodes the dump. What is lost of it is counted, unless nothing of it
// can be used.
func (c *collector) readDump(o *ImportOptions) error {
	c.rec.Ended = timeline.EndDump
	err := readDump(o.Buffers, func(off int64, data []byte) error {
		in := tracer.Buffer{Data: data, Origin: fmt.Sprintf("%s: buffer at byte %d", o.Buffers, off), Forced: true}
		if err := c.decode(in); err != nil {
			c.diagnose(err.Error())
		}
		return nil
	})
	r := c.decoder.Report()
	switch {
	case errors.Is(err, ErrTruncatedDump) && r.Buffers > 0:
		c.diagnose(err.Error())
		c.rec.Ended = timeline.EndCut
	case err != nil:
		return err
	}
	if r.Buffers == 0 {
		return fmt.Errorf("%s: %w", o.Buffers, ErrEmptyDump)
	}
	if r.Buffers > 0 && received(r) == 0 {
		return fmt.Errorf("%s: not one record of %d bytes could be used with API version %d (dropped %v, %d bytes lost); is that the version that wrote it?",
			o.Buffers, r.Bytes, o.APIVersion, r.Dropped, r.LostBytes)
	}
	if r.LostBytes > 0 {
		c.diagnose(fmt.Sprintf("%d of %d bytes could not be decoded: is %d really the API version of the library that wrote them?",
			r.LostBytes, r.Bytes, o.APIVersion))
	}
	return nil
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

// nothingOfOurs reports whether all that was written came from the host.
func nothingOfOurs(rec *timeline.Completeness) bool {
	for kind, n := range rec.Written {
		if n > 0 && kind != timeline.Host.String() {
			return false
		}
	}
	return true
}
