package record

import (
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
	_ "github.com/flagos-ai/flagos-trace/tracer/ascend" // registers its decoder, as the others do
	_ "github.com/flagos-ai/flagos-trace/tracer/cupti"
	_ "github.com/flagos-ai/flagos-trace/tracer/metax"
	_ "github.com/flagos-ai/flagos-trace/tracer/musa"
	_ "github.com/flagos-ai/flagos-trace/tracer/ppu"
	_ "github.com/flagos-ai/flagos-trace/tracer/roctracer"
)

// maxDiagnoses bounds what one damaged file can say.
const maxDiagnoses = 100

// collector is the trace of one process in the making: a decoder, a builder and
// an account of what went through them. Where the buffers come from, a spool or
// a dump, is its user's matter. Order of calls: addHost, or addSlice for each
// slice, if there are operators; open; lose, diagnose and decode as things come;
// finish.
type collector struct {
	origin    string // the file read, for messages
	trace     *timeline.Trace
	rec       *timeline.Completeness
	binding   tracer.BindingInfo
	decoder   tracer.Decoder // nil if this build has none for the tracer
	builder   *correlate.Builder
	times     recordTimes
	undecoded uint64 // bytes of buffers that never reached a decoder
	threads   map[int64]string
	diagnoses []string
	gaps      *gapClock // between windows, nil without
	side      joinedHost
	// ownIdentity: the trace has an id and a host name of ours.
	ownIdentity bool
}

func newCollector(origin string) *collector {
	rec := &timeline.Completeness{Tool: version.Full()}
	return &collector{origin: origin, trace: &timeline.Trace{Completeness: rec}, rec: rec, threads: map[int64]string{}}
}

// open makes the decoder for what the binding says of the library. Without a
// decoder the buffers are counted as lost.
func (c *collector) open(b tracer.BindingInfo, cfg tracer.Config) error {
	c.binding = b
	c.rec.Tracer = b.Tracer
	c.builder = correlate.New(c.trace)
	cfg.APIVersion, cfg.Strings = b.APIVersion, &c.trace.Strings
	d, err := tracer.NewDecoder(b.Tracer, cfg)
	if err != nil {
		return err
	}
	c.decoder = d
	return nil
}

// decode takes one buffer. The error says why the rest of it is lost, which is
// counted.
func (c *collector) decode(b tracer.Buffer) error {
	if c.decoder == nil {
		c.undecoded += uint64(len(b.Data))
		return nil
	}
	return c.decoder.Decode(b, c.add)
}

func (c *collector) add(e *event.Event) {
	if e.Start != 0 {
		c.times.add(e.Start)
		if e.End != 0 {
			c.times.addEnd(e.End)
		}
	}
	c.builder.Add(e)
}

// diagnose keeps a message for people, once.
func (c *collector) diagnose(text string) {
	text = strings.ReplaceAll(text, "\n", "; ") // of errors that were joined: a diagnosis is a line
	for _, t := range c.diagnoses {
		if t == text {
			return
		}
	}
	if len(c.diagnoses) < maxDiagnoses {
		c.diagnoses = append(c.diagnoses, text)
	}
}

// lose takes note of a loss of unknown size; an empty text says nothing beyond
// the code.
func (c *collector) lose(code, text string) {
	if text != "" {
		c.diagnose(text)
	}
	for _, m := range c.rec.Missing {
		if m == code {
			return
		}
	}
	c.rec.Missing = append(c.rec.Missing, code)
}

// finish joins everything and completes the completeness record.
func (c *collector) finish(join correlate.Options) error {
	t, rec := c.trace, c.rec
	rec.Library, rec.How, rec.API = c.binding.Path, c.binding.How, c.binding.APIVersion
	if rec.Spool == nil {
		rec.Spool = new(timeline.SpoolCounts)
	}
	if c.decoder != nil {
		c.report(c.decoder.Report())
	}
	rec.Spool.LostBytes += c.undecoded
	if join.Sessions == nil {
		join.Sessions = c.side.sessions
	}
	if err := c.builder.Finish(join); err != nil {
		return fmt.Errorf("%s: %w", c.origin, err)
	}
	if c.gaps != nil {
		c.gaps.settle(rec)
	}
	if n := rec.Dropped[timeline.DropOtherClock]; n > 0 {
		c.diagnose(c.times.unexplained(n, rec.Clock.Source))
	}
	c.noteHost()
	rec.Diagnoses = append(c.diagnoses, rec.Diagnoses...)
	for i := range t.Rows {
		if row := &t.Rows[i]; row.Kind == timeline.RowThread && row.Name == "" {
			row.Name = c.threads[row.TID]
		}
	}
	for _, p := range versions(c.binding) {
		if !hasMetadata(t, p.Key) {
			t.Metadata = append(t.Metadata, p)
		}
	}
	if t.Process.PID == 0 {
		t.Process.PID = firstProcess(t)
	}
	rec.Judge()
	return nil
}

// report takes over what the decoder counted.
func (c *collector) report(r tracer.Report) {
	rec := c.rec
	rec.Layout = r.Layout
	rec.Dropped = r.Dropped
	rec.Repaired = r.Repaired
	for _, d := range r.Diagnoses {
		c.diagnose(d)
	}
	for kind, n := range r.Skipped {
		if rec.Skipped == nil {
			rec.Skipped = map[string]uint64{}
		}
		rec.Skipped[fmt.Sprint(kind)] = n
	}
	if rec.Spool.Bytes == 0 {
		rec.Spool.Bytes = int64(r.Bytes)
	}
	rec.Spool.LostBytes += r.LostBytes
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
