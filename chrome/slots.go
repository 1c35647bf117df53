package chrome

// The arguments that the reader understands. Each has a slot, whatever its key.
const (
	slotExternal = iota
	slotCorrelation
	slotDevice
	slotContext
	slotStream
	slotBytes
	slotGrid
	slotBlock
	slotRegisters
	slotShared
	slotQueued
	slotPriority
	slotGraph
	slotGraphNode
	slotChannel
	slotChannelType
	slotCallbackID
	slotReturn
	slotSrcDevice
	slotDstDevice
	slotSrcContext
	slotDstContext
	slotInDevice
	slotInContext
	slotSyncKind
	slotWaitStream
	slotWaitCorrelation
	slotWaitEvent
	slotFinished
	slotCollective
	slotTimedBy
	numSlots
)

// maxMarks is the number of keys that only tell the producer.
const maxMarks = 64 - numSlots

// slotNames are the names of the slots in a rules file.
var slotNames = [numSlots]string{
	"external", "correlation", "device", "context", "stream", "bytes", "grid", "block", "registers", "shared",
	"queued", "priority", "graph", "graph node", "channel", "channel type", "callback id", "return value",
	"source device", "target device", "source context", "target context", "running device", "running context",
	"sync kind", "wait stream", "wait correlation", "wait event", "finished", "collective", "timed by",
}

// argTable finds the slot of a key. Most keys of most events have none, and that
// is known after one look.
type argTable struct {
	buckets [256][]argKey
}

type argKey struct {
	key  string
	slot uint8
}

func argHash[T string | []byte](k T) uint8 {
	if len(k) == 0 {
		return 0
	}
	return uint8(len(k)*37) ^ k[0] ^ k[len(k)-1]<<2 ^ k[len(k)/2]<<4
}

// add gives a key a slot; a later word on the same key replaces the former.
func (a *argTable) add(key string, slot uint8) {
	b := &a.buckets[argHash(key)]
	for i := range *b {
		if (*b)[i].key == key {
			(*b)[i].slot = slot
			return
		}
	}
	*b = append(*b, argKey{key, slot})
}

// slot returns the slot of a key, -1 if it has none.
func (a *argTable) slot(key []byte) int {
	for i := range a.buckets[argHash(key)] {
		k := &a.buckets[argHash(key)][i]
		if k.key == string(key) {
			return int(k.slot)
		}
	}
	return -1
}

func (a *argTable) clone() (c argTable) {
	for i := range a.buckets {
		c.buckets[i] = append([]argKey(nil), a.buckets[i]...)
	}
	return c
}
