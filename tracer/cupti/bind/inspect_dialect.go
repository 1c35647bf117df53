package bind

import (
	"encoding/binary"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// speak makes the inspector one of a dialect. How long its records are no table says,
// so every buffer is walked with the library's iterator, or, where that cannot be
// used, as the decoder walks it.
func (in *inspector) speak(d *Dialect, version uint32) (err error) {
	in.d, in.said = d, version
	in.marker = [2]int{}
	if d.Sizes != nil {
		in.walker, err = d.NewWalker()
	}
	return err
}

// ended reports whether the iterator has reached the end of the buffer: by its result,
// where that is CUPTI's, and for libraries of whose results little is known by where the
// last record ends.
func (in *inspector) ended(result uint32, data []byte) bool {
	if result == resultMaxLimit && (in.d == nil || !in.d.EndUnknown) {
		return true
	}
	end, ok := in.lastEnd(data)
	return in.d != nil && ok && end == uint64(len(data))
}

// early reports whether the iterator, which is not known to have reached the end of the
// buffer, is known to have ended before it. The result of a vendor's says nothing.
func (in *inspector) early(data []byte) bool {
	if in.d == nil {
		return true
	}
	end, ok := in.lastEnd(data)
	return ok && end != uint64(len(data))
}

// lastEnd returns where the last record that was found ends; ok is false where its
// size is not known.
func (in *inspector) lastEnd(data []byte) (end uint64, ok bool) {
	n := len(in.offsets)
	if n == 0 {
		return 0, true
	}
	last := in.offsets[n-1]
	kind := binary.LittleEndian.Uint32(data[last:])
	if kind >= maxKind || in.stride[kind] == 0 || in.varies[kind] {
		return 0, false
	}
	return uint64(last) + uint64(in.stride[kind]), true
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
