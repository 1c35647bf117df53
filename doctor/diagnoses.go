package doctor

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Parts of what the agent says, by which its diagnoses are known.
const (
	diagnoseNotStarted  = "the agent was not started"
	diagnoseNotFound    = "libcupti not found"
	diagnoseSymbol      = "lacks a function"
	diagnoseTooNew      = "newer than the driver"
	diagnoseDevice      = "does not support this device"
	diagnoseOther       = "another profiler in the process"
	diagnoseNotAllowed  = "may not trace the device"
	diagnoseLayout      = "layout mismatch"
	diagnoseCopies      = "copies of libcupti in the process"
	diagnoseUnderstood  = "is not understood"
	diagnoseNotRecorded = "not recorded"
	diagnoseFlush       = "flush did not come back"
	diagnoseClock       = "replaced the clock"
)

const otherFix = "record without that profiler: take what loads it out of the environment (LD_PRELOAD, NVTX_INJECTION64_PATH, CUDA_INJECTION64_PATH)"

// explain turns the diagnoses of a recording into findings.
func (e *exam) explain(r *recording, c *timeline.Completeness) []Finding {
	var list []Finding
	for _, text := range c.Diagnoses {
		f := Finding{ID: r.id + ".diagnosis", Status: Warn, Seen: "the agent says: " + text}
		has := func(part string) bool { return strings.Contains(text, part) }
		switch {
		case has(diagnoseNotStarted):
			f.ID, f.Status = r.id+".agent", Fail
			f.Seen = "recording " + r.program + ": " + text
			f.Fix = "raise the limit that it names (a hard limit needs an administrator); where a part of the agent is missing, install both"
		case has(diagnoseNotFound):
			f.ID, f.Status = r.id+".library", Fail
			f.Seen = "recording " + r.program + ": " + text
			f.Fix = e.nameCUPTI()
		case has(diagnoseSymbol):
			f.ID, f.Status = r.id+".library", Fail
			f.Fix = e.otherCUPTI(text)
		case has(diagnoseTooNew):
			f.ID, f.Status = r.id+".library", Fail
			f.Fix = e.olderCUPTI(c.Library)
		case has(diagnoseDevice):
			f.ID, f.Status = r.id+".device", Fail
			f.Fix = "use the CUPTI of the newest CUDA that the driver is for" + e.driverCUDA() + ": name it in FLAGOS_CUPTI_LIBRARY"
		case has(diagnoseNotAllowed):
			f.ID, f.Status, f.Fix = r.id+".permission", Fail, permissionFix(text)
		case has(diagnoseOther):
			f.ID, f.Fix = r.id+".other", otherFix
			if c.Ended == timeline.EndUnavailable {
				f.Status = Fail
			}
		case has(diagnoseLayout):
			continue // layout tells of it
		case has(diagnoseFlush):
			f.Fix = useAnother + "; raise FLAGOS_TRACE_EXIT_TIMEOUT_MS if it is only slow"
		case has(diagnoseClock):
			f.Fix = otherFix
		case has(diagnoseCopies):
			f.ID, f.Fix = r.id+".copies", "unset FLAGOS_TRACER_LIBRARY and FLAGOS_CUPTI_LIBRARY, so that the agent uses the copy that the program has loaded"
		case has(diagnoseUnderstood):
			f.Fix = "correct the variable that it names, or unset it"
		case has(diagnoseNotRecorded):
			f.Fix = "use a newer libcupti, of a CUDA that the driver is for, if that matters to you: name it in FLAGOS_CUPTI_LIBRARY"
		default:
			f.Fix = "nothing if that does not matter to you: every trace made here will say it"
		}
		list = append(list, f)
	}
	return list
}

// nameCUPTI says how to have the agent find a libcupti.
func (e *exam) nameCUPTI() string {
	if v := e.override(); v != "" {
		return "unset " + v + ", or set it to the path of a libcupti"
	}
	if c := e.best(""); c != nil {
		return "export FLAGOS_CUPTI_LIBRARY=" + c.As
	}
	return e.installCUPTI()
}

// override returns the variable that names the agent's library, "" for none.
func (e *exam) override() string {
	for _, v := range []string{"FLAGOS_TRACER_LIBRARY", "FLAGOS_CUPTI_LIBRARY"} {
		if e.s.getenv(v) != "" {
			return v
		}
	}
	return ""
}

// best returns the copy of libcupti that fits the driver best, nil for none.
// Those for a newer major version of CUDA than the driver's are left out.
func (e *exam) best(except string) *copyOf {
	driver := 0
	if e.alone != nil {
		driver = e.alone.Driver / 1000
	}
	var found *copyOf
	list, _ := e.usable()
	for i := range list {
		c := &list[i]
		major := majorOf(c.As)
		if c.Path == except || c.As == except || driver > 0 && major > driver {
			continue
		}
		if found == nil || major > majorOf(found.As) {
			found = c
		}
	}
	return found
}

// majorOf returns the CUDA version in the name of a libcupti, 0 if it is not
// there. Names by year (libcupti.so.2025.3.1) do not have it.
func majorOf(name string) int {
	var n int
	_, after, _ := strings.Cut(path.Base(name), ".so.")
	if _, err := fmt.Sscanf(after, "%d", &n); err != nil || n > 100 {
		return 0
	}
	return n
}

// unusable finds the library in the diagnosis of one that lacks a function.
var unusable = regexp.MustCompile(`(\S*libcupti\S*): symbol not found`)

// otherCUPTI says what to use in place of the library that a diagnosis names.
func (e *exam) otherCUPTI(diagnosis string) string {
	bad := ""
	if m := unusable.FindStringSubmatch(diagnosis); m != nil {
		bad = m[1]
	}
	// A name without a folder is the loader's, which takes the first it finds.
	if list, _ := e.usable(); !strings.Contains(bad, "/") {
		for _, c := range list {
			if path.Base(c.As) == bad {
				bad = c.As
				break
			}
		}
	}
	if c := e.best(bad); c != nil && strings.Contains(bad, "/") {
		return "try another copy: export FLAGOS_CUPTI_LIBRARY=" + c.As
	}
	return e.installCUPTI()
}

// olderCUPTI says what to use in place of a library that the driver refuses.
func (e *exam) olderCUPTI(bad string) string {
	list, _ := e.usable()
	major := majorOf(bad)
	for _, c := range list {
		if c.Path == bad {
			major = majorOf(c.As)
		}
	}
	for _, c := range list {
		if m := majorOf(c.As); m > 0 && m < major {
			return "export FLAGOS_CUPTI_LIBRARY=" + c.As + ", or update the driver"
		}
	}
	return "use a CUPTI of an older CUDA, at most the driver's" + e.driverCUDA() + ", and name it in FLAGOS_CUPTI_LIBRARY; or update the driver"
}

// driverCUDA names the CUDA version of the driver in brackets, if it is known.
func (e *exam) driverCUDA() string {
	if e.alone == nil || e.alone.Driver == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d.%d)", e.alone.Driver/1000, e.alone.Driver%1000/10)
}

// permissionFix says who can lift a restriction. Codes are those of CUptiResult.
func permissionFix(text string) string {
	switch {
	case strings.Contains(text, "returned 33"):
		return "have the host of this virtual GPU allow profiling for it (a plugin parameter of the vGPU), or record on a whole device"
	case strings.Contains(text, "returned 41"):
		return "have an administrator put the device into the devtools mode of confidential computing, or record on one without"
	}
	return "record as root, or have an administrator load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0"
}
