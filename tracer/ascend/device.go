package ascend

import (
	"math"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// none is what streams and devices hold where they do not apply.
const none = 0xFFFFFFFF

// span takes a record's times into the event. It reports false, having counted why,
// if they cannot be true.
func (d *Decoder) span(start, end uint64) bool {
	from, to, incomplete, ok := d.limits.Span(start, end, d.forced, &d.dropped)
	if !ok {
		return false
	}
	d.ev.Start, d.ev.End, d.ev.Incomplete = from, to, incomplete
	return true
}

// program returns the program's number of a device of the machine's.
func (d *Decoder) program(device uint32) uint32 {
	if device == none || d.logical == nil {
		return device
	}
	n, ok := d.logical[device]
	if ok {
		return n
	}
	if len(d.outside) < 16 {
		d.outside[device] = true
	}
	return device
}

// place takes a record's device, by the program's number, and stream.
func (d *Decoder) place(device, stream uint32) {
	e := &d.ev
	e.Has |= event.NoContext
	if device != none {
		e.Device = device
		e.Has |= event.HasDevice
	}
	if stream != none {
		e.Stream = stream
		e.Has |= event.HasStream
	}
}

func (d *Decoder) kernel(rec []byte) bool {
	l, e := &layouts[KindKernel], &d.ev
	e.Correlation = u64(rec, l.correlation)
	if !d.span(u64(rec, l.start), u64(rec, l.end)) {
		return false
	}
	e.Kind = event.Kernel
	d.place(d.program(u32(rec, l.device)), u32(rec, l.stream))
	e.Launch.Has = event.NoLaunch
	e.Name = d.names[u64(rec, l.name)]
	if e.Name == 0 {
		e.Name = d.noName
		d.dropped[tracer.CountUnnamed]++
	}
	if e.Task.Type = d.names[u64(rec, l.name2)]; e.Task.Type != 0 {
		e.Has |= event.HasTask
	}
	if e.Correlation != 0 && d.work.seen(e.Correlation) {
		d.repeated++
	}
	d.order()
	return true
}

// order takes note of a kernel that begins before the one before it in its stream has
// ended: a stream does one thing after the other, so the clock was set in between.
// Only records of one buffer are in order.
func (d *Decoder) order() {
	e := &d.ev
	key := uint64(e.Device)<<32 | uint64(e.Stream)
	if last := d.streams[key]; e.Start < last && last-e.Start <= d.limits.Clamp {
		d.steps++
		d.worst = max(d.worst, last-e.Start)
	}
	d.streams[key] = e.End
}

// collective decodes an operation between devices, which stands where the kernels of
// other vendors' libraries for it do.
func (d *Decoder) collective(kind uint32, rec []byte) bool {
	l, e := &layouts[kind], &d.ev
	if l.correlation != 0 {
		e.Correlation = u64(rec, l.correlation)
	}
	if !d.span(u64(rec, l.start), u64(rec, l.end)) {
		return false
	}
	e.Kind = event.Kernel
	d.place(d.program(u32(rec, l.device)), u32(rec, l.stream))
	e.Launch.Has = event.NoLaunch
	if e.Name = d.names[u64(rec, l.name)]; e.Name == 0 {
		e.Name = d.noName
		d.dropped[tracer.CountUnnamed]++
	}
	e.Has |= event.HasTask
	e.Task.Communicator = d.names[u64(rec, l.name2)]
	if kind == KindHCCL {
		if b := math.Float64frombits(u64(rec, l.bandwidth)); b > 0 && !math.IsInf(b, 0) {
			e.Task.Bandwidth = b
		}
		return true
	}
	e.Task.Algorithm = d.names[u64(rec, l.name3)]
	e.Task.Count = u64(rec, l.count)
	e.Task.DataType = d.dataType(u32(rec, l.value))
	return true
}

func (d *Decoder) dataType(n uint32) uint32 {
	id, ok := d.types[n]
	if !ok && len(d.types) < 256 {
		id = d.cfg.Strings.ID(dataTypes[n])
		d.types[n] = id
	}
	return id
}

// copyKinds are msptiActivityMemcpyKind as CUPTI numbers the directions. DEFAULT, which
// the driver decides, is not known.
var copyKinds = [...]event.CopyKind{0: 0, 1: 9, 2: 1, 3: 2, 4: 8, 5: 0}

// deviceMemory is event.MemoryKind's "Device".
const deviceMemory = 3

// copy decodes a copy or a fill. Its times are those of the host's call, and its device
// is what aclrtGetDevice said there: the program's number.
func (d *Decoder) copy(kind uint32, rec []byte) bool {
	l, e := &layouts[kind], &d.ev
	e.Correlation = u64(rec, l.correlation)
	if !d.span(u64(rec, l.start), u64(rec, l.end)) {
		return false
	}
	e.Has = event.HostSpan
	d.place(u32(rec, l.device), u32(rec, l.stream))
	e.Bytes = u64(rec, l.count)
	e.Async = rec[l.isAsync]&1 != 0
	if kind == KindMemset {
		e.Kind, e.Dst = event.Memset, deviceMemory
		return true
	}
	e.Kind = event.Memcpy
	if v := u32(rec, l.value); v < uint32(len(copyKinds)) {
		e.Copy = copyKinds[v]
	}
	// What the direction says of the memory; of the host's it says nothing.
	switch e.Copy {
	case 1:
		e.Dst = deviceMemory
	case 2:
		e.Src = deviceMemory
	case 8:
		e.Src, e.Dst = deviceMemory, deviceMemory
	}
	return true
}

// ids is a set of correlation ids, which are dense but for gaps.
type ids struct {
	pages map[uint64]*[64]uint64
}

// maxPages bounds it: 4096 ids each. What does not fit is never seen.
const maxPages = 1 << 16

// seen adds an id and reports whether it was there.
func (s *ids) seen(id uint64) bool {
	p := s.pages[id>>12]
	if p == nil {
		if len(s.pages) >= maxPages {
			return false
		}
		if s.pages == nil {
			s.pages = map[uint64]*[64]uint64{}
		}
		p = new([64]uint64)
		s.pages[id>>12] = p
	}
	word, bit := &p[id>>6&63], uint64(1)<<(id&63)
	was := *word&bit != 0
	*word |= bit
	return was
}
