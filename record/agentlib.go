package record

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	agentName = "libflagos_trace.so"
	// initFunc is the function the driver calls in an injected library.
	initFunc = "InitializeInjection"
	// runtimeName is the part of the agent that the injected one loads, once it
	// knows that it can run in the process; it lies beside it and exports
	// runtimeTable.
	runtimeName  = "libflagos_trace_go.so"
	runtimeTable = "flagos_trace_calls"
)

// findAgent returns the absolute path of the shared library to inject: beside
// the executable exe, else in ../lib relative to it, else what the environment
// names.
func findAgent(named, exe string) (string, error) {
	dir := filepath.Dir(exe)
	looked := []string{filepath.Join(dir, agentName), filepath.Join(filepath.Dir(dir), "lib", agentName)}
	for _, path := range looked {
		err := checkAgent(path)
		switch {
		case err == nil:
			return path, nil
		case !errors.Is(err, os.ErrNotExist):
			return "", fmt.Errorf("%w: %s: %w", ErrNoAgent, path, err)
		}
	}
	if named != "" {
		path, err := filepath.Abs(named)
		if err == nil {
			err = checkAgent(path)
		}
		if err != nil {
			return "", fmt.Errorf("%w: %s is set to %s: %w", ErrNoAgent, envAgent, named, err)
		}
		return path, nil
	}
	return "", fmt.Errorf("%w; looked for %s, and %s is not set. Build it with `make build`, or set %s to its path",
		ErrNoAgent, strings.Join(looked, ", "), envAgent, envAgent)
}

// checkAgent reports what would make the driver ignore the library in silence, or
// leave it without what records: a file that is no shared library, or one that does
// not export what it is loaded for.
func checkAgent(path string) error {
	if err := exports(path, initFunc); err != nil {
		return err
	}
	other := AgentRuntime(path)
	if err := exports(other, runtimeTable); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("its other part, %s, is not there: install both", other)
	} else if err != nil {
		return fmt.Errorf("its other part, %s: %w", other, err)
	}
	return nil
}

// exports reports why a file is not a shared library with that symbol.
func exports(path, symbol string) error {
	f, err := elf.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name == symbol && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	return fmt.Errorf("it does not export %s", symbol)
}

// AgentRuntime returns the path of the library that the agent's library at path
// loads: it lies beside the file itself, wherever links to it are.
func AgentRuntime(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return filepath.Join(filepath.Dir(path), runtimeName)
}

// FindAgent returns the absolute path of the library that Run would inject,
// given the environment and the path of flagos-trace itself. The error is
// ErrNoAgent and says what was looked for.
func FindAgent(env []string, exe string) (string, error) {
	return findAgent(lookup(env, envAgent), exe)
}
