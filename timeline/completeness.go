package timeline

// Completeness says what a trace holds of what happened. Every trace carries
// one, and every command that concludes something reads it first. Counts are of
// records unless said otherwise; a count that is not known is absent.
type Completeness struct {
	// Verdict sums up the rest; the writer of a trace sets it with Judge.
	Verdict Verdict `json:"verdict,omitempty"`
	// Tool is the name and version of the recorder; "" where the trace was recorded
	// by others and the record tells only of its repair.
	Tool      string   `json:"tool,omitempty"`
	Tracer    string   `json:"tracer,omitempty"`
	Library   string   `json:"library,omitempty"`
	How       string   `json:"library_found,omitempty"`
	API       uint32   `json:"api_version,omitempty"`
	Layout    string   `json:"layout_check,omitempty"` // "table", "learned", "mismatch"
	Clock     Clock    `json:"clock,omitzero"`
	Requested []string `json:"requested,omitempty"`
	// Received counts the records decoded, by kind; Written the events in this
	// trace, by kind.
	Received map[string]uint64 `json:"received,omitzero"`
	Written  map[string]uint64 `json:"written,omitzero"`
	// Dropped counts records that are not in the trace, by reason.
	Dropped map[string]uint64 `json:"dropped,omitempty"`
	// Skipped counts records of kinds nobody asked for, by the vendor's number.
	Skipped map[string]uint64 `json:"skipped_kinds,omitempty"`
	// Repaired counts events that were mended, by reason.
	Repaired map[string]uint64 `json:"repaired,omitempty"`
	// RepairedBy is the name and version of the tool that mended the written trace,
	// "" if none did. DeviceShifts say what it added to the times of devices.
	RepairedBy   string        `json:"repaired_by,omitempty"`
	DeviceShifts []DeviceShift `json:"device_shifts,omitempty"`
	// Unlinked counts device work without its API call in the trace, by kind.
	Unlinked map[string]uint64 `json:"unlinked,omitempty"`
	// Noted counts what is in the trace and odd, by what it is.
	Noted map[string]uint64 `json:"noted,omitempty"`
	// Operators is the account of the framework's side; nil where nobody looked for
	// one.
	Operators *Operators    `json:"operators,omitempty"`
	Buffers   *BufferCounts `json:"buffers,omitempty"`
	Spool     *SpoolCounts  `json:"spool,omitempty"`
	// Ended says how the recording ended.
	Ended Ending `json:"ended,omitempty"`
	// Flushed says whether the library handed over its last records.
	Flushed *bool `json:"flushed,omitempty"`
	// ExitCode and Signal say how the program ended, where the recorder saw it.
	ExitCode *int   `json:"exit_code,omitempty"`
	Signal   string `json:"signal,omitempty"`
	// Missing names losses of unknown size, each by a short code; what happened
	// stands in Diagnoses.
	Missing []string `json:"missing,omitempty"`
	// Diagnoses are messages for people.
	Diagnoses []string `json:"diagnoses,omitempty"`
	// Cuts are the cuts that the trace went through since it was recorded, the first
	// one first. Counts but Written are those of the recording.
	Cuts []Cut `json:"cuts,omitempty"`
	// Processes holds the records of the processes of a merged trace.
	Processes []ProcessCompleteness `json:"processes,omitempty"`
}

// ProcessCompleteness is the record of one process of a merged trace.
type ProcessCompleteness struct {
	PID   int    `json:"pid,omitempty"`
	Host  string `json:"host,omitempty"`
	Label string `json:"label,omitempty"`
	// Alignment says how the process's times were moved when it was merged; nil
	// where nobody looked.
	Alignment *Alignment `json:"alignment,omitempty"`
	*Completeness
}

// DeviceShift is what was added to the times of a device, so that its work begins
// after the calls that launched it.
type DeviceShift struct {
	Device string `json:"device"` // the pid of its rows
	NS     int64  `json:"shift_ns"`
}

// Repairs that others ask for by name; keys of Completeness.Repaired.
const RepairedAbsoluteTimes = "absolute_times" // times that became relative to a base

// Recorded reports whether this project recorded the trace. If not, the record
// tells of a repair of another producer's trace.
func (c *Completeness) Recorded() bool { return c.Tool != "" || c.RepairedBy == "" }

