package ascend

// Name is the tracer's name in spools and completeness records.
const Name = "ascend"

// Activity kinds. Source: msptiActivityKind, Ascend/mspti.
const (
	KindMarker              = 1
	KindKernel              = 2
	KindAPI                 = 3
	KindHCCL                = 4
	KindMemory              = 5
	KindMemset              = 6
	KindMemcpy              = 7
	KindExternalCorrelation = 8
	KindCommunication       = 9
	KindACLAPI              = 10
	KindNodeAPI             = 11
	KindRuntimeAPI          = 12

	numKinds = 13
)

// layout is where the fields of a kind's records stand, in bytes. Offset 0, which is
// the kind's, stands for "no such field". Measured by compiling Ascend/mspti's header;
// records are packed and their size rounded up to 8.
type layout struct {
	bytes                      uint32
	start, end                 uint16 // 8 bytes each
	device, stream             uint16 // 4
	correlation                uint16 // 8
	name, name2, name3         uint16 // pointers: name; type, domain or communicator; algorithm
	pid, tid                   uint16 // 4
	value, count               uint16 // flags, direction, data type or value, 4; bytes, elements or id, 8
	source, bandwidth, isAsync uint16 // 4, 8, 1
}

var layouts = [numKinds]layout{
	KindMarker:              {bytes: 56, value: 4, source: 8, start: 12, count: 20, pid: 28, tid: 32, name: 36, name2: 44},
	KindKernel:              {bytes: 56, start: 4, end: 12, device: 20, stream: 24, correlation: 28, name2: 36, name: 44},
	KindAPI:                 apiLayout,
	KindHCCL:                {bytes: 56, start: 4, end: 12, device: 20, stream: 24, bandwidth: 28, name: 36, name2: 44},
	KindMemory:              {bytes: 64},
	KindMemset:              {bytes: 56, value: 4, count: 8, start: 16, end: 24, device: 32, stream: 36, correlation: 40, isAsync: 48},
	KindMemcpy:              {bytes: 56, value: 4, count: 8, start: 16, end: 24, device: 32, stream: 36, correlation: 40, isAsync: 48},
	KindExternalCorrelation: {bytes: 24, value: 4, count: 8, correlation: 16},
	KindCommunication: {bytes: 72, value: 4, count: 8, device: 16, stream: 20, start: 24, end: 32, name3: 40, name: 48, name2: 56,
		correlation: 64},
	KindACLAPI:     apiLayout,
	KindNodeAPI:    apiLayout,
	KindRuntimeAPI: apiLayout,
}

var apiLayout = layout{bytes: 48, start: 4, end: 12, pid: 20, tid: 24, correlation: 28, name: 36}

// Size returns the bytes of a kind's records; ok is false for a kind that is not in
// the table.
func Size(kind uint32) (bytes uint32, ok bool) {
	if kind == 0 || kind >= numKinds {
		return 0, false
	}
	return layouts[kind].bytes, true
}

// NameOffsets returns where in a kind's records pointers to strings stand; 0 is none.
func NameOffsets(kind uint32) [3]int {
	if kind >= numKinds {
		return [3]int{}
	}
	l := &layouts[kind]
	return [3]int{int(l.name), int(l.name2), int(l.name3)}
}
