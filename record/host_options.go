package record

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/host/bootstrap"
)

// HostOptions say what is recorded of the framework's side: the operators of
// PyTorch in Python processes.
type HostOptions struct {
	// Off leaves it out.
	Off bool
	// What torch.profiler calls record_shapes, with_stack, profile_memory and
	// with_modules.
	Shapes, Stack, Memory, Modules bool
	// Threads has the operators of all Python threads recorded with a torch before
	// 2.14 as well, where ending a session while other threads are inside operators
	// may crash the program. Without it those of the main thread are, and of the
	// autograd threads that work for it; from 2.14 on it changes nothing.
	Threads bool
	// Slice is after how long a time a recording is cut, so that memory stays bounded
	// and little is lost with a process that is killed; 0 is 5 s.
	Slice time.Duration
	// Steps, "A:B", records the steps from A on and before B only. Steps are counted
	// from 0: those of the optimizer, or calls of StepMark ("module:function").
	Steps, StepMark string
}

// ErrHost is wrapped by errors about host options.
var ErrHost = errors.New("wrong options for operators")

// Bounds of HostOptions.Slice.
const (
	MinHostSlice     = 100 * time.Millisecond
	MaxHostSlice     = time.Hour
	defaultHostSlice = 5 * time.Second
)

// stepMark is what names a function: a module and a name in it, both dotted.
var stepMark = regexp.MustCompile(`^[^\s:.][^\s:]*:[^\s:.][^\s:]*$`)

// Check reports options that are out of range or exclude each other, or the
// limits.
func (h *HostOptions) Check(l *Limits) error {
	asked := h.Shapes || h.Stack || h.Memory || h.Modules || h.Threads || h.Slice != 0 || h.Steps != "" || h.StepMark != ""
	switch {
	case h.Off && asked:
		return fmt.Errorf("%w: operators are not recorded at all, and how they are is given", ErrHost)
	case h.Slice != 0 && (h.Slice < MinHostSlice || h.Slice > MaxHostSlice):
		return fmt.Errorf("%w: a slice of %v is not between %v and %v", ErrHost, h.Slice, MinHostSlice, MaxHostSlice)
	case h.StepMark != "" && h.Steps == "":
		return fmt.Errorf("%w: %s marks steps, and no steps to record are given", ErrHost, h.StepMark)
	case h.StepMark != "" && !stepMark.MatchString(h.StepMark):
		return fmt.Errorf("%w: %q is no function; give MODULE:FUNCTION, such as train:step or mypackage.loop:Trainer.step", ErrHost, h.StepMark)
	case h.Steps == "":
		return nil
	}
	if _, _, err := parseSteps(h.Steps); err != nil {
		return err
	}
	if l.Paused || l.Delay != 0 || l.Duration != 0 {
		return fmt.Errorf("%w: steps say when to record; a delay, a duration or a paused start do, too: choose one", ErrHost)
	}
	return nil
}

// parseSteps reads "A:B".
func parseSteps(text string) (first, end int, err error) {
	a, b, ok := strings.Cut(text, ":")
	first, errA := strconv.Atoi(a)
	end, errB := strconv.Atoi(b)
	if !ok || errA != nil || errB != nil || first < 0 || end <= first || end > maxSteps {
		return 0, 0, fmt.Errorf("%w: steps %q; give FIRST:END, such as 10:13 for the steps 10, 11 and 12, counted from 0", ErrHost, text)
	}
	return first, end, nil
}

const maxSteps = 1 << 40

// Environment variables of the host side.
const (
	envLibrary   = "FLAGOS_TRACE_LIBRARY"       // the agent, for the bootstrap
	envHost      = "FLAGOS_TRACE_HOST"          // what to record beside operators, comma-separated
	envHostSlice = "FLAGOS_TRACE_HOST_SLICE_MS" // length of a slice
	envSteps     = "FLAGOS_TRACE_STEPS"
	envStepMark  = "FLAGOS_TRACE_STEP_MARK"
	envPython    = "PYTHONPATH"
)

// envHosts lists those that are ours alone.
var envHosts = []string{envLibrary, envHost, envHostSlice, envSteps, envStepMark}

// env returns the settings for a program with the given environment, whose agent
// and spool folder these are. "" stands for one that is not set.
func (h *HostOptions) env(set map[string]string, env []string, agent, dir string) {
	for _, name := range envHosts {
		set[name] = ""
	}
	if h.Off {
		return
	}
	var what []string
	for _, o := range []struct {
		on   bool
		name string
	}{{h.Shapes, "shapes"}, {h.Stack, "stack"}, {h.Memory, "memory"}, {h.Modules, "modules"}, {h.Threads, "threads"}} {
		if o.on {
			what = append(what, o.name)
		}
	}
	slice := h.Slice
	if slice == 0 {
		slice = defaultHostSlice
	}
	set[envLibrary], set[envHost] = agent, strings.Join(what, ",")
	set[envHostSlice] = strconv.FormatInt(slice.Milliseconds(), 10)
	set[envSteps], set[envStepMark] = h.Steps, h.StepMark
	set[envPython] = bootstrap.PythonPath(filepath.Join(dir, pythonDir), lookup(env, envPython))
}
