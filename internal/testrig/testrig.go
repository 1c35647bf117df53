package testrig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const module = "github.com/flagos-ai/flagos-trace"

// asked is whether there may be a folder to remove.
var asked atomic.Bool

// ProgramsVariable names a folder of programs that were built already, for a machine
// without Go: a test binary (go test -c) and these are all that it needs beside gcc.
const ProgramsVariable = "FLAGOS_TRACE_PROGRAMS"

var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "flagos-trace-test-*")
	if err != nil {
		return "", err
	}
	if err := run("0", "go", "build", "-o", filepath.Join(dir, "flagos-trace"), module+"/cmd/flagos-trace"); err != nil {
		return dir, err
	}
	return dir, BuildAgent(dir)
})

// experiment is as in the Makefile: the Go library is built with it if this Go has it.
const experiment = "norandomizedheapbase64"

// BuildAgent makes the two libraries of the agent in dir.
func BuildAgent(dir string) error {
	var env []string
	known := exec.Command("go", "env", "GOEXPERIMENT")
	known.Env = append(os.Environ(), "GOEXPERIMENT="+experiment)
	if known.Run() == nil {
		env = append(env, "GOEXPERIMENT="+experiment)
	}
	if err := runWith(env, "1", "go", "build", "-trimpath", "-buildmode=c-shared", "-o", filepath.Join(dir, "libflagos_trace_go.so"), module+"/cmd/libflagos-trace"); err != nil {
		return err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "cmd", "libflagos-trace")
	if err := run("1", "gcc", "-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-fPIC", "-shared", "-Wl,-z,defs",
		"-o", filepath.Join(dir, "libflagos_trace_preload.so"), filepath.Join(source, "preload", "preload.c"), "-ldl"); err != nil {
		return err
	}
	stub := filepath.Join(source, "stub")
	sources, err := filepath.Glob(filepath.Join(stub, "*.c"))
	if err != nil {
		return err
	}
	return run("1", "gcc", append([]string{
		"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fvisibility=hidden", "-fPIC", "-shared", "-Wl,-z,defs,-z,nodelete",
		"-Wl,--version-script," + filepath.Join(stub, "exports.map"), "-o", filepath.Join(dir, "libflagos_trace.so"), "-pthread", "-ldl",
	}, sources...)...)
}

func run(cgo, name string, args ...string) error { return runWith(nil, cgo, name, args...) }

func runWith(env []string, cgo, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED="+cgo), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// Programs returns the folder that holds flagos-trace and the two libraries of the
// agent.
func Programs(tb testing.TB) string {
	tb.Helper()
	if dir := os.Getenv(ProgramsVariable); dir != "" {
		abs, err := filepath.Abs(dir)
		if err != nil {
			tb.Fatal(err)
		}
		return abs
	}
	asked.Store(true)
	dir, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return dir
}

// Run runs the tests, removes what was built for them, and returns the status to
// exit with.
func Run(m *testing.M) int {
	status := m.Run()
	if asked.Load() {
		if dir, _ := build(); dir != "" {
			_ = os.RemoveAll(dir) // what is left over is in the temporary folder
		}
	}
	return status
}
