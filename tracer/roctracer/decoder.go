package roctracer

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Name is the tracer's name in spools and completeness records.
const Name = "roctracer"

// ErrTruncated: a buffer does not end with a record.
var ErrTruncated = errors.New("truncated activity record")

// noName stands for the name of a kernel that has none.
const noName = "(no name)"

// maxPending bounds the launches whose kernel has not come, in number.
const maxPending = 1 << 20

const (
	// Bounds of what can be true; more of those records than of others means another
	// layout.
	maxDevices = 1024
	maxBytes   = 1 << 48
	trialBad   = 4
)

func init() {
	tracer.Register(Name, func(c tracer.Config) (tracer.Decoder, error) { return newDecoder(c), nil })
	tracer.Offers(Name, event.Kernel, event.Memcpy, event.Memset, event.Runtime, event.ExternalCorrelation)
}

// callName is an operation's name and whether its calls are recorded.
type callName struct {
	name        uint32
	shown, work bool
}

// Decoder implements tracer.Decoder for roctracer.
type Decoder struct {
	cfg      tracer.Config
	ev       event.Event
	forced   bool
	limits   tracer.Limits
	names    map[uint64]uint32
	calls    map[uint32]callName
	launches map[uint64]event.Launch
	good     uint64
	bad      uint64
	mismatch bool
	noName   uint32
	dropped  tracer.Tally
	skipped  map[uint32]uint64
	report   tracer.Report
}

var _ tracer.Decoder = (*Decoder)(nil)

func newDecoder(cfg tracer.Config) *Decoder {
	if cfg.NSPerTick == 0 {
		cfg.NSPerTick = 1
	}
	return &Decoder{
		cfg: cfg, limits: tracer.NewLimits(cfg.NSPerTick), names: map[uint64]uint32{}, calls: map[uint32]callName{},
		launches: map[uint64]event.Launch{}, noName: cfg.Strings.ID(noName), skipped: map[uint32]uint64{},
		report: tracer.Report{Library: Name, APIVersion: cfg.APIVersion, Layout: "table"},
	}
}

// Stride implements tracer.Decoder. All records have one size.
func (d *Decoder) Stride(uint32, uint32) {}

// Name implements tracer.Decoder.
func (d *Decoder) Name(ptr uint64, name string) { d.names[ptr] = d.cfg.Strings.ID(name) }

// CallbackName implements tracer.Decoder.
func (d *Decoder) CallbackName(domain, id uint32, name string) {
	if domain == DomainHIPAPI && name != "" {
		d.calls[id] = callName{d.cfg.Strings.ID(name), shown(d.cfg.API, name), startsWork(name)}
	}
}

// Decode implements tracer.Decoder.
func (d *Decoder) Decode(b tracer.Buffer, emit func(*event.Event)) error {
	d.report.Buffers++
	d.report.Bytes += uint64(len(b.Data))
	d.forced = b.Forced
	d.judge(b.Data)
	data := b.Data
	for ; len(data) >= recordBytes; data = data[recordBytes:] {
		d.ev = event.Event{}
		if d.record(data[:recordBytes]) {
			d.report.Received[d.ev.Kind]++
			emit(&d.ev)
		}
	}
	if len(data) > 0 {
		d.report.LostBytes += uint64(len(data))
		return fmt.Errorf("%s: byte %d of the buffer: %w: %d bytes are left; they are lost", b.Origin, len(b.Data)-len(data), ErrTruncated, len(data))
	}
	return nil
}

func (d *Decoder) record(rec []byte) bool {
	e := &d.ev
	e.Correlation = u64(rec, offCorrelation)
	switch domain := u32(rec, offDomain); domain {
	case DomainHIPOps:
		return d.work(rec)
	case DomainHIPAPI:
		return d.call(rec)
	case DomainExternal:
		e.Kind, e.ExternalID = event.ExternalCorrelation, u64(rec, offExternal)
		switch u32(rec, offKind) {
		case stackOperator:
			e.External = event.ExternalOperator
		case stackAnnotation:
			e.External = event.ExternalAnnotation
		default:
			d.dropped[tracer.CountForeignExternal]++
			return false
		}
		return true
	case DomainLaunch:
		d.launch(rec)
		return false
	default:
		d.skipped[domain]++
		return false
	}
}

// Stacks of external ids, as the agent numbers them for vendors that have none.
const (
	stackOperator   = 3
	stackAnnotation = 4
)

func (d *Decoder) call(rec []byte) bool {
	e := &d.ev
	e.Kind, e.CBID = event.Runtime, u32(rec, offOp)
	c, ok := d.calls[e.CBID]
	switch {
	case !ok:
		d.dropped[tracer.CountNoCallbackName]++
		return false
	case !c.shown:
		d.dropped[tracer.CountFiltered]++
		return false
	}
	if !d.span(rec) {
		return false
	}
	e.Name, e.PID, e.TID = c.name, u32(rec, offProcess), u32(rec, offThread)
	if c.work {
		e.Has |= event.StartsWork
	}
	return true
}

