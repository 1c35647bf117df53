package record

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// Exit statuses of the recorder. The program's own status is passed on as it
// is, 128+n where signal n killed it.
const (
	ExitFailure     = 125 // the recorder itself failed
	ExitNotRunnable = 126 // the program was found and could not be executed
	ExitNotFound    = 127 // there is no such program
)

// Errors of Run, to be told apart with errors.Is.
var (
	// ErrNoCommand means that Options.Command is empty.
	ErrNoCommand = errors.New("no command to record")
	// ErrNoAgent means that the shared library to inject was not found.
	ErrNoAgent = errors.New("the agent library was not found")
	// ErrInjectionTaken means that another tool holds the injection slot.
	ErrInjectionTaken = errors.New("another tool is injected already")
	// ErrExists means that a file would be overwritten and must not be.
	ErrExists = errors.New("the output exists already")
	// ErrInterrupted means that a signal ended the recorder after the program.
	ErrInterrupted = errors.New("interrupted while the trace was written")
)

// Options says what to record and how. Command and Output are required.
type Options struct {
	Command []string // the program and its arguments
	// Output is where the trace of the program goes; those of other processes
	// have their pid before ".json", those of ranks "_rank0". Compressed if it ends
	// in ".gz".
	Output string
	API    tracer.APILevel // "" is Kineto's
	Sync   bool            // record waits and device events
	NVTX   bool            // record ranges and marks of NVTX
	// Vendor names whose devices the program uses; "" and "auto" are those that the
	// machine has. The error of Run is ErrVendor if there is no tracer for it.
	Vendor string
	// Preload has the vendor's profiling library preloaded into the program, for what
	// that can record only then. The error of Run is ErrPreload if that cannot be.
	Preload bool
	// RuntimeCategory is the category of the runtime's calls in the trace; "" is
	// cuda_runtime for NVIDIA's and privateuse1_runtime for all others. The error of Run
	// is ErrCategory if it is none of RuntimeCategories.
	RuntimeCategory string
	Chain           bool   // pass an injected library of another tool on to the agent
	Compat          bool   // write only what Kineto itself would write
	KeepSpool       bool   // keep the spool folder
	SpoolDir        string // where to make the spool folder; "" is beside Output
	NoClobber       bool   // fail rather than overwrite a trace
	Merge           bool   // write one trace of all processes, where memory allows it
	Limits
	Host HostOptions
	// KillAfter is how long after a request to end (SIGTERM or SIGINT) the program
	// is killed if it still runs; 0 is never.
	KillAfter time.Duration
	// SummaryFile is where the summary goes as JSON, "" for nowhere.
	SummaryFile string
	// JSON writes the summary to Log as JSON, in one line, instead of text.
	JSON bool

	Env []string // the program's environment; nil is the recorder's own
	// Stdin, Stdout and Stderr are the program's; nil is the recorder's own.
	Stdin, Stdout, Stderr *os.File
	// Log is where the recorder speaks; nil is silence.
	Log io.Writer
	// Width is the number of columns to fit the summary into; 0 is 100.
	Width int
	// Progress is a terminal on which to show how the recording stands while the
	// program runs; nil for nothing of the kind.
	Progress *os.File
}

// Result is what became of a recording.
type Result struct {
	// ExitCode is the status the recorder should exit with.
	ExitCode int
	Summary  Summary
	// SpoolDir is the spool folder if it was kept, "" if it is gone.
	SpoolDir string
	// Concluded: the summary was written to Log as JSON, with all that failed.
	Concluded bool
}
