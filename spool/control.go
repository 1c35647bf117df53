package spool

import "fmt"

// The agent of a traced process listens on a socket in the spool folder. A
// connection carries one request and one reply, each a line of JSON.

// SocketExt is behind the base name of a spool in the name of the socket.
const SocketExt = ".sock"

// Sizes of the two lines, in bytes, the newline included. A longer one is
// refused before it is read.
const (
	MaxRequest = 4 << 10
	MaxReply   = 64 << 10
)

// SocketName is the name of the socket of a process: start is its start time in
// the unit of /proc/<pid>/stat.
func SocketName(pid int, start string) string { return fmt.Sprintf("%d.%s%s", pid, start, SocketExt) }

// Commands of a Request.
const (
	CommandStart    = "start"    // arm, open a window
	CommandStop     = "stop"     // fetch all records, close the window, disarm
	CommandStatus   = "status"   // only tell
	CommandSnapshot = "snapshot" // put what is finished into the spool
)

// Request asks the agent for something.
type Request struct {
	Command string `json:"command"`
}

// States of a Reply.
const (
	StateRecording = "recording"
	StatePaused    = "paused" // before the first start, and after a stop
	StateFailed    = "failed" // no tracer could be armed, or the agent failed
	StateEnding    = "ending" // the process is in its exit handlers
)

// Codes of a Reply that is not OK.
const (
	CodeInvalid     = "invalid"     // the request was not understood
	CodeInactive    = "inactive"    // nothing is recorded in the process
	CodeUnavailable = "unavailable" // no tracer could be armed
	CodeFailed      = "failed"      // the vendor's library refused, or the disk is full
	CodeTimeout     = "timeout"     // not done in time; it may still be
	CodeBusy        = "busy"        // another command is under way
)

// Reply says what came of a request, and how the recording stands.
type Reply struct {
	OK     bool   `json:"ok"`
	Code   string `json:"code,omitempty"` // why not OK
	Text   string `json:"text,omitempty"` // the same for people
	PID    int    `json:"pid"`
	State  string `json:"state,omitempty"`
	Armed  bool   `json:"armed"`   // kinds of activities are enabled in the vendor's library
	Window uint64 `json:"windows"` // opened so far, by request
	// Spool is the path of the spool, Size its bytes that hold whole frames. After
	// a snapshot all that was finished before lies below Size.
	Spool    string    `json:"spool,omitempty"`
	Size     int64     `json:"spool_bytes"`
	Counters *Counters `json:"counters,omitempty"`
}
