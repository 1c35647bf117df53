package correlate

import "github.com/flagos-ai/flagos-trace/timeline"

// copyCollectives gives the kernels of a collective operation its arguments.
func (b *Builder) copyCollectives() {
	name := b.t.Strings.ID(CollectiveOp)
	ops := map[int64]uint32{} // external id -> Args of the collective's arguments
	for i := range b.first {
		e := b.t.Events.At(i)
		if e.Kind == timeline.Host && e.Name == name && e.Flags&timeline.HasExternal != 0 {
			ops[e.External] = b.t.Args.Add(CollectiveArgs(b.t.Args.At(e.Detail)))
		}
	}
	if len(ops) == 0 {
		return
	}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if e.Kind == timeline.Kernel && e.Flags&timeline.HasExternal != 0 {
			b.t.Kernels.At(e.Detail).Collective = ops[e.External]
		}
	}
}
