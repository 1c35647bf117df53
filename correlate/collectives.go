package correlate

import "github.com/flagos-ai/flagos-trace/timeline"

// copyCollectives gives the kernels of a collective operation its arguments.
func (b *Builder) copyCollectives() {
	name := b.t.Strings.ID(CollectiveOp)
	args := map[uint32]uint32{} // operator -> Args of the collective's arguments
	ops := b.indexIDs(func(e *timeline.Event) bool { return e.Name == name })
	for i := range b.first {
		e := b.t.Events.At(i)
		if e.Kind == timeline.Host && e.Name == name && e.Flags&timeline.HasExternal != 0 {
			args[i] = b.t.Args.Add(CollectiveArgs(b.t.Args.At(e.Detail)))
		}
	}
	if len(args) == 0 {
		return
	}
	for i := b.first; i < uint32(b.t.Events.Len()); i++ {
		e := b.t.Events.At(i)
		if e.Kind == timeline.Kernel && e.Flags&timeline.HasExternal != 0 {
			if op, ok := b.named(ops, e.External, e.Start); ok {
				b.setCollective(e.Detail, args[op])
			}
		}
	}
}

// setCollective gives a kernel arguments of its operation, behind those that the library
// told of it.
func (b *Builder) setCollective(detail, args uint32) {
	k := b.t.Kernels.At(detail)
	if k.Collective != 0 {
		told := b.t.Args.At(k.Collective)
		args = b.t.Args.Add(append(append(append([]byte{}, told...), ", "...), b.t.Args.At(args)...))
	}
	k.Collective = args
}
