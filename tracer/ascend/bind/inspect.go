package bind

import (
	"encoding/binary"
	"fmt"

	"github.com/ebitengine/purego"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

const (
	// minRecord is the least a record can be: a kind and a word.
	minRecord = 8
	// maxKind bounds the kinds taken for real; the highest known is 12.
	maxKind = 256
)

// inspector walks completed buffers by the sizes of records. Sizes are those of the
// table; a buffer with a kind whose size was not confirmed yet is gone through once with
// the library's iterator, which also knows kinds that the table does not.
type inspector struct {
	library string
	next    func(data []byte, rec *uintptr) uint32 // the library's iterator; nil if there is none, or none any more
	stride  [maxKind]uint32
	known   [maxKind]bool // confirmed, or told that it cannot be
	nameAt  [maxKind][3]int
	names   *dl.Names
	starts  []uint32
}

func (in *inspector) init(library string, next uintptr) {
	in.library, in.names = library, dl.NewNames()
	for k := range uint32(maxKind) {
		in.stride[k], _ = ascend.Size(k)
		in.nameAt[k] = ascend.NameOffsets(k)
	}
	if next != 0 {
		in.next = func(data []byte, rec *uintptr) uint32 {
			r, _, _ := purego.SyscallN(next, dl.BytesPtr(data), uintptr(len(data)), dl.WordPtr(rec))
			return uint32(r)
		}
	}
}

// inspect reports through f what the buffer holds that only this process knows.
func (in *inspector) inspect(data []byte, f tracer.Findings) error {
	err := in.names.Buffer()
	if len(data) == 0 {
		return nil
	}
	if err != nil {
		f.Diagnose(fmt.Sprintf("there were moments when names could not be read: pipe: %v", err))
	}
	if in.next != nil && !in.walk(data, nil) {
		in.confirm(data, f)
	}
	if !in.walk(data, f) {
		f.Diagnose(fmt.Sprintf("%s: a buffer does not come out even with the sizes of records that are known", in.library))
	}
	return nil
}

// walk goes through the buffer by the sizes known and, given f, tells the names. It
// returns false if they do not lead to the end or, without f, if one was not confirmed.
func (in *inspector) walk(data []byte, f tracer.Findings) bool {
	for off := 0; off < len(data); {
		if len(data)-off < minRecord {
			return false
		}
		kind := binary.LittleEndian.Uint32(data[off:])
		if kind >= maxKind {
			return false
		}
		n := int(in.stride[kind])
		if n < minRecord || n > len(data)-off || f == nil && !in.known[kind] {
			return false
		}
		if f != nil {
			for _, at := range in.nameAt[kind] {
				if at != 0 && at+8 <= n {
					in.names.See(binary.LittleEndian.Uint64(data[off+at:]), f)
				}
			}
		}
		off += n
	}
	return true
}

// confirm goes through the buffer with the library's iterator, to its end, and takes the
// sizes that it shows. Its position is the thread's, and the record that it is given means
// nothing to it.
func (in *inspector) confirm(data []byte, f tracer.Findings) {
	base := uint64(dl.BytesPtr(data))
	in.starts = in.starts[:0]
	rec, end := uintptr(0), uint32(0)
	for {
		if end = in.next(data, &rec); end != resultOK {
			break
		}
		off := uint64(rec) - base
		if n := len(in.starts); off > uint64(len(data)) || uint64(len(data))-off < minRecord || n > 0 && off < uint64(in.starts[n-1])+minRecord {
			end = ^uint32(0)
			break
		}
		in.starts = append(in.starts, uint32(off))
	}
	if end != resultMaxLimit || len(in.starts) > 0 && in.starts[0] != 0 {
		// It stands in the middle of this buffer now, and would begin the next there.
		in.next = nil
		f.Diagnose(fmt.Sprintf("%s: its iterator gave up in a buffer: sizes of records are not confirmed by it", in.library))
	}
	for i, off := range in.starts {
		to := uint32(len(data))
		if i+1 < len(in.starts) {
			to = in.starts[i+1]
		} else if in.next == nil {
			break // where the last one ends is not known
		}
		in.learn(binary.LittleEndian.Uint32(data[off:]), to-off, f)
	}
}

func (in *inspector) learn(kind, n uint32, f tracer.Findings) {
	if kind == 0 || kind >= maxKind || in.known[kind] {
		return
	}
	in.known[kind] = true
	if want := in.stride[kind]; want != 0 && want != n {
		f.Diagnose(fmt.Sprintf("layout mismatch: %s: records of activity kind %d should be %d bytes and are %d", in.library, kind, want, n))
		in.nameAt[kind] = [3]int{}
	}
	in.stride[kind] = n
	f.Stride(kind, n)
}
