package kernels

import "github.com/flagos-ai/flagos-trace/occupancy"

// Report is what a trace says about the occupancy of its kernels.
type Report struct {
	// Verdict is that of the trace's completeness record, "" without one.
	Verdict string
	// Devices are those that kernels ran on, in the order of the trace.
	Devices []*Device
	// Configurations are those that Options.Kernel selects: those with figures
	// first, by time lost.
	Configurations []Configuration
	// Kernels counts all kernels, Calculable those of them with figures, whatever
	// is selected. Distinct is the number of their configurations.
	Kernels, Calculable Count
	Distinct            int
	// Lost is the sum of all configurations' Figures.Lost, ns.
	Lost int64
	// Agreement counts configurations by how what they state compares.
	Agreement [agreements]int
	// Beyond counts kernels that are in no configuration because there were too
	// many, Untimed those without a length, OtherPhases the kernels that are not
	// complete events, BadDevices the entries of deviceProperties without an id.
	Beyond      Count
	Untimed     uint64
	OtherPhases uint64
	BadDevices  int
}

// Count is a number of kernels and the sum of their times in ns.
type Count struct {
	Calls uint64
	Time  int64
}

func (c *Count) add(ns int64) {
	c.Calls++
	c.Time = saturate(c.Time, ns)
}

// Configuration is one launch configuration of one kernel on one device, and what
// its launches have in common. A fact that is not in Known is zero.
type Configuration struct {
	Name                 string
	Grid, Block, Cluster [3]int32
	Registers            int32 // of a thread
	SharedMem            int32 // bytes of a block, static and dynamic
	LocalMem             int64 // bytes of a thread
	Device               int64 // ordinal
	Known                Facts

	Count
	Untimed uint64 // of the calls, those without a length

	// Stated is what the trace says; StatedDiffers that not all calls say the same.
	Stated        Stated
	StatedDiffers bool
	Agreement     Agreement

	// Figures are nil where nothing could be calculated; Reason then says why.
	Figures *Figures
	Reason  string
	// Kineto holds what Kineto's arithmetic gives; nil where the facts or the
	// device's properties do not do for it.
	Kineto *KinetoFigures
	// BelowSMs: the grid has fewer blocks than the device has SMs (or compute
	// units), so some have nothing to do. It needs no figures.
	BelowSMs bool

	wrong   Facts
	dev     *Device
	foreign bool // not a device of NVIDIA
}

// DeviceName is the name of the configuration's device, "" if it is not known.
func (c *Configuration) DeviceName() string {
	if c.dev == nil {
		return ""
	}
	return c.dev.Name
}

// clusterUnknown reports whether the kernel may be launched in clusters, which came
// with compute capability 9.0, without the trace saying so.
func (c *Configuration) clusterUnknown() bool {
	return c.dev != nil && c.dev.Properties.ComputeMajor >= 9 && c.Known&FactCluster == 0
}

// Stated are the derived figures of a trace, as they stand there but for quotes;
// "" where there is none.
type Stated struct {
	BlocksPerSM, WarpsPerSM, Percent string
	object                           []byte // Kineto's "occupancy", raw
}

// Figures are what a launch configuration lets a device do, in the correct
// numbers.
type Figures struct {
	occupancy.Result
	Blocks int64 // of the grid
	// BlocksPerSM and WarpsPerSM are those of the grid over the SMs, and Achieved
	// the share of the SMs' threads, by Kineto's definitions.
	BlocksPerSM, WarpsPerSM, Achieved float32
	// Waves is the grid over what the device holds at once. Places is what it holds.
	Waves  float64
	Places int64
	// LastWave is how full the last wave is, above 0 to 1.
	LastWave float64
	// Tail is the share of the time lost by the last of several waves not being
	// full: (1 - LastWave) / ceil(Waves). 0 for a single wave.
	Tail float64
	// GridTooSmall: there are fewer blocks than the device holds at once; Unfilled
	// is the share of its places that stay empty, else 0.
	GridTooSmall bool
	Unfilled     float64
	// Resident is the estimated share of the SMs' places for warps that are taken,
	// on average over the kernel's time. Lost is the time times the rest, ns.
	Resident float64
	Lost     int64
}

// KinetoFigures are the figures by Kineto's arithmetic.
type KinetoFigures struct {
	BlocksPerSM, WarpsPerSM float32
	Achieved                float32 // occupancy.Failed where the calculation fails
}

// Agreement says which arithmetic the figures that a trace states follow.
type Agreement uint8

// The agreements.
const (
	StatesNothing Agreement = iota // or nothing to hold it against
	AgreesBoth                     // Kineto's and the correct one, which are equal then
	AgreesKineto                   // Kineto's alone
	AgreesCorrect                  // the correct one alone
	Disagrees                      // neither, or not all calls say the same

	agreements
)

var agreementNames = [agreements]string{"", "both", "kineto", "correct", "neither"}

// String is "both", "kineto", "correct", "neither", or "" for StatesNothing.
func (a Agreement) String() string { return agreementNames[min(a, agreements-1)] }
