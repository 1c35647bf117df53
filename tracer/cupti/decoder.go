package cupti

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// knownKinds bounds the kinds with an entry of their own in Decoder.kinds; CUPTI
// counts kinds from 0 and had 56 of them in 13.0.
const knownKinds = 256

// kindState is what the decoder knows about one activity kind.
type kindState struct {
	stride   uint32 // bytes of a record; 0: unknown
	told     bool   // the library's own iterator showed the stride
	mismatch bool   // the iterator's stride is not the table's for a known version
	decode   func(d *Decoder, rec []byte) bool
}

// Decoder implements tracer.Decoder for CUPTI.
type Decoder struct {
	cfg    tracer.Config
	ev     event.Event
	kinds  [knownKinds]kindState
	far    map[uint32]uint32 // strides of kinds from knownKinds on
	names  map[uint64]uint32 // pointer to the name of a kernel, a marker or a domain -> Strings id
	api    [3][]apiName      // by domain, by callback id
	epoch  epoch
	forced bool

	kernels   [KindConcurrentKernel + 1]kernelOffsets // by kind, as are those below
	copies    [KindMemcpy2 + 1]copyOffsets
	calls     [KindRuntime + 1]apiOffsets
	external  externalOffsets
	sync      syncOffsets
	cudaEvent cudaEventOffsets
	overhead  overheadOffsets
	context   contextOffsets
	marker    markerOffsets
	limits    tracer.Limits
	overheads map[uint32]uint32 // overhead kind -> Strings id
	syncNames [8]uint32

	report  tracer.Report
	dropped tracer.Tally
	skipped [knownKinds]uint64

	dialect *Dialect // nil: CUPTI itself
	trial   *trial   // of a dialect
}

var _ tracer.Decoder = (*Decoder)(nil)

// Name is the tracer's name in spools and completeness records.
const Name = "cupti"

func init() {
	tracer.Register(Name, func(c tracer.Config) (tracer.Decoder, error) {
		d, err := NewDecoder(c)
		if err != nil {
			return nil, err // and not a nil *Decoder, which would be no nil interface
		}
		return d, nil
	})
}

// NewDecoder returns a decoder for one process's buffers. An API version older
// than the table is an error; a newer one is decoded by the strides that the
// process reports, or by the newest layouts known.
func NewDecoder(cfg tracer.Config) (*Decoder, error) {
	if cfg.APIVersion < MinVersion {
		return nil, fmt.Errorf("cupti: API version %d is older than %d (CUDA 11.6), whose layouts are the oldest known", cfg.APIVersion, MinVersion)
	}
	d := empty(cfg)
	d.report = tracer.Report{Library: Name, APIVersion: cfg.APIVersion, Layout: "table"}
	if !KnownVersion(cfg.APIVersion) {
		d.report.Layout = "assumed"
	}
	for kind := range uint32(len(revisions)) {
		if r, ok := revisionFor(cfg.APIVersion, kind); ok {
			if err := d.use(kind, r, r.bytes); err != nil {
				return nil, err
			}
		}
	}
	return d, nil
}

// empty returns a decoder that knows no kind.
func empty(cfg tracer.Config) *Decoder {
	if cfg.NSPerTick == 0 {
		cfg.NSPerTick = 1
	}
	d := &Decoder{
		cfg: cfg, names: map[uint64]uint32{}, far: map[uint32]uint32{}, overheads: map[uint32]uint32{},
		limits: tracer.NewLimits(cfg.NSPerTick),
	}
	for i := range d.syncNames {
		d.syncNames[i] = cfg.Strings.ID(event.SyncKind(i).String())
	}
	return d
}

