package record

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// NVTX's variable is set only when ranges are asked for, and never taken away from
// another tool.
func TestNVTXEnvironment(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    []string
		o      Options
		inject string // NVTX's variable
		agent  string // the agent's
		err    error
	}{
		{name: "not asked for"},
		{name: "asked for", o: Options{NVTX: true}, inject: "/lib/agent.so", agent: "1"},
		{name: "another tool's, not asked for", env: []string{"NVTX_INJECTION64_PATH=/tool.so"}, inject: "/tool.so"},
		{name: "another tool's", env: []string{"NVTX_INJECTION64_PATH=/tool.so"}, o: Options{NVTX: true}, err: ErrInjectionTaken},
		{name: "another tool's, chained", env: []string{"NVTX_INJECTION64_PATH=/tool.so"}, o: Options{NVTX: true, Chain: true}, err: ErrInjectionTaken},
		{name: "empty", env: []string{"NVTX_INJECTION64_PATH="}, o: Options{NVTX: true}, inject: "/lib/agent.so", agent: "1"},
		{name: "the agent's, not asked for", env: []string{"FLAGOS_TRACE_NVTX=1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			env, err := childEnv(append([]string{"HOME=/root"}, c.env...), "/lib/agent.so", "/spools", &c.o)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err != nil {
				if !strings.Contains(err.Error(), "/tool.so") {
					t.Errorf("%v does not name the tool", err)
				}
				return
			}
			if lookup(env, "NVTX_INJECTION64_PATH") != c.inject || lookup(env, "FLAGOS_TRACE_NVTX") != c.agent {
				t.Errorf("%q", env)
			}
			if !slices.Contains(env, "HOME=/root") {
				t.Error("the program's own variables are gone")
			}
		})
	}
}
