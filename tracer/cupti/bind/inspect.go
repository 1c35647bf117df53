package bind

import (
	"encoding/binary"
	"fmt"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

const (
	// cbidOffset is where an API record holds its callback id. Source:
	// CUpti_ActivityAPI, the same in every version.
	cbidOffset = 4
	// minRecord is the least a record can be: a kind and a word.
	minRecord = 8
	// maxKind bounds the kinds taken for real; the highest known is below 64.
	maxKind = 1024
	// maxCallback bounds the callback ids of which a list is kept; the highest
	// known is below 1000. Others are looked up each time.
	maxCallback = 4096
)

// inspector walks completed buffers. The first record of each kind is found with
// the library's own iterator, which shows how far apart records really are;
// after that the walk uses those strides and never leaves Go, until a buffer
// does not come out even.
//
// It looks at every record the program causes, so what it asks for each is kept
// in arrays; maps are for what happens once a buffer or less.
type inspector struct {
	api     uint32 // of the layouts
	said    uint32 // the version that the library says it is of, 0 for none
	library string
	next    func(data []byte, rec *uintptr) uint32 // the library's iterator; nil if it has none
	nameOf  uintptr

	stride  [maxKind]uint32 // by kind; verified, if there is an iterator
	varies  [maxKind]bool
	nameAt  [2]int // offset of the name in records of the kinds of kernels, 0 if they have none
	marker  [2]int // offsets of the name and of the domain's in markers
	names   *dl.Names
	known   [2][maxCallback]bool // callback ids, driver and runtime, of which nothing is to be told
	asked   map[[2]uint32]bool   // other ones, by domain and id
	offsets []uint32

	d      *Dialect      // nil: CUPTI itself
	walker *cupti.Walker // of a dialect whose iterator cannot be used
	alone  func() bool   // the library is not to be called any more; nil: it always may be
}

// left reports whether the library is not to be called any more.
func (in *inspector) left() bool { return in.alone != nil && in.alone() }

func (in *inspector) init(api uint32, library string, next, nameOf uintptr) {
	in.api, in.said, in.library, in.nameOf = api, api, library, nameOf
	for i, kind := range []uint32{cupti.KindConcurrentKernel, cupti.KindKernel} {
		if off, ok := cupti.KernelNameOffset(api, kind); ok {
			in.nameAt[i] = int(off)
		}
	}
	if name, domain, ok := cupti.MarkerNameOffsets(api); ok {
		in.marker = [2]int{int(name), int(domain)}
	}
	in.names, in.asked = dl.NewNames(), map[[2]uint32]bool{}
	if next != 0 {
		in.next = func(data []byte, rec *uintptr) uint32 {
			r, _, _ := purego.SyscallN(next, dl.BytesPtr(data), uintptr(len(data)), dl.WordPtr(rec))
			return uint32(r)
		}
	}
}

// who is the library as messages name it.
func (in *inspector) who() string {
	if in.said == 0 {
		return in.library
	}
	return fmt.Sprintf("%s, API version %d", in.library, in.said)
}

// inspect reports through f what the buffer holds that only this process knows.
func (in *inspector) inspect(data []byte, f tracer.Findings) error {
	err := in.names.Buffer()
	if len(data) == 0 {
		return nil
	}
	if err != nil {
		f.Diagnose(fmt.Sprintf("there were moments when kernel names could not be read: pipe: %v", err))
	}
	switch {
	case in.walker != nil:
		in.walkKnown(data, f)
		return nil
	case in.d == nil && in.quick(data, f):
		return nil
	}
	if in.left() {
		if !in.quick(data, f) {
			f.Diagnose(in.who() + ": it is not called any more, and the sizes of records that it showed do not lead through a buffer")
		}
		return nil
	}
	if in.next == nil && in.d != nil {
		f.Diagnose(in.who() + ": it has no iterator, and how long its records are is not known: they cannot be read")
		return nil
	}
	if in.next == nil {
		f.Diagnose(in.who() + ": a buffer does not come out even with the record sizes of this version, and the library has no iterator")
		return nil
	}
	in.walk(data, f)
	return nil
}

// quick walks the buffer by known strides. It returns false, perhaps after
// having looked at some records, when they do not carry it to the end.
func (in *inspector) quick(data []byte, f tracer.Findings) bool {
	for off := 0; off < len(data); {
		if len(data)-off < minRecord {
			return false
		}
		kind := binary.LittleEndian.Uint32(data[off:])
		if kind >= maxKind {
			return false
		}
		n := int(in.stride[kind])
		if n == 0 && in.next == nil {
			if stride, ok := cupti.TableStride(in.api, kind); ok { // nothing to verify it with
				n, in.stride[kind] = int(stride), stride
			}
		}
		if n < minRecord || in.varies[kind] || n > len(data)-off {
			return false
		}
		in.record(kind, data[off:off+n], f)
		off += n
	}
	return true
}

// walk goes through the buffer with the library's iterator, learns strides, and
// reports the offsets if strides alone cannot lead the recorder through.
func (in *inspector) walk(data []byte, f tracer.Findings) {
	base := dl.BytesPtr(data)
	in.offsets = in.offsets[:0]
	rec, end := uintptr(0), uint32(0)
	for {
		if end = in.next(data, &rec); end != resultOK || rec == 0 {
			break
		}
		off := uint64(rec) - uint64(base)
		least := uint64(0)
		if n := len(in.offsets); n > 0 {
			least = uint64(in.offsets[n-1]) + minRecord
		}
		if off < least || off > uint64(len(data)) || uint64(len(data))-off < minRecord {
			f.Diagnose(in.who() + ": its iterator left the buffer")
			break
		}
		in.offsets = append(in.offsets, uint32(off))
	}
	even := true
	for i, off := range in.offsets {
		limit := uint32(len(data))
		if i+1 < len(in.offsets) {
			limit = in.offsets[i+1]
			even = in.learn(binary.LittleEndian.Uint32(data[off:]), limit-off, f) && even
		}
		in.record(binary.LittleEndian.Uint32(data[off:]), data[off:limit], f)
	}
	// What follows the last record is its own only if the iterator ended there in order.
	whole := in.ended(end, data) && len(in.offsets) > 0 && in.offsets[0] == 0
	if whole {
		last := in.offsets[len(in.offsets)-1]
		even = in.learn(binary.LittleEndian.Uint32(data[last:]), uint32(len(data))-last, f) && even
	}
	even = even && whole
	if !even {
		f.Offsets(in.offsets)
	}
	if !whole && in.early(data) {
		f.Diagnose(fmt.Sprintf("%s: its iterator ended with result %d before the end of a buffer", in.who(), end))
	}
}

// learn takes note of a kind's stride as the iterator showed it and returns
// whether strides can lead through such records.
func (in *inspector) learn(kind, n uint32, f tracer.Findings) bool {
	if kind == 0 || kind >= maxKind {
		return false
	}
	if old := in.stride[kind]; old != 0 {
		if old != n && !in.varies[kind] {
			in.varies[kind] = true
			f.Diagnose(fmt.Sprintf("%s: records of activity kind %d differ in size, %d and %d bytes; they are found by the library's iterator", in.who(), kind, old, n))
		}
		return !in.varies[kind]
	}
	in.stride[kind] = n
	f.Stride(kind, n)
	if in.d != nil {
		return true // the decoder judges
	}
	want, ok := cupti.TableStride(in.api, kind)
	if ok && want != n && cupti.KnownVersion(in.api) {
		f.Diagnose(fmt.Sprintf("layout mismatch: %s: records of activity kind %d should be %d bytes and are %d; the library is not the version it says, or was changed", in.who(), kind, want, n))
	}
	return true
}

// record looks at one record.
func (in *inspector) record(kind uint32, rec []byte, f tracer.Findings) {
	switch kind {
	case cupti.KindDriver:
		in.call(cupti.DomainDriver, &in.known[0], rec, f)
	case cupti.KindRuntime:
		in.call(cupti.DomainRuntime, &in.known[1], rec, f)
	case cupti.KindConcurrentKernel:
		in.nameIn(in.nameAt[0], rec, f)
	case cupti.KindKernel:
		in.nameIn(in.nameAt[1], rec, f)
	case cupti.KindMarker:
		in.nameIn(in.marker[0], rec, f)
		in.nameIn(in.marker[1], rec, f)
	}
}

// nameIn sees to the name that a record points to at nameAt.
func (in *inspector) nameIn(nameAt int, rec []byte, f tracer.Findings) {
	if nameAt == 0 || nameAt+8 > len(rec) {
		return
	}
	in.names.See(binary.LittleEndian.Uint64(rec[nameAt:]), f)
}

func (in *inspector) call(domain uint32, known *[maxCallback]bool, rec []byte, f tracer.Findings) {
	id := binary.LittleEndian.Uint32(rec[cbidOffset:])
	if id < maxCallback {
		if known[id] {
			return
		}
		known[id] = true
	}
	if _, ok := cupti.CallbackName(domain, id); ok && in.d == nil {
		return
	}
	key := [2]uint32{domain, id}
	if in.asked[key] || len(in.asked) >= 1<<16 {
		return
	}
	in.asked[key] = true
	if name, ok := in.callbackName(domain, id); ok {
		f.CallbackName(domain, id, name)
	}
}

// callbackName asks the library for its name of a callback id.
func (in *inspector) callbackName(domain, id uint32) (string, bool) {
	if in.nameOf == 0 || in.left() {
		return "", false
	}
	if in.d != nil && in.d.NameQuery != "" {
		domain = kindOf(domain)
	}
	out := dl.NewOut()
	if r, _, _ := purego.SyscallN(in.nameOf, uintptr(domain), uintptr(id), dl.OutPtr(out, 0)); uint32(r) != resultOK {
		return "", false
	}
	name := dl.GoString(uintptr(out[0]), 256)
	return name, name != ""
}