// use sets a kind's record revision and stride.
func (d *Decoder) use(kind uint32, r revision, stride uint32) (err error) {
	st := &d.kinds[kind]
	st.stride = stride
	if r.layout == nil {
		return nil
	}
	switch kind {
	case KindKernel, KindConcurrentKernel:
		d.kernels[kind], err = newKernelOffsets(r.fields())
		st.decode = (*Decoder).decodeKernel
	case KindMemcpy, KindMemcpy2, KindMemset:
		d.copies[kind], err = newCopyOffsets(r.fields(), kind)
		st.decode = (*Decoder).decodeCopy
	case KindRuntime, KindDriver:
		d.calls[kind], err = newAPIOffsets(r.fields())
		st.decode = (*Decoder).decodeAPI
	case KindExternalCorrelation:
		d.external, err = newExternalOffsets(r.fields())
		st.decode = (*Decoder).decodeExternal
	case KindSynchronization:
		d.sync, err = newSyncOffsets(r.fields())
		st.decode = (*Decoder).decodeSync
	case KindCudaEvent:
		d.cudaEvent, err = newCudaEventOffsets(r.fields())
		st.decode = (*Decoder).decodeCudaEvent
	case KindContext:
		d.context, err = newContextOffsets(r.fields())
		st.decode = (*Decoder).decodeContext
	case KindMarker:
		d.marker, err = newMarkerOffsets(r.fields())
		st.decode = (*Decoder).decodeMarker
	case KindOverhead:
		d.overhead, err = newOverheadOffsets(r.fields())
		st.decode = (*Decoder).decodeOverhead
	}
	return err
}

// Stride implements tracer.Decoder.
func (d *Decoder) Stride(kind, bytes uint32) {
	if kind >= knownKinds {
		d.far[kind] = bytes
		return
	}
	if d.dialect != nil {
		d.strideOfDialect(kind, bytes)
		return
	}
	st := &d.kinds[kind]
	if st.told && st.stride == bytes {
		return
	}
	st.told = true
	expected := st.stride
	switch {
	case expected == bytes:
		if d.report.Layout == "table" {
			d.report.Layout = "verified"
		}
	case KnownVersion(d.cfg.APIVersion) && expected != 0:
		st.mismatch = true
		d.report.Layout = "mismatch" // the binding, which knows the library, says more
	}
	if !KnownVersion(d.cfg.APIVersion) {
		d.report.Layout = "learned"
		if r, ok := revisionOfSize(kind, bytes); ok {
			if d.use(kind, r, bytes) != nil {
				st.mismatch = true
			}
		} else if len(revisionsOf(kind)) > 0 {
			st.mismatch = true // shorter than any revision known: nothing holds
		}
	}
	st.stride = bytes
}

// Name implements tracer.Decoder.
func (d *Decoder) Name(ptr uint64, name string) { d.names[ptr] = d.cfg.Strings.ID(name) }

// CallbackName implements tracer.Decoder.
func (d *Decoder) CallbackName(domain, id uint32, name string) {
	if domain < uint32(len(d.api)) && name != "" {
		d.apiEntry(domain, id).set(d, domain, id, DisplayName(name))
	}
}

// Decode implements tracer.Decoder.
func (d *Decoder) Decode(b tracer.Buffer, emit func(*event.Event)) error {
	d.report.Buffers++
	d.report.Bytes += uint64(len(b.Data))
	d.forced = b.Forced
	if d.trial != nil {
		d.judge(b)
	}
	if b.Offsets != nil {
		return d.decodeOffsets(b, emit)
	}
	data := b.Data
	for off := 0; off < len(data); {
		if len(data)-off < 4 {
			return d.giveUp(b, off, fmt.Errorf("%w: %d bytes left", ErrTruncated, len(data)-off))
		}
		kind := binary.LittleEndian.Uint32(data[off:])
		stride := int(d.strideOf(kind))
		if d.dialect != nil && d.dialect.Sizes != nil && !d.recordAt(data, off) {
			off = d.lostTo(b, off, d.resync(data, off))
			continue
		}
		if stride == 0 {
			return d.giveUp(b, off, fmt.Errorf("%w: %d (API version %d)", ErrUnknownKind, kind, d.report.APIVersion))
		}
		if off+stride > len(data) {
			return d.giveUp(b, off, fmt.Errorf("%w: kind %d needs %d bytes, %d are left", ErrTruncated, kind, stride, len(data)-off))
		}
		d.record(kind, data[off:off+stride], emit)
		off += stride
	}
	return nil
}

