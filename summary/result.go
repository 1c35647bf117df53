package summary

import (
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Schema names the form of the JSON. It changes where a key changes its meaning or
// goes away.
const Schema = "flagos-trace.summary/1"

// Summary is what some traces hold, added up. Durations are ns, times ns since the
// Unix epoch, bandwidths bytes a second.
type Summary struct {
	Schema string `json:"schema"`
	// Selected says in words which part of the traces was asked for; "" for all.
	Selected string `json:"selected,omitempty"`
	// Traces are in the order of their ranks, or as they were given.
	Traces []Trace `json:"traces"`
	// Whole adds up the devices of all traces. Nil where there is no device work.
	Whole *Device `json:"whole,omitempty"`
	// Work is the selected device work of all traces. Nil where there is no device work
	// at all.
	Work *measure.Measures `json:"device_work,omitempty"`

	Operators []Operator `json:"operators"`
	// Unlinked is the work that belongs to no operator, by the reason: one of the
	// timeline.Unlinked constants.
	Unlinked map[string]measure.Measures `json:"without_operator"`
	// Kernels are kernels, copies and fills.
	Kernels     []Kernel     `json:"kernels"`
	Modules     []Scope      `json:"modules"`
	Annotations []Scope      `json:"annotations"`
	Steps       []Step       `json:"steps"`
	Copies      []Copy       `json:"copies"`
	Collectives []Collective `json:"collectives"`
	Calls       []Call       `json:"api_calls"`
	// Gaps are the longest in which a device had nothing to do.
	Gaps []Gap `json:"gaps"`
	// Occupancy is nil where nothing could be calculated; Missing says why.
	Occupancy *Occupancy `json:"occupancy,omitempty"`
	// CriticalPath is that of the first trace.
	CriticalPath *CriticalPath `json:"critical_path,omitempty"`
	// Ranks compares the ranks of a job; nil for one.
	Ranks *ranks.Analysis `json:"ranks,omitempty"`
	// RanksUnaligned says why nothing is said about what ranks waited for.
	RanksUnaligned string `json:"ranks_unaligned,omitempty"`
	// Missing says what is not there, and what would have it be.
	Missing []string `json:"missing"`
	// Checks are sums that have to be equal.
	Checks []Check `json:"checks"`

	narrowed bool
}

// Trace is about one trace: of one rank, or of one process.
type Trace struct {
	Name string `json:"name"`
	Rank *int   `json:"rank,omitempty"`
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// Producer, Vendor (of the devices) and Version are absent where they cannot be told.
	Producer string `json:"producer,omitempty"`
	Vendor   string `json:"vendor,omitempty"`
	Version  string `json:"version,omitempty"`
	Events   int    `json:"events"`
	Start    int64  `json:"start_ns"`
	WindowNS int64  `json:"window_ns"`
	// Completeness is nil in a trace that carries no record of what it lacks.
	Completeness *Completeness `json:"completeness,omitempty"`
	// Findings counts what reading found broken or odd, by rule.
	Findings map[string]uint64 `json:"findings,omitempty"`
	Devices  []Device          `json:"devices"`
	// Launches is nil where no API call is known to have started device work.
	Launches *Launches `json:"launches,omitempty"`
	Missing  []string  `json:"missing"`
}

// Completeness is what a trace's own record says of what it lacks.
type Completeness struct {
	Verdict timeline.Verdict `json:"verdict"`
	Tool    string           `json:"tool,omitempty"`
	Ended   timeline.Ending  `json:"ended,omitempty"`
	// Lost says in words what is missing inside the window.
	Lost []string `json:"lost,omitempty"`
	// Cuts says which part of a trace this is.
	Cuts []string `json:"cuts,omitempty"`
}

// Device is a device over the window of its trace; its fields but for Busy and Idle are
// those of all its work. WindowNS is the sum of all fields of Busy and of Idle.
type Device struct {
	Label   string `json:"device,omitempty"`
	Name    string `json:"name,omitempty"`
	Streams int    `json:"streams"`
	measure.Measures
	WindowNS int64  `json:"window_ns"`
	BusyNS   int64  `json:"busy_ns"`
	Busy     Busy   `json:"busy"`
	Idle     Idle   `json:"idle"`
	Queue    *Queue `json:"queue,omitempty"`
}

// Busy divides the time in which a device worked by what kinds of work ran. Copies
// include fills.
type Busy struct {
	ComputeNS int64 `json:"compute_ns"` // nothing else
	// CommunicationNS is what is called exposed.
	CommunicationNS        int64 `json:"communication_ns"`
	CopyNS                 int64 `json:"copy_ns"`
	ComputeCommunicationNS int64 `json:"compute_and_communication_ns"`
	ComputeCopyNS          int64 `json:"compute_and_copy_ns"`
	CommunicationCopyNS    int64 `json:"communication_and_copy_ns"`
	AllNS                  int64 `json:"compute_communication_and_copy_ns"`
	// PeerNS is how much of CommunicationNS passed before the last rank had begun. Nil
	// where that is not known: it takes the traces of the other ranks.
	PeerNS *int64 `json:"communication_waiting_for_peer_ns,omitempty"`
}

// Total is the sum of the fields, ns.
func (b *Busy) Total() int64 {
	return b.ComputeNS + b.CommunicationNS + b.CopyNS + b.ComputeCommunicationNS + b.ComputeCopyNS + b.CommunicationCopyNS + b.AllNS
}

func (b *Busy) add(o *Busy) {
	b.ComputeNS += o.ComputeNS
	b.CommunicationNS += o.CommunicationNS
	b.CopyNS += o.CopyNS
	b.ComputeCommunicationNS += o.ComputeCommunicationNS
	b.ComputeCopyNS += o.ComputeCopyNS
	b.CommunicationCopyNS += o.CommunicationCopyNS
	b.AllNS += o.AllNS
	if o.PeerNS != nil {
		sum := *o.PeerNS
		if b.PeerNS != nil {
			sum += *b.PeerNS
		}
		b.PeerNS = &sum
	}
}

// Idle divides the time in which a device had nothing to do. See the package comment.
type Idle struct {
	StartNS   int64 `json:"at_start_ns"`
	HostNS    int64 `json:"waiting_for_host_ns"`
	LaunchNS  int64 `json:"in_launch_ns"`
	StreamNS  int64 `json:"waiting_for_other_stream_ns"`
	QueueNS   int64 `json:"between_queued_work_ns"`
	UnknownNS int64 `json:"unknown_ns"` // no API call is known
	EndNS     int64 `json:"at_end_ns"`
}

// Total is the sum of the fields, ns.
func (i *Idle) Total() int64 {
	return i.StartNS + i.HostNS + i.LaunchNS + i.StreamNS + i.QueueNS + i.UnknownNS + i.EndNS
}

func (i *Idle) add(o *Idle) {
	i.StartNS += o.StartNS
	i.HostNS += o.HostNS
	i.LaunchNS += o.LaunchNS
	i.StreamNS += o.StreamNS
	i.QueueNS += o.QueueNS
	i.UnknownNS += o.UnknownNS
	i.EndNS += o.EndNS
}

// LaunchBound is the share of the time between a device's first work and the end of its
// last in which it waited for the host or a launch; ok is false where that time is 0 or
// no API call is known.
func (d *Device) LaunchBound() (share float64, ok bool) {
	span := d.WindowNS - d.Idle.StartNS - d.Idle.EndNS
	if span <= 0 || d.Launches == 0 {
		return 0, false
	}
	return float64(d.Idle.HostNS+d.Idle.LaunchNS) / float64(span), true
}

// Queue is how many launches had been called and not begun: over the time from the
// first such call to the last beginning.
type Queue struct {
	// DepthNS is the number times for how long, added up; over NS it is the mean.
	DepthNS int64 `json:"depth_ns"`
	NS      int64 `json:"ns"`
	Max     int64 `json:"max"`
}

// Mean is the mean depth.
func (q *Queue) Mean() float64 { return float64(q.DepthNS) / float64(max(q.NS, 1)) }

// Launches is about the calls that started device work: the time from the beginning of
// a call to that of its first work.
type Launches struct {
	Calls    int64 `json:"calls"`
	MeanNS   int64 `json:"mean_ns"`
	MedianNS int64 `json:"median_ns"`
	P99NS    int64 `json:"p99_ns"`
	MaxNS    int64 `json:"max_ns"`
	// Early counts calls whose work seems to have begun before them. They are in no
	// other figure.
	Early int64 `json:"began_before_call"`
	// Unknown counts the work of which the call is not in the trace.
	Unknown int64 `json:"work_without_call"`
}

// Check is a sum and what it has to be equal to, ns.
type Check struct {
	Of      string `json:"of"`
	SumNS   int64  `json:"sum_ns"`
	TotalNS int64  `json:"total_ns"`
}

// OK reports whether the sum is right.
func (c *Check) OK() bool { return c.SumNS == c.TotalNS }
