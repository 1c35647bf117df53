package bind

import (
	"encoding/binary"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// speak makes the inspector one of a dialect. How long its records are no table says,
// so every buffer is walked with the library's iterator, or, where that cannot be
// used, as the decoder walks it.
func (in *inspector) speak(d *Dialect) (err error) {
	in.d = d
	in.marker = [2]int{}
	if d.Sizes != nil {
		in.walker, err = d.NewWalker()
	}
	return err
}

func (in *inspector) endUnknown() bool { return in.d != nil && in.d.EndUnknown }

// ended reports whether the iterator has reached the end of the buffer. Its result
// there is CUPTI's, or it is not known, and then the last record tells.
func (in *inspector) ended(result uint32, rec uintptr, data []byte) bool {
	if !in.endUnknown() {
		return result == resultMaxLimit
	}
	n := len(in.offsets)
	if rec != 0 || n == 0 {
		return false
	}
	last := in.offsets[n-1]
	kind := binary.LittleEndian.Uint32(data[last:])
	return kind < maxKind && in.stride[kind] != 0 && uint64(last)+uint64(in.stride[kind]) == uint64(len(data))
}

// walkKnown goes through a buffer by the sizes of the dialect.
func (in *inspector) walkKnown(data []byte, f tracer.Findings) {
	for off := 0; ; {
		from, to, ok := in.walker.Next(data, off)
		if !ok {
			return
		}
		in.record(binary.LittleEndian.Uint32(data[from:]), data[from:to], f)
		off = to
	}
}

// kindOf is the activity kind of a domain's calls.
func kindOf(domain uint32) uint32 {
	if domain == cupti.DomainDriver {
		return cupti.KindDriver
	}
	return cupti.KindRuntime
}
