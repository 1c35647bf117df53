package cupti

import (
	"fmt"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// Dialect is what a vendor's library that is modelled on CUPTI has otherwise. It is
// a table and a few small functions; stepping, decoding and plausibility are the
// same for all.
//
// Of such libraries no header with numbers is public. Their records are known to
// begin like CUPTI's of some version, so a prefix of each is read and nothing behind
// it, and every kind is on trial: if what stands in its first records cannot be true,
// the layout is another, and that is said once, in place of records made of garbage.
type Dialect struct {
	Tracer string // the tracer's name in spools
	// Layouts is the API version of CUPTI whose layouts the records begin with.
	Layouts uint32
	// Prefix is by kind how many bytes of that layout hold. Other kinds are stepped
	// over.
	Prefix map[uint32]uint32
	// Sizes is by kind the size of records, for a library whose own iterator cannot be
	// used. Where it is set the walk goes by it, and where that leads to no record, in
	// steps of 8 bytes to the next that is plausible and has times. Without it the process
	// must tell the strides, as the iterator showed them.
	Sizes map[uint32]uint32
	// CallName names an API call where the library did not; "" if it is not known.
	CallName func(domain, cbid uint32) string
	// Canonical turns the name of a call into that of CUDA's which does the same. Which
	// calls are shown is decided by it.
	Canonical func(domain uint32, name string) string
	// NullNames says that kernels without a name are to be expected.
	NullNames bool
	// Untimed says what is known of records without times.
	Untimed string
}

// CommonPrefix is how much of the records of CUPTI is the same in every version of it
// since CUDA 9.0, in bytes by kind.
var CommonPrefix = map[uint32]uint32{
	KindMemcpy: 64, KindMemset: 64, KindKernel: 112, KindConcurrentKernel: 112, KindMemcpy2: 64,
	KindDriver: 40, KindRuntime: 40, KindExternalCorrelation: 24, KindSynchronization: 40, KindOverhead: 40,
}

// Version118 is the API version of CUDA 11.8.
const Version118 = 18

// noName stands for the name of a kernel that has none.
const noName = "(no name)"

// Register makes the decoder of the dialect known. It is called from init functions.
func (dl *Dialect) Register() {
	tracer.Register(dl.Tracer, func(c tracer.Config) (tracer.Decoder, error) {
		d, err := NewDialectDecoder(c, dl)
		if err != nil {
			return nil, err
		}
		return d, nil
	})
}

// Name returns the name of a call as traces show it, "" if it is not known.
func (dl *Dialect) Name(domain, cbid uint32) string {
	if dl != nil {
		return dl.CallName(domain, cbid)
	}
	name, _ := CallbackName(domain, cbid)
	return name
}

// Shown is package cupti's Shown for a call of the dialect.
func (dl *Dialect) Shown(level tracer.APILevel, domain, cbid uint32, name string) bool {
	return Shown(level, domain, cbid, dl.canonical(domain, name))
}

func (dl *Dialect) canonical(domain uint32, name string) string {
	if dl == nil || dl.Canonical == nil {
		return name
	}
	return dl.Canonical(domain, name)
}

// Renamed returns name with one beginning in place of another; ok is false, and the
// name unchanged, if it does not begin so.
func Renamed(name, from, to string) (string, bool) {
	rest, ok := strings.CutPrefix(name, from)
	if !ok {
		return name, false
	}
	return to + rest, true
}

// NewDialectDecoder returns a decoder for one process's buffers of a library that
// speaks the dialect. What the library says of its version is not gone by.
func NewDialectDecoder(cfg tracer.Config, dl *Dialect) (*Decoder, error) {
	said := cfg.APIVersion
	cfg.APIVersion = dl.Layouts
	d := empty(cfg)
	d.dialect, d.trial = dl, &trial{}
	d.report.Library, d.report.APIVersion, d.report.Layout = dl.Tracer, said, "assumed"
	for kind, bytes := range dl.Prefix {
		r, ok := revisionFor(dl.Layouts, kind)
		if !ok {
			return nil, fmt.Errorf("%s: CUPTI %d has no records of kind %d", dl.Tracer, dl.Layouts, kind)
		}
		if err := d.use(kind, r.cut(bytes), dl.Sizes[kind]); err != nil {
			return nil, err
		}
	}
	for kind, bytes := range dl.Sizes {
		d.kinds[kind].stride = bytes
	}
	return d, nil
}

// cut returns the revision with the fields that lie within the first bytes.
func (r revision) cut(bytes uint32) revision {
	fields := map[string]span{}
	for name, s := range r.fields() {
		if uint32(s.offset)+uint32(s.size) <= bytes {
			fields[name] = s
		}
	}
	return revision{since: r.since, bytes: bytes, layout: func() map[string]span { return fields }}
}

// strideOfDialect takes the stride that the library's iterator showed.
func (d *Decoder) strideOfDialect(kind, bytes uint32) {
	st := &d.kinds[kind]
	if d.dialect.Sizes != nil {
		return // not gone by
	}
	st.stride, st.told = bytes, true
	if d.report.Layout == "assumed" {
		d.report.Layout = "learned"
	}
	if prefix := d.dialect.Prefix[kind]; bytes < prefix {
		d.mismatch(kind, fmt.Sprintf("they are %d bytes long, and %d are read of them", bytes, prefix))
	}
}

// mismatch gives a kind up, and with one of the device all of them that are not proven by
// now, and says so once.
func (d *Decoder) mismatch(kind uint32, why string) {
	proven := false
	for k := range d.dialect.Prefix {
		switch {
		case k == kind:
			d.kinds[k].mismatch = true
		case !onDevice(k) || !onDevice(kind):
		case d.trial.proven(k):
			proven = true
		default:
			d.kinds[k].mismatch = true
		}
	}
	if d.report.Layout != "mismatch" {
		what := "they are left out"
		if onDevice(kind) && !proven {
			what = "no work of the device is taken from this recording"
		}
		d.report.Diagnoses = append(d.report.Diagnoses, fmt.Sprintf("layout mismatch: records of activity kind %d of the %s library (which says it is of version %d) are not laid out as expected: %s; %s",
			kind, d.dialect.Tracer, d.report.APIVersion, why, what))
	}
	d.report.Layout = "mismatch"
}

func onDevice(kind uint32) bool {
	switch kind {
	case KindKernel, KindConcurrentKernel, KindMemcpy, KindMemcpy2, KindMemset:
		return true
	}
	return false
}
