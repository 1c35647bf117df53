// Package arm64test holds the tests that record on arm64 from end to end, under qemu's
// user emulation where the machine is another, and hold the traces against those of the
// same programs on this machine. It has no code of its own.
//
// # Use
//
//	make test-arm64
//
// # Traps
//
//   - The emulator runs a program, not what that starts: the kernel gives an arm64 file
//     to it only if binfmt_misc says so. The recorded command is therefore the emulator
//     itself with the program behind it, which passes the environment on; so nothing
//     recorded here starts another program.
//   - It is slow and its speed changes: no test looks at how long something took.
package arm64test

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
)

var (
	programs = flag.String("programs", "", "folder of flagos-trace and its libraries for arm64; without it nothing is recorded")
	native   = flag.String("native", "", "folder of those for this machine; without it they are built")
	mixed    = flag.Bool("mixed", false, "the flagos-trace of -programs is for this machine: only what is injected is for arm64")
	compiler = flag.String("cc", "aarch64-linux-gnu-gcc", "C compiler for arm64, for the look-alike libraries")
	emulator = flag.String("emulator", "qemu-aarch64-static -L /usr/aarch64-linux-gnu", "what runs programs for arm64")
	vendors  = flag.String("vendors", "cuda ascend musa metax ppu dcu", "on whose look-alikes")
)

func TestMain(m *testing.M) { os.Exit(testrig.Run(m)) }

// A machine is one that programs can be recorded on.
type machine struct {
	name string
	run  []string // what runs a program of it
	bin  string
	gpu  fakegpu.Paths
}

var emulatedGPU = sync.OnceValues(func() (fakegpu.Paths, error) { return fakegpu.BuildWith(*compiler, "") })

// machines returns the emulated machine and this one.
func machines(t *testing.T) (arm64, here *machine) {
	t.Helper()
	if *programs == "" {
		t.Skip("make test-arm64 runs this: it needs programs for arm64 and an emulator")
	}
	here = &machine{name: "this machine", gpu: fakegpu.Get(t), bin: *native}
	if here.bin == "" {
		here.bin = testrig.Programs(t)
	}
	gpu, err := emulatedGPU()
	if err != nil {
		t.Fatal(err)
	}
	return &machine{name: "arm64", run: strings.Fields(*emulator), bin: *programs, gpu: gpu}, here
}

// environment is this process's without what would disturb a recording, and more.
func environment(more []string) (env []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FLAGOS_") && !strings.HasPrefix(kv, "CUDA_") && !strings.HasPrefix(kv, "FAKE") && !strings.HasPrefix(kv, "LD_") {
			env = append(env, kv)
		}
	}
	return append(env, more...)
}

// command is a program of the machine with its arguments.
func (m *machine) command(program string, args ...string) []string {
	return append(append(append([]string{}, m.run...), program), args...)
}

// start runs a command and returns its exit status.
func start(t *testing.T, env, command []string) (status int, output string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = environment(env)
	out, err := cmd.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}

// A recording is what came of one.
type recording struct {
	status  int
	trace   string // its path
	summary record.TraceSummary
}

// record records a program that uses one process.
func (m *machine) record(t *testing.T, env, flags []string, program string, args ...string) recording {
	t.Helper()
	dir := t.TempDir()
	summary := filepath.Join(dir, "summary.json")
	flags = append([]string{"record", "-q", "-o", filepath.Join(dir, "trace.json.gz"), "--summary", summary}, flags...)
	all := append([]string{filepath.Join(m.bin, "flagos-trace")}, append(append(flags, "--"), m.command(program, args...)...)...)
	if !*mixed {
		all = m.command(all[0], all[1:]...)
	}
	status, output := start(t, env, all)
	// The emulator says so where a signal ends the program.
	if output != "" && !(strings.HasPrefix(output, "qemu: uncaught target signal ") && status > 128) {
		t.Errorf("%s: says %q", m.name, output)
	}
	data, err := os.ReadFile(summary)
	if err != nil {
		t.Fatalf("%s: status %d, %q: %v", m.name, status, output, err)
	}
	var s record.Summary
	if err := json.Unmarshal(data, &s); err != nil || len(s.Traces) != 1 {
		t.Fatalf("%s: %v, %d traces: %s", m.name, err, len(s.Traces), data)
	}
	return recording{status, s.Traces[0].File, s.Traces[0]}
}

// readJSON reads a file.
func readJSON(t *testing.T, file string, to any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}
