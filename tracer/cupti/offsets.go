package cupti

import "fmt"

// The offset structs below say where a revision's fields stand. Offset 0, which
// is the record's kind, stands for "this revision has no such field".

type kernelOffsets struct {
	registers, start, end, device, context, stream  uint16
	grid, block, static, dynamic, correlation, name uint16
	queued, graphNode, graph, channel, channelType  uint16
	cluster, maxActiveClusters                      uint16
}

type copyOffsets struct {
	copyKind, srcKind, dstKind, flags, bytes, start, end uint16
	device, context, stream, correlation                 uint16
	graphNode, graph, channel, channelType               uint16
	srcDevice, srcContext, dstDevice, dstContext, memory uint16
}

type apiOffsets struct {
	cbid, start, end, process, thread, correlation, returned uint16
}

type externalOffsets struct {
	externalKind, externalID, correlation uint16
}

type syncOffsets struct {
	syncType, start, end, correlation, context, stream, eventID, syncID uint16
}

type cudaEventOffsets struct {
	correlation, context, stream, eventID, device, syncID uint16
}

type contextOffsets struct{ context, device uint16 }

type markerOffsets struct {
	flags, timestamp, id, objectKind, object, name, domain uint16
}

type overheadOffsets struct {
	overheadKind, start, end, correlation uint16
}

// lookup resolves field names of one revision and remembers what was missing.
type lookup struct {
	fields map[string]span
	err    error
}

// need returns the offset of a field every revision must have.
func (l *lookup) need(name string, size uint16) uint16 {
	s, ok := l.fields[name]
	if !ok || s.size != size {
		l.err = fmt.Errorf("cupti: the layout table has no %d-byte field %q", size, name)
	}
	return s.offset
}

// maybe returns the offset of a field that only some revisions have.
func (l *lookup) maybe(name string, size uint16) uint16 {
	if s, ok := l.fields[name]; ok && s.size == size {
		return s.offset
	}
	return 0
}

func newKernelOffsets(f map[string]span) (o kernelOffsets, err error) {
	l := lookup{fields: f}
	o = kernelOffsets{
		registers: l.need("registersPerThread", 2), start: l.need("start", 8), end: l.need("end", 8),
		device: l.need("deviceId", 4), context: l.need("contextId", 4), stream: l.need("streamId", 4),
		grid: l.need("gridX", 4), block: l.need("blockX", 4),
		static: l.need("staticSharedMemory", 4), dynamic: l.need("dynamicSharedMemory", 4),
		correlation: l.need("correlationId", 4), name: l.need("name", 8), queued: l.maybe("queued", 8),
		graphNode: l.maybe("graphNodeId", 8), graph: l.maybe("graphId", 4),
		channel: l.maybe("channelID", 4), channelType: l.maybe("channelType", 4),
		cluster: l.maybe("clusterX", 4), maxActiveClusters: l.maybe("maxActiveClusters", 4),
	}
	return o, l.err
}

func newCopyOffsets(f map[string]span, kind uint32) (o copyOffsets, err error) {
	l := lookup{fields: f}
	o = copyOffsets{
		bytes: l.need("bytes", 8), start: l.need("start", 8), end: l.need("end", 8),
		device: l.need("deviceId", 4), context: l.need("contextId", 4), stream: l.need("streamId", 4),
		correlation: l.need("correlationId", 4),
		graphNode:   l.maybe("graphNodeId", 8), graph: l.maybe("graphId", 4),
		channel: l.maybe("channelID", 4), channelType: l.maybe("channelType", 4),
	}
	if kind == KindMemset {
		o.flags, o.memory = l.need("flags", 2), l.need("memoryKind", 2)
	} else {
		o.copyKind, o.flags = l.need("copyKind", 1), l.need("flags", 1)
		o.srcKind, o.dstKind = l.need("srcKind", 1), l.need("dstKind", 1)
	}
	if kind == KindMemcpy2 {
		o.srcDevice, o.srcContext = l.need("srcDeviceId", 4), l.need("srcContextId", 4)
		o.dstDevice, o.dstContext = l.need("dstDeviceId", 4), l.need("dstContextId", 4)
	}
	return o, l.err
}

func newAPIOffsets(f map[string]span) (o apiOffsets, err error) {
	l := lookup{fields: f}
	o = apiOffsets{
		cbid: l.need("cbid", 4), start: l.need("start", 8), end: l.need("end", 8),
		process: l.need("processId", 4), thread: l.need("threadId", 4),
		correlation: l.need("correlationId", 4), returned: l.need("returnValue", 4),
	}
	return o, l.err
}

func newExternalOffsets(f map[string]span) (o externalOffsets, err error) {
	l := lookup{fields: f}
	o = externalOffsets{
		externalKind: l.need("externalKind", 4), externalID: l.need("externalId", 8),
		correlation: l.need("correlationId", 4),
	}
	return o, l.err
}

func newSyncOffsets(f map[string]span) (o syncOffsets, err error) {
	l := lookup{fields: f}
	o = syncOffsets{
		syncType: l.need("type", 4), start: l.need("start", 8), end: l.need("end", 8),
		correlation: l.need("correlationId", 4), context: l.need("contextId", 4),
		stream: l.need("streamId", 4), eventID: l.need("cudaEventId", 4), syncID: l.maybe("cudaEventSyncId", 8),
	}
	return o, l.err
}

func newCudaEventOffsets(f map[string]span) (o cudaEventOffsets, err error) {
	l := lookup{fields: f}
	o = cudaEventOffsets{
		correlation: l.need("correlationId", 4), context: l.need("contextId", 4),
		stream: l.need("streamId", 4), eventID: l.need("eventId", 4),
		device: l.maybe("deviceId", 4), syncID: l.maybe("cudaEventSyncId", 8),
	}
	return o, l.err
}

func newContextOffsets(f map[string]span) (o contextOffsets, err error) {
	l := lookup{fields: f}
	o = contextOffsets{context: l.need("contextId", 4), device: l.need("deviceId", 4)}
	return o, l.err
}

func newMarkerOffsets(f map[string]span) (o markerOffsets, err error) {
	l := lookup{fields: f}
	o = markerOffsets{
		flags: l.need("flags", 4), timestamp: l.need("timestamp", 8), id: l.need("id", 4),
		objectKind: l.need("objectKind", 4), object: l.need("objectId", 12),
		name: l.need("name", 8), domain: l.need("domain", 8),
	}
	return o, l.err
}

func newOverheadOffsets(f map[string]span) (o overheadOffsets, err error) {
	l := lookup{fields: f}
	o = overheadOffsets{
		overheadKind: l.need("overheadKind", 4), start: l.need("start", 8), end: l.need("end", 8),
		correlation: l.maybe("correlationId", 4),
	}
	return o, l.err
}
