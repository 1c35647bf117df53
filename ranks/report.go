package ranks

import "github.com/flagos-ai/flagos-trace/timeline"

// Analysis says what ranks waited for. Durations are ns; times are ns since the Unix
// epoch by the first rank's clock.
type Analysis struct {
	Ranks []RankReport `json:"ranks"`
	// Steps are in the order of their numbers; empty where no rank marked any.
	Steps []StepReport `json:"steps"`
	// Kinds sum operations of one kind, size and number of ranks; those that took
	// most of all ranks' time come first.
	Kinds []KindReport `json:"kinds"`
	// Operations are all that at least two ranks have, in the order of time.
	Operations []OperationReport `json:"operations"`
	// Imbalance is by how much the rank that computed most did more than the mean,
	// as a share of that; absent for one rank, or where nothing computed. Where ranks
	// communicate, traces that do not are not counted, nor are second traces of a rank.
	Imbalance *float64 `json:"compute_imbalance,omitempty"`
	Busiest   string   `json:"busiest,omitempty"`
	// Contradictions counts the operations of which a side still ends before another
	// begins, by more than the uncertainty of both clocks.
	Contradictions int `json:"contradictions"`
}

// RankReport is about one rank.
type RankReport struct {
	Rank *int   `json:"rank,omitempty"`
	Name string `json:"name"`
	File string `json:"file,omitempty"`
	Host string `json:"host,omitempty"`
	PID  int    `json:"pid,omitempty"`
	// SecondOf is the file of an earlier trace that says that it is of the same rank.
	// The rank's steps and operations are those of that one.
	SecondOf string              `json:"second_trace_of,omitempty"`
	Clock    *timeline.Alignment `json:"clock,omitempty"`
	// Compute is how long a kernel ran that does not communicate; Communicate how
	// long one that does; Exposed how long of that no other ran.
	Compute     int64 `json:"compute_ns"`
	Communicate int64 `json:"communication_ns"`
	Exposed     int64 `json:"exposed_communication_ns"`
	// Wait and Transfer split the matched operations: until the last rank had begun,
	// and from there on.
	Wait     int64 `json:"wait_ns"`
	Transfer int64 `json:"transfer_ns"`
	// Operations, Matched and Last count its operations, those that another rank has
	// too, and those of these that it was the last to begin. Unnamed counts kernels
	// of communication of which the trace does not say what they do.
	Operations int `json:"operations"`
	Matched    int `json:"matched"`
	Last       int `json:"last_to_begin"`
	Unnamed    int `json:"unnamed,omitempty"`
	// Ended and Signal are what the recording says of the process's end.
	Ended  timeline.Ending `json:"ended,omitempty"`
	Signal string          `json:"signal,omitempty"`
	// Died: the process was killed, or its record ends without saying so.
	Died bool `json:"died,omitempty"`
	// LastSeen is the end of its last event. Missed counts the operations of its
	// groups, but for sends and receives, that began after that.
	LastSeen int64 `json:"last_seen_ns"`
	Missed   int   `json:"missed_operations,omitempty"`
}

// StepReport is about one step of training over all ranks that marked it.
type StepReport struct {
	Number int64 `json:"step"`
	Ranks  int   `json:"ranks"`
	// Slowest is the rank whose own time, its duration without its waits for others,
	// was the longest.
	Slowest  string `json:"slowest"`
	Own      int64  `json:"own_ns"`
	MeanOwn  int64  `json:"mean_own_ns"`
	Duration int64  `json:"longest_ns"`
	Wait     int64  `json:"wait_ns"` // of all ranks
}

// KindReport sums the operations of a kind.
type KindReport struct {
	Name  string `json:"name"`
	Dtype string `json:"dtype,omitempty"`
	In    *int64 `json:"in_elements,omitempty"`
	Out   *int64 `json:"out_elements,omitempty"`
	Size  int    `json:"group_size,omitempty"`
	Count int    `json:"count"`
	// Wait and Transfer are of all ranks together, MaxWait of one rank in one
	// operation.
	Wait     int64 `json:"wait_ns"`
	Transfer int64 `json:"transfer_ns"`
	MaxWait  int64 `json:"max_wait_ns"`
	// Last is the rank that began last most often, and LastCount how often.
	Last      string `json:"most_often_last"`
	LastCount int    `json:"most_often_last_count"`
}

// OperationReport is about one operation.
type OperationReport struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	Dtype string `json:"dtype,omitempty"`
	Size  int    `json:"group_size,omitempty"`
	// Ranks is how many of the group are here; where some are not, waits are at least
	// as long as said.
	Ranks int   `json:"ranks"`
	Start int64 `json:"first_begins_ns"`
	Begun int64 `json:"last_begins_ns"`
	End   int64 `json:"last_ends_ns"`
	// First and Last are the ranks that began first and last; Wait is of all ranks
	// together, MaxWait of one.
	First    string `json:"first"`
	Last     string `json:"last"`
	Wait     int64  `json:"wait_ns"`
	MaxWait  int64  `json:"max_wait_ns"`
	Transfer int64  `json:"transfer_ns"`
}
