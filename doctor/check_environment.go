package doctor

import (
	"fmt"
	"path"
	"strings"
)

// injection returns the library that holds the injection slot, and whether
// record minds.
func (e *exam) injection() (held string, taken bool) {
	held = e.s.getenv("CUDA_INJECTION64_PATH")
	return held, held != "" && held != "none"
}

// tool names the tool that a library belongs to, where its name says so.
func tool(library string) string {
	base := path.Base(library)
	switch {
	case strings.HasPrefix(base, "libToolsInjection"):
		return " (Nsight Systems)"
	case strings.HasPrefix(base, "libflagos_trace"):
		return " (flagos-trace itself)"
	case strings.HasPrefix(base, "libcupti"):
		return " (CUPTI)"
	}
	return ""
}

func checkInjection(e *exam) []Finding {
	const id = "env.injection"
	held, taken := e.injection()
	switch seen := fmt.Sprintf("CUDA_INJECTION64_PATH is %s%s, and the driver loads one library only", held, tool(held)); {
	case !taken:
		return one(id, OK, "CUDA_INJECTION64_PATH is free", "")
	case strings.HasPrefix(path.Base(held), "libflagos_trace") && e.s.getenv("FLAGOS_TRACE_DIR") != "":
		return one(id, Fail, "this runs under flagos-trace record already", "run doctor outside of it, and record once, at the outside")
	case !e.s.exists(e.s.abs(held)):
		return one(id, Fail, fmt.Sprintf("CUDA_INJECTION64_PATH is %s, which does not exist; record refuses to replace it", held), "unset CUDA_INJECTION64_PATH")
	case !e.o.Chain:
		return one(id, Fail, seen+": record refuses to replace it", "unset CUDA_INJECTION64_PATH, or have both loaded with record --chain")
	default:
		return one(id, Warn, seen+": with --chain the agent loads it", "unset CUDA_INJECTION64_PATH if records are missing: two users of one profiling library may disturb each other")
	}
}

func checkNVTX(e *exam) []Finding {
	const id = "env.nvtx"
	held := e.s.getenv("NVTX_INJECTION64_PATH")
	switch {
	case held == "":
		return one(id, OK, "NVTX_INJECTION64_PATH is not set; recording does not need it", "")
	case strings.Contains(held, "/") && !e.s.exists(e.s.abs(held)):
		return one(id, Warn, fmt.Sprintf("NVTX_INJECTION64_PATH is %s, which does not exist", held), "unset NVTX_INJECTION64_PATH")
	}
	return one(id, Warn, fmt.Sprintf("NVTX_INJECTION64_PATH is %s%s: it is loaded at the first NVTX call of the program", held, tool(held)),
		"unset NVTX_INJECTION64_PATH while recording, unless that tool is wanted too")
}

func checkPreload(e *exam) []Finding {
	const id = "env.preload"
	value := e.s.getenv("LD_PRELOAD")
	var missing, tools []string
	mspti := false
	for _, lib := range preloaded(e) {
		base := path.Base(lib)
		switch {
		case strings.Contains(lib, "/") && !strings.Contains(lib, "$") && !e.s.exists(e.s.abs(lib)):
			missing = append(missing, lib)
		case strings.HasPrefix(base, "libmspti"):
			mspti = true // told by ascend.preload
		case tool(lib) != "" || strings.HasPrefix(base, "libmupti") || strings.HasPrefix(base, "libmcpti"):
			tools = append(tools, lib)
		}
	}
	switch {
	case value == "":
		return one(id, OK, "LD_PRELOAD is not set", "")
	case len(missing) > 0:
		return one(id, Warn, "LD_PRELOAD names "+strings.Join(missing, ", ")+", which does not exist: the loader complains about it in every process", "take it out of LD_PRELOAD")
	case len(tools) > 0:
		return one(id, Warn, "LD_PRELOAD puts "+strings.Join(tools, ", ")+" into every process", "take it out of LD_PRELOAD while recording: record needs no preloading, and two users of one profiling library may disturb each other")
	}
	if mspti && !e.hasAscend() {
		return one(id, Warn, "LD_PRELOAD is "+value+": it puts Ascend's profiling library into every process, and nothing of Ascend is here", "take it out of LD_PRELOAD")
	}
	return one(id, OK, "LD_PRELOAD is "+value, "")
}

// checkOverrides looks at the variables of flagos-trace that name files.
func checkOverrides(e *exam) []Finding {
	var list []Finding
	for _, v := range []struct{ id, name string }{
		{"env.tracer_library", "FLAGOS_TRACER_LIBRARY"},
		{"env.cupti_library", "FLAGOS_CUPTI_LIBRARY"},
	} {
		value := e.s.getenv(v.name)
		if value == "" {
			continue
		}
		found := e.s.exists(e.s.abs(value))
		if !strings.Contains(value, "/") {
			found = false
			for _, dir := range e.s.loaderFolders() {
				found = found || e.s.exists(path.Join(dir, value))
			}
		}
		switch {
		case v.name == "FLAGOS_CUPTI_LIBRARY" && e.s.getenv("FLAGOS_TRACER_LIBRARY") != "":
			list = append(list, Finding{ID: v.id, Status: Warn, Seen: v.name + " is " + value + " and is not used: FLAGOS_TRACER_LIBRARY goes before it", Fix: "unset one of them"})
		case found:
			list = append(list, Finding{ID: v.id, Status: OK, Seen: v.name + " is " + value + ": the agent uses it and no other", Fix: ""})
		default:
			list = append(list, Finding{ID: v.id, Status: Fail, Seen: v.name + " is " + value + ", which was not found; the agent uses no other", Fix: "unset " + v.name + ", or set it to the path of a library"})
		}
	}
	if value := e.s.getenv("FLAGOS_TRACE_AGENT"); value != "" && e.agentErr == nil && e.s.abs(value) != e.agent {
		list = append(list, Finding{ID: "env.agent", Status: Warn,
			Seen: "FLAGOS_TRACE_AGENT is " + value + " and is not used: " + e.agent + " is installed with flagos-trace and goes before it",
			Fix:  "unset FLAGOS_TRACE_AGENT, or remove " + e.agent})
	}
	if len(list) == 0 {
		return one("env.overrides", OK, "no variable names another library to use", "")
	}
	return list
}

func checkPtrace(e *exam) []Finding {
	scope := strings.TrimSpace(e.s.read("/proc/sys/kernel/yama/ptrace_scope"))
	if scope == "" {
		return one("env.ptrace", OK, "Yama does not restrict ptrace; recording does not use it anyway", "")
	}
	return one("env.ptrace", OK, "ptrace_scope is "+scope+"; it does not matter, because the agent is inside the program and uses no ptrace", "")
}

func checkWSL(e *exam) []Finding {
	if !e.onWSL() {
		return nil
	}
	return one("env.wsl", OK, "this is WSL, where CUPTI has times of CLOCK_MONOTONIC_RAW: they are mapped to CLOCK_REALTIME", "")
}

func (e *exam) onWSL() bool {
	return strings.Contains(strings.ToLower(e.s.read("/proc/version")), "microsoft")
}
