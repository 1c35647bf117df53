package doctor

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Parts of what the agent says of MSPTI, by which its diagnoses are known.
const (
	npuNotFound  = "libmspti not found"
	npuSymbol    = "libmspti lacks a function"
	npuOther     = "another profiler in the process"
	npuOffline   = "the device is offline"
	npuPreloaded = "only if it is preloaded"
	npuAtAll     = "unless it is preloaded"
	npuByName    = "goes by LD_PRELOAD"
	npuNoCount   = "does not say how many records it dropped"
	npuNotTied   = "cannot be tied to API calls"
)

const (
	aclName    = "libascendcl.so"
	envVisible = "ASCEND_RT_VISIBLE_DEVICES"
)

// runAscend runs the probe on an Ascend device, and if that works, under the recorder.
func (e *exam) runAscend(ctx context.Context) {
	if !e.hasAscend() {
		return
	}
	out, err := e.s.Exec(ctx, Command{
		Path: e.probe, Args: []string{"--seconds", strconv.Itoa(probeSeconds), "--acl", aclName}, Env: e.s.Env, Timeout: probeTimeout,
	})
	e.npuAlone = parseUse(out)
	e.npuAlone.Err = err
	if !e.npuAlone.works() || e.agentErr != nil || e.load != nil && !e.load.ok {
		return
	}
	r := recording{id: "ascend", program: "a small program", flags: []string{"--vendor", "ascend"}, args: []string{"--acl", aclName}}
	if e.preloads() {
		r.flags = append(r.flags, "--preload")
	}
	r = e.record(ctx, r)
	e.npu = &r
}

// preloads reports whether record --preload finds the library that is used. It looks in
// the same places, for a file of this very name, and does not look into it.
func (e *exam) preloads() bool {
	c := e.mspti()
	if c == nil || path.Base(c.As) != libraryName(vendorOf("ascend")) {
		return false
	}
	list := e.msptis()
	return c.How == tracer.EnvLibrary || len(list) > 0 && list[0] == *c
}

// preloadFix is for what is recorded only if libmspti is preloaded.
func (e *exam) preloadFix() string {
	if c := e.mspti(); c != nil && c.How != tracer.EnvLibrary {
		return "set " + tracer.EnvLibrary + " to " + c.As + ", and record with --preload"
	}
	return "set " + tracer.EnvLibrary + " to the libmspti.so of the CANN that the program uses, and record with --preload"
}

// npuFix is for what fails without flagos-trace, too.
func (e *exam) npuFix() string {
	const mend = "mend the device first: npu-smi info must list it, and ~/ascend/log and dmesg may say what is wrong"
	if v := e.s.getenv(envVisible); v != "" {
		return fmt.Sprintf("unset %s, or set it to a device that is there; it is %q. If that is not the reason, %s", envVisible, v, mend)
	}
	return mend
}

// newerCANN is the fix of what a library does not have, or does not do here.
const newerCANN = "use a newer CANN, which the driver has to allow, if that matters to you"

// whatever is the fix of what may not matter.
const whatever = "nothing if that does not matter to you: every trace made here will say it"

// ascendAlone judges the run without the recorder.
func ascendAlone(e *exam) []Finding {
	const id = "ascend.alone"
	_, devices := e.find(vendorOf("ascend"))
	switch u := e.npuAlone; {
	case u == nil:
		return one(id, Skip, "nothing was tried on an Ascend device", "")
	case u.Err != nil:
		return one(id, Warn, fmt.Sprintf("%s cannot be run: %v", e.probe, u.Err), "chmod +x "+e.probe+", or build it on this system with `make build`")
	case u.NoDriver != "" && len(devices) == 0:
		return one(id, Skip, "there is no runtime to try: "+u.NoDriver, "")
	case u.NoDriver != "":
		return one(id, Fail, "Ascend's runtime cannot be loaded: "+u.NoDriver, "source set_env.sh of CANN in the shell that runs record, so that the loader finds "+aclName+" and what it needs")
	case u.Out.Status == probeUsage:
		return one(id, Warn, e.probe+" is of an older flagos-trace and does not know Ascend devices", "install the whole of flagos-trace")
	case u.hung():
		return one(id, Fail, fmt.Sprintf("a small program, not recorded, was not done after %d s: it was at %q", probeSeconds, u.Step), e.npuFix())
	case u.Call != nil:
		return one(id, Fail, "a small program, not recorded, fails: "+u.Call.String(), e.npuFix())
	case !u.works():
		return one(id, Fail, fmt.Sprintf("a small program, not recorded, ended with status %d %s at %q", u.Out.Status, u.Out.Signal, u.Step), e.npuFix())
	default:
		return one(id, OK, fmt.Sprintf("%s, the first of %s: a fill, copies and waiting work without the recorder, through %s", u.Device, counted(u.Devices, "device"), u.ACL), "")
	}
}