func (d *Decoder) work(rec []byte) bool {
	e := &d.ev
	c := classify(u32(rec, offKind), u32(rec, offOp))
	if c.what == other {
		d.skipped[DomainHIPOps]++
		return false
	}
	if d.mismatch || d.implausible(rec, c) != "" {
		d.dropped[tracer.CountLayout]++
		return false
	}
	if !d.span(rec) {
		return false
	}
	e.Device, e.Stream = u32(rec, offDevice), uint32(u64(rec, offQueue))
	e.Has = event.HasDevice | event.HasStream | event.NoContext
	switch c.what {
	case copied:
		e.Kind, e.Copy, e.Bytes = event.Memcpy, event.CopyKind(c.copy), u64(rec, offBytes)
	case filled:
		e.Kind, e.Bytes = event.Memset, u64(rec, offBytes)
	default:
		e.Kind = event.Kernel
		l, ok := d.launches[e.Correlation]
		if !ok {
			l.Has = event.NoLaunch
		}
		delete(d.launches, e.Correlation)
		e.Launch = l
		if e.Name = d.names[u64(rec, offName)]; e.Name == 0 {
			e.Name = d.noName
			d.dropped[tracer.CountUnnamed]++
		}
	}
	return true
}

// launch keeps what a call told of the kernel that it launches.
func (d *Decoder) launch(rec []byte) {
	grid, block := i32x3(rec, offGrid), i32x3(rec, offBlock)
	l := event.Launch{Grid: grid, Block: block, Has: event.NoRegisters | event.NoShared}
	for i := range 3 {
		if grid[i] <= 0 || block[i] <= 0 {
			return // not arguments of a launch
		}
		if u32(rec, offKind) == ShapeGlobal {
			if grid[i]%block[i] != 0 {
				return
			}
			l.Grid[i] = grid[i] / block[i]
		}
	}
	if u32(rec, offHasShared) != 0 {
		l.Dynamic = int32(u32(rec, offShared))
		// What a kernel has beside it by its own declaration nobody tells.
	}
	if len(d.launches) < maxPending {
		d.launches[u64(rec, offCorrelation)] = l
	}
}

// span takes a record's times into the event.
func (d *Decoder) span(rec []byte) bool {
	from, to, incomplete, ok := d.limits.Span(u64(rec, offBegin), u64(rec, offEnd), d.forced, &d.dropped)
	d.ev.Start, d.ev.End, d.ev.Incomplete = from, to, incomplete
	return ok
}

// judge looks at a buffer before anything of it is decoded: records that cannot be true
// mean another layout, and then nothing of the device is taken.
func (d *Decoder) judge(data []byte) {
	if d.mismatch {
		return
	}
	for ; len(data) >= recordBytes; data = data[recordBytes:] {
		if u32(data, offDomain) != DomainHIPOps {
			continue
		}
		why := d.implausible(data, classify(u32(data, offKind), u32(data, offOp)))
		if why == "" {
			d.good++
			continue
		}
		if d.bad++; d.bad >= trialBad && d.bad > d.good {
			d.mismatch = true
			d.report.Layout = "mismatch"
			d.report.Diagnoses = append(d.report.Diagnoses, "layout mismatch: records of the roctracer library are not laid out as expected: "+why+"; no work of the device is taken from this recording")
			return
		}
	}
}

// implausible says what of a record of the device cannot be true, "" if nothing.
func (d *Decoder) implausible(rec []byte, c class) string {
	start, end := u64(rec, offBegin), u64(rec, offEnd)
	switch {
	case u32(rec, offDevice) >= maxDevices:
		return fmt.Sprintf("work ran on device %d", u32(rec, offDevice))
	case (c.what == copied || c.what == filled) && u64(rec, offBytes) > maxBytes:
		return fmt.Sprintf("a copy or fill has %d bytes", u64(rec, offBytes))
	case start == 0 && end == 0:
	case start == 0, end < start && end != 0 && start-end > d.limits.Clamp, end > start && end-start > d.limits.Longest:
		return fmt.Sprintf("something lasts from %d to %d", start, end)
	}
	return ""
}

// Report implements tracer.Decoder.
func (d *Decoder) Report() tracer.Report {
	r := d.report
	r.Dropped, r.Repaired = d.dropped.Split()
	if len(d.skipped) > 0 {
		r.Skipped = map[uint32]uint64{}
		for k, n := range d.skipped {
			r.Skipped[k] = n
		}
	}
	return r
}

func u32(b []byte, off int) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func u64(b []byte, off int) uint64 { return binary.LittleEndian.Uint64(b[off:]) }

func i32x3(b []byte, off int) [3]int32 {
	return [3]int32{int32(u32(b, off)), int32(u32(b, off+4)), int32(u32(b, off+8))}
}