// decodeOffsets decodes a buffer whose records the library's iterator found.
func (d *Decoder) decodeOffsets(b tracer.Buffer, emit func(*event.Event)) error {
	if len(b.Data) > 0 && (len(b.Offsets) == 0 || b.Offsets[0] != 0) {
		return d.giveUp(b, 0, fmt.Errorf("%w: no record is said to begin at the buffer's start", ErrTruncated))
	}
	for i, off := range b.Offsets {
		end := uint32(len(b.Data))
		if i+1 < len(b.Offsets) {
			end = b.Offsets[i+1]
		}
		if end < off || end > uint32(len(b.Data)) || end-off < 4 {
			return d.giveUp(b, int(min(off, uint32(len(b.Data)))), fmt.Errorf("%w: record %d spans %d to %d", ErrTruncated, i, off, end))
		}
		rec := b.Data[off:end]
		kind := binary.LittleEndian.Uint32(rec)
		if known := d.strideOf(kind); known > uint32(len(rec)) && kind < knownKinds && d.kinds[kind].decode != nil {
			d.dropped[tracer.CountLayout]++
			continue
		}
		d.record(kind, rec, emit)
		// The last record ends where the buffer does only if the walk got there.
		known := d.strideOf(kind)
		if i == len(b.Offsets)-1 && kind < knownKinds && d.kinds[kind].decode != nil && uint32(len(rec)) > known {
			d.report.LostBytes += uint64(uint32(len(rec)) - known)
		}
	}
	return nil
}

func (d *Decoder) strideOf(kind uint32) uint32 {
	if kind < knownKinds {
		return d.kinds[kind].stride
	}
	return d.far[kind]
}

// record decodes one record of the right size.
func (d *Decoder) record(kind uint32, rec []byte, emit func(*event.Event)) {
	if kind >= knownKinds {
		d.countFar(kind)
		return
	}
	st := &d.kinds[kind]
	switch {
	case st.decode == nil:
		d.skipped[kind]++
	case st.mismatch, d.unproven(kind, rec):
		d.dropped[tracer.CountLayout]++
	default:
		d.ev = event.Event{}
		if st.decode(d, rec) {
			d.epoch.commit(d.ev.Correlation)
			d.report.Received[d.ev.Kind]++
			emit(&d.ev)
		}
	}
}

func (d *Decoder) countFar(kind uint32) {
	if d.report.Skipped == nil {
		d.report.Skipped = map[uint32]uint64{}
	}
	d.report.Skipped[kind]++
}

// giveUp counts the rest of a buffer as lost.
func (d *Decoder) giveUp(b tracer.Buffer, off int, err error) error {
	d.report.LostBytes += uint64(len(b.Data) - off)
	return fmt.Errorf("%s: byte %d of the buffer: %w; the rest of this buffer is lost", b.Origin, off, err)
}

// Report implements tracer.Decoder.
func (d *Decoder) Report() tracer.Report {
	r := d.report
	r.Skipped = maps.Clone(r.Skipped)
	for kind, n := range d.skipped {
		if n > 0 {
			if r.Skipped == nil {
				r.Skipped = map[uint32]uint64{}
			}
			r.Skipped[uint32(kind)] += n
		}
	}
	r.Dropped, r.Repaired = d.dropped.Split()
	if n := d.dropped[tracer.CountUntimed]; n > 0 && d.dialect != nil && d.dialect.Untimed != "" {
		r.Diagnoses = append(slices.Clip(r.Diagnoses), fmt.Sprintf("%d records have no times: %s", n, d.dialect.Untimed))
	}
	return r
}
