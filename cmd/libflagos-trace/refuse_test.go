package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

// limited wraps a program in a shell that sets a limit first.
func limited(ulimit string) []string {
	return []string{"bash", "-c", "ulimit " + ulimit + ` && exec "$@"`, "-"}
}

// untouched runs a program with the agent and without, which must make no
// difference, and returns what was recorded.
func (tr trial) untouched(t *testing.T) content {
	t.Helper()
	alone := tr
	alone.notrac = true
	want, got := alone.run(t), tr.run(t)
	if got.code != want.code || got.stdout != want.stdout || got.stderr != want.stderr {
		t.Errorf("%q: traced: %d %q %q, untraced: %d %q %q", tr.wrap, got.code, got.stdout, got.stderr, want.code, want.stdout, want.stderr)
	}
	s := got.spool(t)
	if s.torn != 0 || s.damage.Frames != 0 {
		t.Errorf("torn %d, %+v", s.torn, s.damage)
	}
	return s
}

// refused reports whether a spool says that the agent was not started, and holds
// nothing else.
func (c content) refused() bool {
	return c.end != nil && c.end.Reason == "unavailable" && c.buffers == 0 && slices.ContainsFunc(c.losses, func(code string) bool { return code == "agent_not_started" }) &&
		c.diagnosed("the agent was not started: ")
}

// whole reports whether a spool is that of a process that was recorded to its end.
func (c content) whole() bool {
	return c.end != nil && c.end.Reason == "exit" && c.end.Flushed && c.kinds[10] > 0 && len(c.diagnoses)+len(c.losses) == 0
}

// Where the Go runtime would end the program, it is not started, and the spool says
// why.
func TestRefused(t *testing.T) {
	lib := library(t)
	for _, c := range []struct {
		name string
		wrap []string
		part func(t *testing.T) string // returns the library to inject
		want string
	}{
		{"no address space", limited("-v 2000000"), nil, "ulimit -v"},
		{"no data", limited("-d 100000"), nil, "ulimit -d"},
		{"no other part", nil, func(t *testing.T) string { return alone(t, lib, nil) }, "cannot be loaded: "},
		{"damaged", nil, func(t *testing.T) string { return alone(t, lib, []byte("\x7fELF")) }, "cannot be loaded: "},
		{"another library", nil, func(t *testing.T) string { return beside(t, lib, "int something;") }, "of another version"},
		{"another version", nil, func(t *testing.T) string { return beside(t, lib, "unsigned flagos_trace_calls[64] = {7, 256};") }, "of another version"},
		{"Go does not ask for a thread", nil, func(t *testing.T) string {
			return beside(t, lib, `#include "`+testdata(t, "../calls.h")+"\"\nstatic int begin(const ft_host *h) { return h ? -1 : 0; }\n"+
				"const ft_calls flagos_trace_calls = {.abi = FT_CALLS_ABI, .bytes = sizeof(ft_calls), .begin = begin};")
		}, "cannot be started"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := trial{cupti: fakegpu.CUPTI13, wrap: c.wrap, args: []string{"--print", "--exit-code", "3"}, stdin: "in\n", env: []string{"RANK=5", "WORLD_SIZE=8"}}
			if c.part != nil {
				tr.lib = c.part(t)
			}
			s := tr.untouched(t)
			if !s.refused() || !s.diagnosed(c.want) {
				t.Errorf("end %+v, losses %q, diagnoses %q, want %q", s.end, s.losses, s.diagnoses, c.want)
			}
			if h := s.header; h.PID == 0 || h.PPID == 0 || h.Process != "fakegpu-workload" || h.Host == "" || h.StartNS == 0 || h.Env["RANK"] != "5" || h.Env["WORLD_SIZE"] != "8" {
				t.Errorf("header %+v", h)
			}
		})
	}
}

func testdata(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// alone copies the library to inject into a folder of its own, with that for its
// other part, if not nil.
func alone(t *testing.T, lib string, other []byte) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(lib)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(lib)), data, 0o755)
	}
	if err == nil && other != nil {
		err = os.WriteFile(filepath.Join(dir, "libflagos_trace_go.so"), other, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.Base(lib))
}

// beside does so with C text compiled for the other part.
func beside(t *testing.T, lib, text string) string {
	t.Helper()
	copied := alone(t, lib, nil)
	cmd := exec.Command("gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", filepath.Join(filepath.Dir(copied), "libflagos_trace_go.so"))
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return copied
}

// Whatever the limit of address space: all is recorded or nothing, and the program
// does not notice.
func TestAddressSpace(t *testing.T) {
	var whole, refused int
	for kib := 12 << 10; kib <= 200<<20; kib += kib / 2 {
		s := trial{cupti: fakegpu.CUPTI13, wrap: limited(fmt.Sprint("-v ", kib)), args: []string{"--print", "--exit-code", "3"}, stdin: "in\n", env: []string{"FAKECUPTI_LOG="}}.untouched(t)
		switch {
		case s.whole():
			whole++
		case s.refused():
			refused++
		default:
			t.Errorf("%d KiB: end %+v, losses %q, diagnoses %q, %v", kib, s.end, s.losses, s.diagnoses, s.kinds)
		}
	}
	if whole == 0 || refused == 0 {
		t.Errorf("%d recorded, %d refused", whole, refused)
	}
}

