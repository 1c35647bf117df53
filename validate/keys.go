package validate

// arg numbers the arguments that rules look at.
type arg uint8

const (
	aUnknown arg = iota
	aExternal
	aCorrelation
	aDevice
	aContext
	aStream
	aQueued
	aRegs
	aSmem
	aBlocks
	aWarps
	aGrid
	aBlock
	aOcc
	aBytes
	aBandwidth
	aCbid
	aCid
	aKind
	aSeq
	aFwdThread
	aEvIdx
	aSyncKind
	aWaitCorr
	aCollective
	aDtype
	aInNelems
	aOutNelems
	aGroupSize
	aPriority
	aFromDevice
	aToDevice
	aName
	aLabels
	numArgs
)

var argNames = [numArgs]string{
	aExternal: "External id", aCorrelation: "correlation", aDevice: "device", aContext: "context", aStream: "stream",
	aQueued: "queued", aRegs: "registers per thread", aSmem: "shared memory", aBlocks: "blocks per SM", aWarps: "warps per SM",
	aGrid: "grid", aBlock: "block", aOcc: "est. achieved occupancy %", aBytes: "bytes", aBandwidth: "memory bandwidth (GB/s)",
	aCbid: "cbid", aCid: "cid", aKind: "kind", aSeq: "Sequence number", aFwdThread: "Fwd thread id", aEvIdx: "Ev Idx",
	aSyncKind: "cuda_sync_kind", aWaitCorr: "wait_on_cuda_event_record_corr_id", aCollective: "Collective name", aDtype: "dtype",
	aInNelems: "In msg nelems", aOutNelems: "Out msg nelems", aGroupSize: "Group size", aPriority: "priority",
	aFromDevice: "fromDevice", aToDevice: "toDevice", aName: "name", aLabels: "labels",
}

func bit(a arg) uint64 { return 1 << a }

// collectiveArgs are the five arguments of a collective.
const collectiveArgs uint64 = 1<<aCollective | 1<<aDtype | 1<<aInNelems | 1<<aOutNelems | 1<<aGroupSize

// lookupArg finds an argument by its key. The length tells nearly all apart.
func lookupArg(k []byte) arg {
	switch len(k) {
	case 3:
		if string(k) == "cid" {
			return aCid
		}
	case 4:
		switch string(k) {
		case "grid":
			return aGrid
		case "kind":
			return aKind
		case "cbid":
			return aCbid
		case "name":
			return aName
		}
	case 5:
		switch string(k) {
		case "block":
			return aBlock
		case "bytes":
			return aBytes
		case "dtype":
			return aDtype
		}
	case 6:
		switch string(k) {
		case "device":
			return aDevice
		case "stream":
			return aStream
		case "queued":
			return aQueued
		case "Ev Idx":
			return aEvIdx
		case "labels":
			return aLabels
		}
	case 7:
		if string(k) == "context" {
			return aContext
		}
	case 8:
		switch string(k) {
		case "priority":
			return aPriority
		case "toDevice":
			return aToDevice
		}
	case 10:
		switch string(k) {
		case "Group size":
			return aGroupSize
		case "fromDevice":
			return aFromDevice
		}
	case 11:
		switch string(k) {
		case "External id", "external id":
			return aExternal
		case "correlation":
			return aCorrelation
		}
	case 12:
		if string(k) == "warps per SM" {
			return aWarps
		}
	case 13:
		switch string(k) {
		case "shared memory":
			return aSmem
		case "blocks per SM":
			return aBlocks
		case "In msg nelems":
			return aInNelems
		case "Fwd thread id":
			return aFwdThread
		}
	case 14:
		switch string(k) {
		case "Out msg nelems":
			return aOutNelems
		case "cuda_sync_kind":
			return aSyncKind
		}
	case 15:
		switch string(k) {
		case "Sequence number":
			return aSeq
		case "Collective name":
			return aCollective
		}
	case 20:
		if string(k) == "registers per thread" {
			return aRegs
		}
	case 23:
		if string(k) == "memory bandwidth (GB/s)" {
			return aBandwidth
		}
	case 25:
		if string(k) == "est. achieved occupancy %" {
			return aOcc
		}
	case 33:
		if string(k) == "wait_on_cuda_event_record_corr_id" {
			return aWaitCorr
		}
	}
	return aUnknown
}
