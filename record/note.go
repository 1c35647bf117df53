package record

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/version"
)

// noteName is the file in the spool folder that says whose recording it is.
const noteName = "recording.json"

// maxNote bounds what is read of it, bytes.
const maxNote = 4 << 20

// recording is what it says: enough to make the traces that a recorder that died
// would have made.
type recording struct {
	Tool string `json:"tool"`
	// Recorder and its start time, in the unit of /proc/<pid>/stat, tell whether it
	// still runs.
	Recorder      int      `json:"recorder"`
	RecorderStart uint64   `json:"recorder_start"`
	PID           int      `json:"pid"` // of the command
	Command       []string `json:"command"`
	Output        string   `json:"output"` // absolute
	StartNS       int64    `json:"start_ns"`
}

// note writes it. A recording without one is as good, so errors, such as a full
// disk, do not matter.
func note(dir string, o *Options, pid int) {
	n := recording{
		Tool: version.Full(), Recorder: os.Getpid(), RecorderStart: startTime(os.Getpid()),
		PID: pid, Command: o.Command, Output: o.Output, StartNS: time.Now().UnixNano(),
	}
	if abs, err := filepath.Abs(o.Output); err == nil {
		n.Output = abs
	}
	if data, err := json.Marshal(n); err == nil {
		_ = os.WriteFile(filepath.Join(dir, noteName), append(data, '\n'), 0o600)
	}
}

// readNote reads it; nil if there is none that can be understood.
func readNote(dir string) *recording {
	f, err := os.Open(filepath.Join(dir, noteName))
	if err != nil {
		return nil
	}
	defer f.Close()
	var n recording
	if json.NewDecoder(io.LimitReader(f, maxNote)).Decode(&n) != nil {
		return nil
	}
	return &n
}

// startTime returns the start time of a process, 0 if it is not known.
func startTime(pid int) uint64 {
	f, ok := statFields(pid)
	if !ok {
		return 0
	}
	n, _ := strconv.ParseUint(string(f[19]), 10, 64)
	return n
}

// removeEmpty removes a spool folder in which there is nothing but the note and the
// bootstrap.
func removeEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	others := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != noteName && e.Name() != pythonDir })
	if err == nil && !others {
		_ = os.Remove(filepath.Join(dir, noteName)) // the folder's removal fails without it
		_ = removeBootstrap(dir)
	}
	return os.Remove(dir)
}
