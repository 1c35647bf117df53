package record

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Environment variables of the contract with the agent. envAgent and
// envDebug are the user's; the rest is set here.
const (
	envInject = "CUDA_INJECTION64_PATH" // read by the driver when it initialises
	envDir    = "FLAGOS_TRACE_DIR"      // folder the agent puts its spool into
	envAPI    = "FLAGOS_TRACE_API"      // minimal, kineto or all
	envSync   = "FLAGOS_TRACE_SYNC"     // 1 or 0
	envChain  = "FLAGOS_TRACE_CHAIN"    // library to initialise after the agent
	envAgent  = "FLAGOS_TRACE_AGENT"    // where the agent is
	envDebug  = "FLAGOS_TRACE"          // "debug": the agent writes a log beside the spool
	envNVTX   = "FLAGOS_TRACE_NVTX"     // 1: ranges and marks of NVTX

	envInjectNVTX = "NVTX_INJECTION64_PATH" // read by each copy of NVTX at its first call
)

// lookup returns the value of key, "" if it is not set. Of several settings the
// first counts, as for getenv.
func lookup(env []string, key string) string {
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, key+"="); ok {
			return v
		}
	}
	return ""
}

// childEnv returns the environment for the program: env with the injection and
// the agent's settings.
func childEnv(env []string, agent, dir string, o *Options) ([]string, error) {
	limits := o.Limits
	if err := o.Host.Check(&limits); err != nil {
		return nil, err
	}
	limits.Paused = limits.Paused || o.Host.Steps != ""
	if err := limits.Check(); err != nil {
		return nil, err
	}
	set := map[string]string{
		envInject: agent,
		envDir:    dir,
		envAPI:    string(o.API),
		envSync:   "0",
		envChain:  "",
		envNVTX:   "",
	}
	if o.Sync {
		set[envSync] = "1"
	}
	if err := vendorEnv(set, env, agent, o); err != nil {
		return nil, err
	}
	limits.env(set)
	o.Host.env(set, env, agent, dir)
	// Kineto, too, reads "none" as nothing.
	if held := lookup(env, envInject); held != "" && held != "none" {
		switch {
		case lookup(env, envDir) != "" && strings.HasSuffix(held, "/"+agentName):
			return nil, fmt.Errorf("%w: this command runs under flagos-trace record already (%s=%s). Record once, at the outside",
				ErrInjectionTaken, envInject, held)
		case !o.Chain:
			return nil, fmt.Errorf("%w: %s is set to %s, and the driver loads one library only. "+
				"Unset it to record, or use --chain to have flagos-trace load that library too (two users of one profiling library may disturb each other)",
				ErrInjectionTaken, envInject, held)
		}
		if _, err := os.Stat(held); err != nil {
			return nil, fmt.Errorf("%w: %s is set to %s, which cannot be loaded as well: %w", ErrInjectionTaken, envInject, held, err)
		}
		set[envChain] = held
	}
	if o.NVTX {
		if held := lookup(env, envInjectNVTX); held != "" {
			return nil, fmt.Errorf("%w: %s is set to %s, and NVTX tells one library only of a program's ranges. Unset it, or record without --nvtx",
				ErrInjectionTaken, envInjectNVTX, held)
		}
		set[envNVTX], set[envInjectNVTX] = "1", agent
	}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if _, ours := set[key]; !ours {
			out = append(out, kv)
		}
	}
	for _, key := range slices.Concat([]string{envInject, envDir, envAPI, envSync, envChain, envNVTX, envInjectNVTX}, envVendors, envLimits, envHosts, []string{envPython}) {
		// Plain operators are an empty list, which is not none.
		if set[key] != "" || key == envHost && !o.Host.Off {
			out = append(out, key+"="+set[key])
		}
	}
	return out, nil
}