// ascendRecording judges the trial recording.
func ascendRecording(e *exam) []Finding {
	r := e.npu
	if r == nil {
		return nil
	}
	first := func(status Status, seen, fix string) []Finding {
		return one("ascend.recording", status, "recording "+r.program+" on an Ascend device: "+seen, fix)
	}
	const debug = "record the program with FLAGOS_TRACE=debug and --spool-dir FOLDER: the agent's log in that folder says how far it came"
	c := r.completeness()
	switch {
	case errors.Is(r.err, errTemp):
		return first(Warn, r.err.Error(), "set TMPDIR to a folder that can be written to")
	case r.err != nil:
		return first(Fail, r.err.Error(), debug)
	case r.use.hung():
		return first(Fail, fmt.Sprintf("the program, which ends without the recorder, was not done after %d s: it was at %q", probeSeconds, r.use.Step), debug)
	case !r.use.works():
		return first(Fail, fmt.Sprintf("the program, which works without the recorder, ended with status %d %s at %q", r.use.Out.Status, r.summary.Signal, r.use.Step), debug)
	case c == nil || c.Tracer == "none":
		return first(Fail, "there is no trace: the part of the agent that is preloaded did not come before "+aclName, debug)
	}
	list := e.explainAscend(c)
	if c.Ended == timeline.EndUnavailable {
		// What else went wrong is of no interest beside what made it fail.
		list = slices.DeleteFunc(list, func(f Finding) bool { return f.Fix == whatever || f.Fix == newerCANN })
		if len(list) == 0 {
			return first(Fail, strings.Join(append([]string{"libmspti could not be used"}, c.Diagnoses...), "; "), debug)
		}
		for i := range list {
			list[i].Status = Fail
		}
		return numbered(list)
	}
	sets, copies := c.Received["memset"], c.Received["memcpy"]
	fix := debug
	for _, f := range list {
		if fix == debug && f.Fix != whatever {
			fix = f.Fix // of what is likely to be the reason
		}
	}
	calls := c.Received["runtime"] + c.Received["driver"]
	seen := fmt.Sprintf("%s is used (%s): %d of 1 fills, %d of 2 copies and %d calls arrived", c.Library, c.How, sets, copies, calls)
	switch preloads := slices.Contains(r.flags, "--preload"); {
	case c.Layout == "mismatch":
		list = append(list, first(Fail, "records of "+c.Library+" are not laid out as they should, and are left out", "use an unchanged libmspti of a CANN that flagos-trace knows: name it in "+tracer.EnvLibrary)...)
	case calls == 0:
		list = append(list, first(Fail, seen, fix)...)
	case preloads && (sets < 1 || copies < 2):
		list = append(list, first(Warn, seen, fix)...)
	case !preloads && (sets < 1 || copies < 2):
		list = append(list, first(Warn, seen+"; it was not preloaded", e.preloadFix())...)
	default:
		list = append(list, first(OK, seen, "")...)
	}
	return numbered(list)
}

// numbered tells findings of one id apart.
func numbered(list []Finding) []Finding {
	seen := map[string]int{}
	for i := range list {
		id := list[i].ID
		if seen[id]++; seen[id] > 1 {
			list[i].ID += "." + strconv.Itoa(seen[id])
		}
	}
	return list
}

// explainAscend turns the diagnoses of a recording into findings.
func (e *exam) explainAscend(c *timeline.Completeness) []Finding {
	var list []Finding
	for _, text := range c.Diagnoses {
		f := Finding{ID: "ascend.diagnosis", Status: Warn, Seen: "the agent says: " + text}
		switch has := func(part string) bool { return strings.Contains(text, part) }; {
		case has(diagnoseNotStarted):
			f.Fix = "raise the limit that it names (a hard limit needs an administrator); where a part of the agent is missing, install both"
		case has(npuNotFound):
			f.Fix = "source set_env.sh of CANN, or set ASCEND_HOME_PATH, or name the library in " + tracer.EnvLibrary
		case has(npuSymbol):
			f.Fix = "use a newer CANN, or name its libmspti.so in " + tracer.EnvLibrary
		case has(npuOther):
			f.Fix = "end the other profiler (msprof, torch_npu.profiler, msmonitor), and take what loads it out of the environment"
		case has(npuOffline):
			f.Fix = e.npuFix()
		case has(npuPreloaded), has(npuAtAll), has(npuByName):
			f.Fix = e.preloadFix()
		case has(npuNotTied), has(diagnoseNotRecorded):
			f.Fix = newerCANN
		case has(diagnoseFlush):
			f.Fix = "raise FLAGOS_TRACE_EXIT_TIMEOUT_MS if it is only slow; otherwise use a newer CANN"
		case has(npuNoCount):
			continue // it never does
		case has(diagnoseLayout):
			continue // told with the recording
		default:
			f.Fix = whatever
		}
		list = append(list, f)
	}
	return list
}
