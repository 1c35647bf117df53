package summary

import "github.com/flagos-ai/flagos-trace/measure"

// Operator is all calls of one operator, or with shapes of one operator with inputs of
// the same shapes.
type Operator struct {
	Name string `json:"name"`
	// Class is set where External ids name something that is no operator: an annotation.
	Class  string `json:"class,omitempty"`
	Shapes string `json:"shapes,omitempty"`
	// Calls counts an operator that is all there is inside one of its name with it.
	Calls     int64 `json:"calls"`
	CPUSelfNS int64 `json:"cpu_self_ns"`
	// CPUTotalNS, as DeviceTotalNS, includes what is inside; where an operator is right
	// inside one of its name, its total is in that one's.
	CPUTotalNS int64 `json:"cpu_total_ns"`
	*Work
}

// Work is the device work of an operator, a module or an annotation: Measures are those
// of its own, DeviceTotalNS is with that of what is inside it. A pointer to it is nil
// where there is no device work at all.
type Work struct {
	measure.Measures
	DeviceTotalNS int64 `json:"device_total_ns"`
}

// What kernels are.
const (
	KindCompute       = "compute"
	KindCommunication = "communication"
	KindCopy          = "copy"
	KindFill          = "fill"
)

// Kernel is all work of a name.
type Kernel struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // one of the Kind constants
	measure.Measures
	MinNS int64 `json:"min_ns"`
	MaxNS int64 `json:"max_ns"`
}

// Scope is all calls of a module, or all spans of an annotation. Measures are those of
// the work that has it as the innermost. One with an empty name has the work outside of
// all, and no calls.
type Scope struct {
	Name       string `json:"name"`
	Calls      int64  `json:"calls"`
	CPUTotalNS int64  `json:"cpu_total_ns"`
	*Work
}

// Step is a step of training or inference in all traces, with the work that was started
// in it. One with an empty name has the work outside of steps.
type Step struct {
	Name string `json:"name"`
	// Spans counts how often it was marked: once a trace.
	Spans      int64 `json:"spans"`
	DurationNS int64 `json:"duration_ns"` // of all spans
	LongestNS  int64 `json:"longest_ns"`
	*StepWork
}

// StepWork is the device work of a step. A pointer to it is nil where there is no device
// work at all.
type StepWork struct {
	// BusyNS is for how long devices of its trace worked while it lasted.
	BusyNS int64 `json:"busy_ns"`
	measure.Measures
}

// Copy is all copies or fills of a kind.
type Copy struct {
	Name string `json:"name"`
	measure.Measures
	// Bytes is the size of those of which it is known, SizedNS how long these took, and
	// Unsized how many others there are.
	Bytes   int64 `json:"bytes"`
	SizedNS int64 `json:"sized_ns"`
	Unsized int64 `json:"without_size"`
	// Bandwidth is bytes a second; nil where no size is known.
	Bandwidth *float64 `json:"bandwidth_bytes_per_s,omitempty"`
}

// Collective is all operations of one kind, type, size and number of ranks.
type Collective struct {
	Name  string `json:"name"`
	Dtype string `json:"dtype,omitempty"`
	// In and Out are elements; nil where the trace does not say.
	In    *int64 `json:"in_elements,omitempty"`
	Out   *int64 `json:"out_elements,omitempty"`
	Ranks int    `json:"group_size,omitempty"`
	Count int64  `json:"count"`
	// DeviceNS is of all, MinNS the shortest: that of the rank that waited least.
	DeviceNS int64 `json:"device_ns"`
	MinNS    int64 `json:"min_ns"`
	// WaitNS is how much of DeviceNS passed before the last rank had begun, nil where
	// the other ranks are not there.
	WaitNS *int64 `json:"waiting_for_peer_ns,omitempty"`
	// Bytes is the size of one, as bandwidths of collectives count it: of the
	// larger of what goes in and what comes out. Nil where the type is not known.
	Bytes *int64 `json:"bytes,omitempty"`
	// AlgorithmBandwidth is bytes over time without the wait, where that is known; Bus
	// is what a link carries for it. Both in bytes a second.
	AlgorithmBandwidth *float64 `json:"algorithm_bandwidth_bytes_per_s,omitempty"`
	BusBandwidth       *float64 `json:"bus_bandwidth_bytes_per_s,omitempty"`
}

// Call is all calls of one function of the vendor's runtime or driver.
type Call struct {
	Name    string `json:"name"`
	Calls   int64  `json:"calls"`
	SelfNS  int64  `json:"cpu_self_ns"`
	TotalNS int64  `json:"cpu_total_ns"`
	MaxNS   int64  `json:"max_ns"`
	// Works is the device work that they started.
	Works int64 `json:"started"`
	// Failed counts those that returned an error.
	Failed int64 `json:"failed,omitempty"`
}

// Gap is a time in which a device had nothing to do.
type Gap struct {
	Trace  string `json:"trace,omitempty"`
	Device string `json:"device"`
	// AtNS is when it began, after the start of the window.
	AtNS int64 `json:"at_ns"`
	NS   int64 `json:"duration_ns"`
	// Idle says what for.
	Idle Idle `json:"idle"`
	// Before and After are the work around it, and the operators that this belongs to.
	Before         string `json:"before"`
	BeforeOperator string `json:"before_operator,omitempty"`
	After          string `json:"after"`
	AfterOperator  string `json:"after_operator,omitempty"`
	// Host is what the thread that ended the gap was doing in the middle of its wait.
	Host string `json:"host,omitempty"`
}
