package correlate

import (
	"github.com/ianlancetaylor/demangle"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// maxMangled is the length beyond which a symbol is shown as it is, as Kineto
// does: the demangled form of such a name can be exponentially longer.
const maxMangled = 8192

// maxDemangledPow bounds a demangled name to 128 KiB: back references let a
// symbol of 300 bytes stand for gigabytes. The longest name in our recordings has
// 3 KiB.
const maxDemangledPow = 17

// demangleKernels replaces the kernels' symbols by their C++ names. A name that
// is not a mangled symbol stays.
func (b *Builder) demangleKernels() {
	shown := map[uint32]uint32{}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if e.Kind != timeline.Kernel {
			continue
		}
		id, ok := shown[e.Name]
		if !ok {
			id = b.t.Strings.ID(Demangle(b.t.Strings.At(e.Name)))
			shown[e.Name] = id
		}
		e.Name = id
	}
}

// Demangle returns the C++ name of a mangled symbol as c++filt prints it, or the
// symbol itself if it is none, is longer than 8192 bytes, or would become longer
// than 128 KiB.
func Demangle(symbol string) string {
	if len(symbol) > maxMangled {
		return symbol
	}
	name := demangle.Filter(symbol, demangle.MaxLength(maxDemangledPow))
	if len(name) >= 1<<maxDemangledPow {
		return symbol
	}
	return name
}

// copyKey is what the name of a copy or a fill is made of.
type copyKey struct {
	fill     bool
	kind     event.CopyKind
	src, dst event.MemoryKind
}

func (b *Builder) copyName(e *event.Event) uint32 {
	k := copyKey{e.Kind == event.Memset, e.Copy, e.Src, e.Dst}
	id, ok := b.copyNames[k]
	if !ok {
		name := event.AppendCopyName(nil, e.Copy, e.Src, e.Dst)
		if k.fill {
			name = event.AppendFillName(nil, e.Dst)
		}
		id = b.t.Strings.IDBytes(name)
		b.copyNames[k] = id
	}
	return id
}