// Clock says how the tracer's times became nanoseconds since the Unix epoch.
type Clock struct {
	// Source is one of the Clock constants.
	Source    string  `json:"source"`
	NSPerTick float64 `json:"ns_per_tick,omitempty"` // where there were ticks
	// DriftPPM is by how many parts in a million a clock of nanoseconds ran faster than
	// the system's, before that was taken out; nil where it was not looked at.
	DriftPPM *float64 `json:"drift_ppm,omitempty"`
	// UncertaintyNS bounds the error of the mapping where it was fitted, ns.
	UncertaintyNS *float64 `json:"uncertainty_ns,omitempty"`
	// StepNS is the largest step of the wall clock seen while recording, ns.
	StepNS *int64 `json:"realtime_step_ns,omitempty"`
	// HostOffsetNS was added to the host side's times, ns, so that API calls lie
	// inside the operators that their external ids name; where the host side came in
	// several slices, that of the slice with the most such calls. Absent where there
	// were too few to tell; the times are then as they were recorded.
	// HostUncertaintyNS is how much more or less would do as well, ns.
	HostOffsetNS      *int64 `json:"host_offset_ns,omitempty"`
	HostUncertaintyNS *int64 `json:"host_offset_uncertainty_ns,omitempty"`
}

// Sources of a clock.
const (
	ClockRealtime = "realtime" // the tracer's times are CLOCK_REALTIME
	ClockTicks    = "ticks"    // ticks of a known length
	ClockFit      = "fit"      // fitted to the host's operators
	ClockMixed    = "mixed"    // the clock was replaced while recording; each record by its own
	ClockUnknown  = "unknown"  // nobody read the tracer's clock
)

// BufferCounts are the agent's own counts.
type BufferCounts struct {
	Requested      uint64  `json:"requested"`
	Delivered      uint64  `json:"delivered"`
	Discarded      uint64  `json:"discarded"`
	BytesDiscarded uint64  `json:"bytes_discarded"`
	RecordsDropped *uint64 `json:"records_dropped_by_library,omitempty"`
	WriteErrors    uint64  `json:"write_errors"`
	BytesUnwritten uint64  `json:"bytes_unwritten"`
	AgentCPUNS     int64   `json:"agent_cpu_ns,omitempty"`
}

// SpoolCounts say what was read of the spool.
type SpoolCounts struct {
	Bytes     int64  `json:"bytes"`
	Frames    uint64 `json:"frames"`
	BadFrames uint64 `json:"bad_frames"`
	TornBytes int64  `json:"torn_bytes"`
	LostBytes uint64 `json:"undecoded_bytes"`
}

// Ending is how a recording ended.
type Ending string

// Endings.
const (
	EndExit        Ending = "exit"        // the process ended in an orderly way
	EndStop        Ending = "stop"        // the program stopped the recording
	EndCut         Ending = "cut"         // the process, or the data, ended without saying so
	EndUnavailable Ending = "unavailable" // the vendor's library could not be used: nothing was recorded
	EndDump        Ending = "dump"        // a dump of buffers was read to its end
	EndRunning     Ending = "running"     // the process had not ended when its data was read
)

// Verdict says what is known of what is missing.
type Verdict string

// Verdicts.
const (
	Complete   Verdict = "complete"   // nothing inside the window is missing
	Incomplete Verdict = "incomplete" // something is known to be missing
	Unknown    Verdict = "unknown"    // nothing is known to be missing, and nobody can know
)

// Judge sets Verdict from everything else and returns it.
func (c *Completeness) Judge() Verdict {
	orderly := c.Ended == EndExit || c.Ended == EndStop || c.Ended == EndDump
	switch {
	case c.Lost() || c.Ended == EndUnavailable || c.Flushed != nil && !*c.Flushed:
		c.Verdict = Incomplete
	case orderly:
		c.Verdict = Complete
	default:
		c.Verdict = Unknown
	}
	return c.Verdict
}

// Lost reports whether anything that happened inside the window is missing.
func (c *Completeness) Lost() bool {
	if len(c.Missing) > 0 {
		return true
	}
	for reason, n := range c.Dropped {
		if n > 0 && !NotALoss(reason) {
			return true
		}
	}
	if b := c.Buffers; b != nil && (b.Discarded > 0 || b.BytesUnwritten > 0 || b.WriteErrors > 0 ||
		b.RecordsDropped != nil && *b.RecordsDropped > 0) {
		return true
	}
	s := c.Spool
	return s != nil && (s.BadFrames > 0 || s.TornBytes > 0 || s.LostBytes > 0)
}

// DropOtherClock is the reason for leaving out records whose times are in a
// clock that nothing ties to CLOCK_REALTIME. It is a loss.
const DropOtherClock = "other_clock"

// Reasons for leaving a record out that are not losses: nothing that was asked
// for inside the window is missing for them.
const (
	DropOutOfWindow = "out_of_window"
	DropFiltered    = "filtered_api" // calls the level of API recording leaves out
	DropOwnCalls    = "own_calls"    // API calls that the tracer itself made in the traced process
	// external ids of stacks that nobody here pushes
	DropForeignExternal = "foreign_external"
)

// NotALoss reports whether records dropped for this reason were not asked for.
func NotALoss(reason string) bool {
	return reason == DropOutOfWindow || reason == DropFiltered || reason == DropForeignExternal || reason == DropOwnCalls
}
