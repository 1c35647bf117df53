package ascend

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Errors of Decode, wrapped with the buffer's origin and the offset in it.
var (
	// ErrUnknownKind: a record of a kind whose size nobody told, so nothing behind
	// it can be found.
	ErrUnknownKind = errors.New("activity kind of unknown size")
	// ErrTruncated: a record runs past the end of its buffer.
	ErrTruncated = errors.New("truncated activity record")
)

// Decoder implements tracer.Decoder for MSPTI.
type Decoder struct {
	cfg     tracer.Config
	ev      event.Event
	bytes   [numKinds]uint32  // of a record: the table's, or what the library's iterator showed
	learned map[uint32]uint32 // bytes of kinds that are not in the table
	far     map[uint32]uint64 // records of these that were stepped over
	fits    [numKinds]verdict
	good    [numKinds]uint32 // records of kinds that are not judged yet, as far as they can be
	bad     [numKinds]uint32
	names   map[uint64]uint32 // pointer -> Strings id
	calls   []call            // by Strings id of the name
	threads map[uint32]*caller
	logical map[uint32]uint32
	types   map[uint32]uint32 // data type -> Strings id
	streams map[uint64]uint64 // device and stream -> end of the last kernel, in this buffer
	work    ids
	limits  tracer.Limits
	forced  bool
	noName  uint32

	report   tracer.Report
	dropped  tracer.Tally
	skipped  [numKinds]uint64
	external uint64 // external ids
	pushers  map[uint32]bool
	repeated uint64 // kernels with the id of an earlier one
	steps    uint64 // kernels that begin before the one before them in the stream has ended
	worst    uint64 // by how much, ns
	outside  map[uint32]bool
}

var _ tracer.Decoder = (*Decoder)(nil)

// unnamed stands for a kernel's name where the library has none.
const unnamed = "(no name)"

func init() {
	tracer.Register(Name, func(c tracer.Config) (tracer.Decoder, error) { return NewDecoder(c), nil })
	tracer.Offers(Name, event.Kernel, event.Memcpy, event.Memset, event.Runtime, event.ExternalCorrelation, event.Marker)
}

// NewDecoder returns a decoder for one process's buffers. The library tells no version:
// Config.APIVersion means nothing.
func NewDecoder(cfg tracer.Config) *Decoder {
	if cfg.NSPerTick == 0 {
		cfg.NSPerTick = 1
	}
	d := &Decoder{
		cfg: cfg, names: map[uint64]uint32{}, learned: map[uint32]uint32{}, threads: map[uint32]*caller{},
		types: map[uint32]uint32{}, streams: map[uint64]uint64{}, pushers: map[uint32]bool{}, outside: map[uint32]bool{},
		limits: tracer.NewLimits(cfg.NSPerTick), logical: logicalDevices(cfg.Env[EnvVisible]), noName: cfg.Strings.ID(unnamed),
	}
	for k := range layouts {
		d.bytes[k] = layouts[k].bytes
	}
	d.report = tracer.Report{Library: Name, Layout: "table"}
	return d
}

// Stride implements tracer.Decoder. A size that is not the table's makes the kind
// unreadable: it is stepped over and counted.
func (d *Decoder) Stride(kind, bytes uint32) {
	if kind >= numKinds {
		d.learned[kind] = bytes
		return
	}
	if want := layouts[kind].bytes; want != bytes {
		d.fits[kind] = misplaced
		d.report.Layout = "mismatch"
	} else if d.report.Layout == "table" {
		d.report.Layout = "verified"
	}
	d.bytes[kind] = bytes
}

// Name implements tracer.Decoder.
func (d *Decoder) Name(ptr uint64, name string) { d.names[ptr] = d.cfg.Strings.ID(name) }

// CallbackName implements tracer.Decoder. Records of calls hold their names.
func (d *Decoder) CallbackName(domain, id uint32, name string) {}

func (d *Decoder) size(kind uint32) int {
	if kind < numKinds {
		return int(d.bytes[kind])
	}
	return int(d.learned[kind])
}

// Decode implements tracer.Decoder.
func (d *Decoder) Decode(b tracer.Buffer, emit func(*event.Event)) error {
	d.report.Buffers++
	d.report.Bytes += uint64(len(b.Data))
	d.forced = b.Forced
	clear(d.streams)
	d.judge(b.Data)
	for off := 0; off < len(b.Data); {
		kind, n, err := d.next(b.Data[off:])
		if err != nil {
			d.report.LostBytes += uint64(len(b.Data) - off)
			return fmt.Errorf("%s: byte %d of the buffer: %w; the rest of this buffer is lost", b.Origin, off, err)
		}
		d.record(kind, b.Data[off:off+n], emit)
		off += n
	}
	return nil
}

// next returns kind and size of the first record of what is left of a buffer.
func (d *Decoder) next(data []byte) (kind uint32, bytes int, err error) {
	if len(data) < 4 {
		return 0, 0, fmt.Errorf("%w: %d bytes left", ErrTruncated, len(data))
	}
	kind = binary.LittleEndian.Uint32(data)
	bytes = d.size(kind)
	if bytes < 4 {
		return kind, 0, fmt.Errorf("%w: %d", ErrUnknownKind, kind)
	}
	if bytes > len(data) {
		return kind, 0, fmt.Errorf("%w: kind %d needs %d bytes, %d are left", ErrTruncated, kind, bytes, len(data))
	}
	return kind, bytes, nil
}

// record decodes one record of the right size.
func (d *Decoder) record(kind uint32, rec []byte, emit func(*event.Event)) {
	if kind >= numKinds {
		if d.far == nil {
			d.far = map[uint32]uint64{}
		}
		d.far[kind]++
		return
	}
	if d.fits[kind] == misplaced || d.fits[kind] == notJudged && layouts[kind].start != 0 && elsewhere(kind, rec) {
		d.dropped[tracer.CountLayout]++
		return
	}
	d.ev = event.Event{}
	ok := false
	switch kind {
	case KindKernel:
		ok = d.kernel(rec)
	case KindAPI, KindACLAPI, KindNodeAPI, KindRuntimeAPI:
		ok = d.call(kind, rec)
	case KindMemcpy, KindMemset:
		ok = d.copy(kind, rec)
	case KindCommunication, KindHCCL:
		ok = d.collective(kind, rec)
	case KindExternalCorrelation:
		ok = d.externalID(rec)
	case KindMarker:
		ok = d.marker(rec)
	default:
		d.skipped[kind]++
	}
	if ok {
		d.report.Received[d.ev.Kind]++
		emit(&d.ev)
	}
}

// Report implements tracer.Decoder.
func (d *Decoder) Report() tracer.Report {
	r := d.report
	r.Skipped = maps.Clone(d.far)
	for kind, n := range d.skipped {
		if n > 0 {
			if r.Skipped == nil {
				r.Skipped = map[uint32]uint64{}
			}
			r.Skipped[uint32(kind)] = n
		}
	}
	r.Dropped, r.Repaired = d.dropped.Split()
	r.Diagnoses = d.diagnoses()
	return r
}
