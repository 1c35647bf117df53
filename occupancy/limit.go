package occupancy

import "strings"

// Limit is a set of the resources that bound the number of resident blocks. The
// bits are those of NVIDIA's calculator.
type Limit uint8

// The resources.
const (
	LimitWarps      Limit = 1 << iota // resident threads of the SM
	LimitRegs                         // registers
	LimitSharedMem                    // shared memory
	LimitBlocks                       // resident blocks of the SM
	LimitBarriers                     // block barriers
	LimitScalarRegs                   // scalar registers, of AMD only; not one of NVIDIA's bits

	limitEnd
)

var limitNames = func() (names [limitEnd]string) {
	for set := range limitEnd {
		var parts []string
		for i, name := range []string{"WARPS", "REGS", "SMEM", "BLOCKS", "BARRIERS", "SGPRS"} {
			if set&(1<<i) != 0 {
				parts = append(parts, name)
			}
		}
		names[set] = strings.Join(parts, "|")
	}
	names[0] = "none"
	return names
}()

// String is the text of limitingFactors in Kineto's occupancy object: the names
// of the resources joined by "|", such as "WARPS|REGS", or "none". It does not
// allocate.
func (l Limit) String() string { return limitNames[l&(limitEnd-1)] }
