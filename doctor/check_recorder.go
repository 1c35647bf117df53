package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"golang.org/x/sys/unix"
)

func checkAgent(e *exam) []Finding {
	if e.agentErr != nil {
		return one("agent", Fail, e.agentErr.Error(), "build it with `make build`, which puts it and its other part, libflagos_trace_go.so, beside flagos-trace, or set FLAGOS_TRACE_AGENT to its path")
	}
	switch {
	case e.load == nil:
		return one("agent", OK, e.agent+" and its other part are there; loading them was not tried", "")
	case !e.load.ok:
		return one("agent", Fail, fmt.Sprintf("%s, or its other part beside it, cannot be loaded: %s", e.agent, e.load.why),
			"build it on a system like this one (`make build`): an agent needs the C library it was built for, or an older one, and the same processor")
	}
	return one("agent", OK, e.agent+" loads, and so does its other part", "")
}

func checkProbe(e *exam) []Finding {
	switch {
	case e.probe == "":
		return one("probe.program", Warn, probeName+" is not beside flagos-trace or in ../lib: nothing was tried on the device",
			"build it with `make build`, or copy it to "+filepath.Dir(e.s.Exe))
	case e.s.Access(e.probe, unix.X_OK) != nil:
		return one("probe.program", Warn, e.probe+" cannot be executed", "chmod +x "+e.probe+", or move it off a file system mounted noexec")
	}
	return one("probe.program", OK, e.probe, "")
}

// checkOutput looks at what record refuses before it starts the program.
func checkOutput(e *exam) []Finding {
	dir := filepath.Dir(e.o.Output)
	st, err := fs.Stat(e.s.FS, rel(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return one("output", Fail, dir+" does not exist", "mkdir -p "+dir+", or choose another file with -o")
	case err != nil:
		return one("output", Fail, err.Error(), "choose another file with -o")
	case !st.IsDir():
		return one("output", Fail, dir+" is not a folder", "choose another file with -o")
	}
	if st, err := fs.Stat(e.s.FS, rel(e.o.Output)); err == nil && st.IsDir() {
		return one("output", Fail, e.o.Output+" is a folder", "name a file in it with -o")
	} else if err == nil && !st.Mode().IsRegular() {
		return one("output", OK, e.o.Output+" is written to directly", "")
	}
	if err := e.s.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return one("output", Fail, fmt.Sprintf("%s cannot be written to: %v", dir, err), "choose another file with -o, or run as a user who may write there")
	}
	return one("output", OK, dir+" can be written to", "")
}
