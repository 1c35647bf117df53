package cupti

// Activity kinds this package decodes. Source: cupti_activity.h, CUDA 13.0 U1.
const (
	KindMemcpy              = 1
	KindMemset              = 2
	KindKernel              = 3
	KindDriver              = 4
	KindRuntime             = 5
	KindContext             = 9
	KindConcurrentKernel    = 10
	KindMarker              = 12
	KindOverhead            = 17
	KindMemcpy2             = 22
	KindCudaEvent           = 36
	KindSynchronization     = 38
	KindExternalCorrelation = 39
)

// MinVersion and MaxVersion bound the API versions (as cuptiGetVersion returns
// them) whose layouts stand in the table: CUDA 11.6 to 13.0 U1.
const (
	MinVersion = 17
	MaxVersion = 130001
)

// span is a field's place in a record, in bytes.
type span struct{ offset, size uint16 }

// revision is one form of a kind's record.
type revision struct {
	since  uint32 // first API version that writes it
	bytes  uint32
	layout func() map[string]span // nil: the kind is only stepped over
}

// fields returns the fields by name, nil if nothing is known of them.
func (r revision) fields() map[string]span {
	if r.layout == nil {
		return nil
	}
	return r.layout()
}

// KnownVersion reports whether the table speaks for this API version. From 13.0
// on versions are xxyyzz with zz a patch of CUPTI; 13.0 patches are known to
// keep their layouts.
func KnownVersion(api uint32) bool { return api >= MinVersion && api <= MaxVersion }

// revisionsOf returns the revisions of a kind, none if the table does not have it.
func revisionsOf(kind uint32) []revision {
	if kind >= uint32(len(revisions)) {
		return nil
	}
	return revisions[kind]
}

// revisionFor returns the newest revision that is not newer than api.
func revisionFor(api, kind uint32) (revision, bool) {
	list := revisionsOf(kind)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].since <= api {
			return list[i], true
		}
	}
	return revision{}, false
}

// revisionOfSize returns the newest revision of a kind that fits into a record
// of the given size: its fields are a prefix of the record.
func revisionOfSize(kind, bytes uint32) (revision, bool) {
	list := revisionsOf(kind)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].bytes <= bytes {
			return list[i], true
		}
	}
	return revision{}, false
}

// TableStride returns the size in bytes of a kind's records in an API version.
// For a version newer than the table it is the size of the newest one known,
// which the library's own iterator must confirm. ok is false if the kind is
// unknown to the table.
func TableStride(api, kind uint32) (bytes uint32, ok bool) {
	r, ok := revisionFor(api, kind)
	return r.bytes, ok
}

// KernelNameOffset returns where in a kernel record the pointer to its name
// stands; ok is false if the kind is not a kernel.
func KernelNameOffset(api, kind uint32) (off uint32, ok bool) {
	if kind != KindKernel && kind != KindConcurrentKernel {
		return 0, false
	}
	r, ok := revisionFor(api, kind)
	return uint32(r.fields()["name"].offset), ok
}

// MarkerNameOffsets returns where in a marker's record the pointers to its name
// and to its domain's stand; ok is false if the version has none.
func MarkerNameOffsets(api uint32) (name, domain uint32, ok bool) {
	r, ok := revisionFor(api, KindMarker)
	o, err := newMarkerOffsets(r.fields())
	return uint32(o.name), uint32(o.domain), ok && err == nil
}
