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
	if err := o.Limits.Check(); err != nil {
		return nil, err
	}
	set := map[string]string{
		envInject: agent,
		envDir:    dir,
		envAPI:    string(o.API),
		envSync:   "0",
		envChain:  "",
	}
	if o.Sync {
		set[envSync] = "1"
	}
	o.Limits.env(set)
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
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		key, _, _ := strings.Cut(kv, "=")
		if _, ours := set[key]; !ours {
			out = append(out, kv)
		}
	}
	for _, key := range slices.Concat([]string{envInject, envDir, envAPI, envSync, envChain}, envLimits) {
		if set[key] != "" {
			out = append(out, key+"="+set[key])
		}
	}
	return out, nil
}
