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
	return "", fmt.Errorf("%w; looked for:\n  %s\nand %s is not set. Build it with `make build`, or set %s to its path",
		ErrNoAgent, strings.Join(looked, "\n  "), envAgent, envAgent)
}

// checkAgent reports what would make the driver ignore the library in silence:
// a file that is no shared library, or one that does not export the function the
// driver calls.
func checkAgent(path string) error {
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
		if s.Name == initFunc && s.Section != elf.SHN_UNDEF {
			return nil
		}
	}
	return fmt.Errorf("it does not export %s", initFunc)
}

// FindAgent returns the absolute path of the library that Run would inject,
// given the environment and the path of flagos-trace itself. The error is
// ErrNoAgent and says what was looked for.
func FindAgent(env []string, exe string) (string, error) {
	return findAgent(lookup(env, envAgent), exe)
}
