package cupti

import (
	"encoding/binary"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

func u16(b []byte, off uint16) uint16 { return binary.LittleEndian.Uint16(b[off:]) }
func u32(b []byte, off uint16) uint32 { return binary.LittleEndian.Uint32(b[off:]) }
func u64(b []byte, off uint16) uint64 { return binary.LittleEndian.Uint64(b[off:]) }

func i32x3(b []byte, off uint16) [3]int32 {
	return [3]int32{int32(u32(b, off)), int32(u32(b, off+4)), int32(u32(b, off+8))}
}

func (d *Decoder) decodeKernel(rec []byte) bool {
	o, e := &d.kernels[binary.LittleEndian.Uint32(rec)], &d.ev
	e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	if !d.span(u64(rec, o.start), u64(rec, o.end)) {
		return false
	}
	name, ok := d.names[u64(rec, o.name)]
	if !ok || name == 0 {
		if d.dialect == nil || !d.dialect.NullNames || u64(rec, o.name) != 0 {
			d.dropped[tracer.CountNoName]++
			return false
		}
		name = d.cfg.Strings.ID(noName)
		d.dropped[tracer.CountUnnamed]++
	}
	e.Kind, e.Name = event.Kernel, name
	e.Device, e.Context, e.Stream = u32(rec, o.device), u32(rec, o.context), u32(rec, o.stream)
	e.Has = event.HasDevice | event.HasStream
	e.Launch = event.Launch{
		Grid: i32x3(rec, o.grid), Block: i32x3(rec, o.block), Registers: uint32(u16(rec, o.registers)),
		Static: int32(u32(rec, o.static)), Dynamic: int32(u32(rec, o.dynamic)),
	}
	if o.cluster != 0 {
		e.Launch.Cluster = i32x3(rec, o.cluster)
		e.Launch.Has |= event.HasCluster
	}
	if o.maxActiveClusters != 0 {
		e.Launch.MaxActiveClusters = u32(rec, o.maxActiveClusters)
		e.Launch.Has |= event.HasMaxClusters
	}
	if o.queued != 0 {
		e.Queued = u64(rec, o.queued)
		e.Has |= event.HasQueued
	}
	d.graphAndChannel(rec, o.graph, o.graphNode, o.channel, o.channelType)
	return true
}

func (d *Decoder) graphAndChannel(rec []byte, graph, node, channel, channelType uint16) {
	if graph != 0 && node != 0 {
		d.ev.GraphID, d.ev.GraphNodeID = u32(rec, graph), u64(rec, node)
		d.ev.Has |= event.HasGraph
	}
	if channel != 0 && channelType != 0 {
		d.ev.Channel, d.ev.ChannelType = u32(rec, channel), u32(rec, channelType)
		d.ev.Has |= event.HasChannel
	}
}

func (d *Decoder) decodeCopy(rec []byte) bool {
	kind := binary.LittleEndian.Uint32(rec)
	o, e := &d.copies[kind], &d.ev
	e.Correlation = d.epoch.extend(u32(rec, o.correlation))
	if !d.span(u64(rec, o.start), u64(rec, o.end)) {
		return false
	}
	e.Device, e.Context, e.Stream = u32(rec, o.device), u32(rec, o.context), u32(rec, o.stream)
	e.Has = event.HasDevice | event.HasStream
	e.Bytes = u64(rec, o.bytes)
	d.graphAndChannel(rec, o.graph, o.graphNode, o.channel, o.channelType)
	if kind == KindMemset {
		e.Kind = event.Memset
		e.Dst = event.MemoryKind(min(u16(rec, o.memory), 255))
		e.Async = u16(rec, o.flags)&1 != 0
		return true
	}
	e.Kind = event.Memcpy
	e.Copy = event.CopyKind(rec[o.copyKind])
	e.Src, e.Dst = event.MemoryKind(rec[o.srcKind]), event.MemoryKind(rec[o.dstKind])
	e.Async = rec[o.flags]&1 != 0
	if kind == KindMemcpy2 {
		e.Kind = event.MemcpyPeer
		e.SrcDevice, e.SrcContext = u32(rec, o.srcDevice), u32(rec, o.srcContext)
		e.DstDevice, e.DstContext = u32(rec, o.dstDevice), u32(rec, o.dstContext)
	}
	return true
}