// The same for the limit of processes, which does not hold for root.
func TestFewProcesses(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can become a user without other processes")
	}
	if out, err := exec.Command("setpriv", "--reuid=54321", "true").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	fakegpu.Get(t) // or skip
	// The other user has to get at everything.
	dir, err := os.MkdirTemp("", "libflagos-trace")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	gpu, err := fakegpu.Build(filepath.Join(dir, "gpu"))
	if err != nil {
		t.Fatal(err)
	}
	lib := library(t)
	for _, d := range []string{dir, filepath.Dir(gpu.Workload), filepath.Dir(lib)} {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var whole, refused int
	for _, n := range []int{1, 2, 3, 4, 5, 8, 12, 14, 15, 16, 17, 18, 20, 24, 28, 31, 32, 33, 34, 36, 40, 64, 5000} {
		spools := filepath.Join(dir, fmt.Sprint(n))
		if err := os.Mkdir(spools, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(spools, 0o777); err != nil {
			t.Fatal(err)
		}
		wrap := append([]string{"setpriv", "--reuid=54321", "--regid=54321", "--clear-groups", "--"}, limited(fmt.Sprint("-u ", n))...)
		s := trial{cupti: fakegpu.CUPTI13, wrap: wrap, gpu: filepath.Join(dir, "gpu"), spool: spools, prog: gpu.Workload,
			// No more threads than fit, all of which the program must get: with one more
			// it would depend on how soon the others end.
			args: []string{"--print", "--threads", fmt.Sprint(min(n, 4)), "--exit-code", "3"}, stdin: "in\n", env: []string{"FAKECUPTI_LOG="}}.untouched(t)
		switch {
		case s.whole():
			whole++
		case s.refused() && s.diagnosed("ulimit -u"):
			refused++
		default:
			t.Errorf("%d processes: end %+v, losses %q, diagnoses %q, %v", n, s.end, s.losses, s.diagnoses, s.kinds)
		}
	}
	if whole == 0 || refused == 0 {
		t.Errorf("%d recorded, %d refused", whole, refused)
	}
}

// The C interface and a chained library where there is no Go.
func TestRefusedCInterface(t *testing.T) {
	prog := compile(t, "capi", "-ldl")
	other := compile(t, "chain", "-shared", "-fPIC")
	file := filepath.Join(t.TempDir(), "file")
	steps := "stop push pop flush start start stop push pop flush inject inject fork"
	o := trial{cupti: fakegpu.CUPTI13, prog: prog, wrap: limited("-v 2000000"), args: append([]string{library(t)}, strings.Fields(steps)...),
		env: []string{"CUDA_INJECTION64_PATH=", "FLAGOS_TRACE_CHAIN=" + other, "CHAIN_FILE=" + file}}.run(t)
	if got, want := strings.ReplaceAll(strings.TrimSpace(o.stdout), "\n", "|"), "1|1|1 0|1|2|2|2|1|1 0|2|1|1|111 1"; got != want || o.code != 0 || o.stderr != "" {
		t.Errorf("%s: got %s, want %s (exit %d, stderr %q)", steps, got, want, o.code, o.stderr)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "started" {
		t.Errorf("the chained library: %q %v", b, err)
	}
	if s := o.spool(t); !s.refused() {
		t.Errorf("%+v", s.end)
	}
}

// No room for a spool, either: not even the limit of file sizes ends the program.
func TestRefusedWithoutSpool(t *testing.T) {
	wrap := []string{"bash", "-c", `ulimit -v 2000000; ulimit -f 0; exec env --default-signal=XFSZ "$@"`, "-"}
	o := trial{cupti: fakegpu.CUPTI13, wrap: wrap, env: []string{"FAKECUPTI_LOG="}, args: []string{"--exit-code", "3"}}.run(t)
	if o.code != 3 || o.stdout+o.stderr != "" || len(o.spools(t)) != 0 {
		t.Errorf("exit %d, %q %q, spools %v", o.code, o.stdout, o.stderr, o.spools(t))
	}
}

// A library that is only loaded changes nothing: there is no thread, and no
// handler of a signal.
func TestOnlyLoaded(t *testing.T) {
	prog := compile(t, "guest", "-pthread", "-ldl")
	lib := library(t)
	for _, l := range []string{lib, filepath.Join(filepath.Dir(lib), "libflagos_trace_go.so")} {
		o := trial{cupti: fakegpu.CUPTI13, prog: prog, args: []string{"loaded", l}, notrac: true}.run(t)
		if got := strings.TrimSpace(o.stdout); got != "1 threads, 0 handlers changed, mask kept" || o.code != 0 {
			t.Errorf("%s: %q, exit %d, %q", l, got, o.code, o.stderr)
		}
	}
	// As for a program that is linked with the library and records nothing.
	o := trial{cupti: fakegpu.CUPTI13, prog: prog, args: []string{"loaded", lib}, env: []string{"FLAGOS_TRACE_DIR=", "CUDA_INJECTION64_PATH=" + lib}}.run(t)
	if got := strings.TrimSpace(o.stdout); got != "1 threads, 0 handlers changed, mask kept" || len(o.spools(t)) != 0 {
		t.Errorf("%q, spools %v", got, o.spools(t))
	}
}
