package kernels

import (
	"math"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// Facts is a set of what a kernel's arguments say about its launch.
type Facts uint8

// The facts.
const (
	FactGrid Facts = 1 << iota
	FactBlock
	FactRegisters
	FactSharedMem
	FactDevice
	FactLocalMem
	FactCluster
)

// factNames are the arguments' keys, by bit.
var factNames = [...]string{"grid", "block", "registers per thread", "shared memory", "device", "local memory per thread", "cluster"}

// needed are those without which occupancy cannot be calculated.
const needed = FactGrid | FactBlock | FactRegisters | FactSharedMem

// names lists the facts of a set.
func (f Facts) names() string {
	var out []string
	for i, name := range factNames {
		if f&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, ", ")
}

// launch is what tells configurations apart. A fact that is not in known is zero.
type launch struct {
	name                 uint32
	grid, block, cluster [3]int32
	registers, sharedMem int32
	device, localMem     int64
	known, wrong         Facts // wrong: there, and not a value that can be
}

// statedText are the derived figures as the trace has them, part of the event.
type statedText struct {
	blocksPerSM, warpsPerSM, percent, object chrome.Value
}

// args takes the facts out of a kernel's arguments. A key that stands twice has
// its last value, as in JSON parsers.
func (l *launch) args(args chrome.Value, s *statedText) {
	for m := chrome.WalkMembers(args); m.Next(); {
		switch string(m.Key) {
		case "grid":
			l.dims(&l.grid, m.Value, FactGrid)
		case "block":
			l.dims(&l.block, m.Value, FactBlock)
		case "cluster":
			l.dims(&l.cluster, m.Value, FactCluster)
		case "registers per thread":
			// 16 bits in the activity record.
			l.registers = int32(l.integer(m.Value, math.MaxUint16, FactRegisters))
		case "shared memory":
			l.sharedMem = int32(l.integer(m.Value, math.MaxInt32, FactSharedMem))
		case "local memory per thread":
			l.localMem = l.integer(m.Value, math.MaxInt32, FactLocalMem)
		case "device":
			l.device = l.integer(m.Value, math.MaxUint32, FactDevice)
		case "blocks per SM":
			s.blocksPerSM = m.Value
		case "warps per SM":
			s.warpsPerSM = m.Value
		case "est. achieved occupancy %":
			s.percent = m.Value
		case "occupancy":
			s.object = m.Value
		}
	}
}

// note files a fact as known or wrong.
func (l *launch) note(fact Facts, ok bool) {
	l.known &^= fact
	l.wrong &^= fact
	if ok {
		l.known |= fact
	} else {
		l.wrong |= fact
	}
}

func (l *launch) integer(v chrome.Value, most int64, fact Facts) int64 {
	n, ok := v.Int()
	if ok = ok && n >= 0 && n <= most; !ok {
		n = 0
	}
	l.note(fact, ok)
	return n
}

// dims reads exactly three positive integers of 31 bits.
func (l *launch) dims(d *[3]int32, v chrome.Value, fact Facts) {
	n, ok := 0, true
	*d = [3]int32{}
	for e := range chrome.Elements(v) {
		x, isInt := e.Int()
		if n == len(d) || !isInt || x < 1 || x > math.MaxInt32 {
			ok = false
			break
		}
		d[n] = int32(x)
		n++
	}
	if ok = ok && n == len(d); !ok {
		*d = [3]int32{}
	}
	l.note(fact, ok)
}
