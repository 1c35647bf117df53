package timeline

// Operators says what a trace holds of the framework's side, and how its API
// calls and device work were joined with it. A call is linked where the
// operator that made it is known.
type Operators struct {
	// Reason is why there are no operators, as one of the Reason constants or a
	// code of the host side; "" where there are some.
	Reason string `json:"reason,omitempty"`
	// Seen counts the operators in the trace.
	Seen uint64 `json:"seen"`
	// Framework and Python are versions; absent where they are not known.
	Framework string `json:"framework,omitempty"`
	Python    string `json:"python,omitempty"`
	// Slices counts the parts the host side was recorded in and could be read,
	// LostSlices those that could not, ProgramSlices those of Slices that the
	// program's own profiler recorded.
	Slices        uint64 `json:"slices,omitempty"`
	LostSlices    uint64 `json:"lost_slices,omitempty"`
	ProgramSlices uint64 `json:"program_slices,omitempty"`
	// Steps counts the whole steps between the marks of the host side.
	Steps uint64 `json:"steps,omitempty"`
	// LinkedByID counts the API calls linked by an external id that was pushed
	// when they were made, LinkedByTime those linked by the innermost operator of
	// their thread. Where there was both, they Agreed or Disagreed; then the id
	// counts.
	LinkedByID   uint64 `json:"linked_by_id"`
	LinkedByTime uint64 `json:"linked_by_time"`
	Agreed       uint64 `json:"agreed"`
	Disagreed    uint64 `json:"disagreed"`
	// DeviceLinked counts the device work with an External id.
	DeviceLinked uint64 `json:"device_linked"`
	// CallsUnlinked and DeviceUnlinked count the rest by one of the Unlinked
	// constants.
	CallsUnlinked  map[string]uint64 `json:"calls_unlinked,omitempty"`
	DeviceUnlinked map[string]uint64 `json:"device_unlinked,omitempty"`
	// Noted counts what is odd about the host side, by what it is.
	Noted map[string]uint64 `json:"noted,omitempty"`
}

// Reasons for a trace without operators.
const (
	ReasonNotAsked    = "not_asked"       // recorded without the host side
	ReasonNotPython   = "not_python"      // no Python process
	ReasonNoBootstrap = "no_bootstrap"    // Python, but nothing of ours ran in it, or no torch
	ReasonNotUsed     = "device_not_used" // torch, but no session was opened: the device, or a window, came never
	ReasonLost        = "slices_lost"     // sessions were opened, and nothing of them could be read
	ReasonEmpty       = "no_operators"    // sessions were read and held no operator
)

// Reasons for an API call or device work without an operator.
const (
	UnlinkedNoHost         = "no_host"            // there is no host side at all
	UnlinkedBeforeHost     = "before_host"        // before the first session of the host side
	UnlinkedAfterHost      = "after_host"         // after the last one
	UnlinkedBetweenSlices  = "between_slices"     // between two sessions
	UnlinkedLostSlice      = "lost_slice"         // in a session that could not be read
	UnlinkedRemovedSlice   = "slice_removed"      // in a session whose slice was removed to keep a limit
	UnlinkedProgramSession = "program_session"    // in a session of the program's own profiler that left no operators
	UnlinkedNoOperator     = "no_operator"        // in a session and outside every operator of its thread
	UnlinkedOtherThread    = "thread_not_seen"    // in a session, on a thread of which it saw nothing
	UnlinkedUnnamed        = "operator_has_no_id" // in an operator without an External id
	UnlinkedNoCall         = "no_api_call"        // device work whose API call is not in the trace
)
