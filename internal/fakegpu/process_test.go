package fakegpu

import (
	"context"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The workload's exit status and its stdio are its own, in both languages.
func TestExits(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		exit   int
		signal string
		dumped bool // the exit handler ran
	}{
		{"ordinary", nil, 0, "", true},
		{"code", []string{"--exit-code", "7"}, 7, "", true},
		{"_exit", []string{"--_exit", "--exit-code", "8"}, 8, "", false},
		{"abort", []string{"--abort"}, -1, "abort", false},
		{"signal", []string{"--signal", "15"}, -1, "terminated", false},
		{"no cuda", []string{"--no-cuda", "--exit-code", "4"}, 4, "", false},
		{"fork", []string{"--fork"}, 0, "", true},
		{"subprocess", []string{"--subprocess"}, 0, "", true},
		{"sleep", []string{"--sleep", "0.01"}, 0, "", true},
	} {
		for _, python := range []bool{false, true} {
			name := c.name
			if python {
				if c.name == "ordinary" || c.name == "sleep" || c.name == "abort" {
					continue // interpreters take long to start
				}
				name += " python"
			}
			t.Run(name, func(t *testing.T) {
				res := runWorkload(t, spec{python: python, stdin: "from stdin\n", args: append([]string{"--print", "--kernels", "9"}, c.args...)})
				if res.exit != c.exit || !strings.Contains(res.signal, c.signal) {
					t.Errorf("exit %d %q, want %d %q; %s", res.exit, res.signal, c.exit, c.signal, res.stderr)
				}
				if want := "workload: this line is for stdout\nfrom stdin\n"; res.stdout != want {
					t.Errorf("stdout %q, want %q", res.stdout, want)
				}
				if want := "workload: this line is for stderr\n"; res.stderr != want {
					t.Errorf("stderr %q, want %q", res.stderr, want)
				}
				if c.dumped {
					checkCounts(t, res, res.records(t, readLayout(t, "130001"), nil))
				} else if c.name == "no cuda" && res.dump != nil {
					t.Error("injected without CUDA")
				}
				others, err := filepath.Glob(res.dumpPath + ".[0-9]*")
				if err != nil {
					t.Fatal(err)
				}
				if got, want := len(others) > 0, c.name == "subprocess"; got != want {
					t.Errorf("files of other processes: %v", others)
				}
			})
		}
	}
}

// A client that calls the library directly.
func TestAPI(t *testing.T) {
	p := Get(t)
	exe := filepath.Join(t.TempDir(), "apicheck")
	if out, err := exec.Command("gcc", "-D_GNU_SOURCE", "-o", exe, "testdata/apicheck.c", "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(exe)
	// Long kernels: they still run when the check flushes.
	cmd.Env = append(append(cleanEnv(), p.Env(CUPTI13)...), "FAKEGPU_KERNEL_NS=2000000", "FAKEGPU_DEVICES=2")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}

	// The check calls the library from its buffer callback: with the library's
	// lock held there, it can never come back.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	locked := exec.CommandContext(ctx, exe)
	locked.Env = append(cmd.Env, "FAKECUPTI_LOCKED_CALLBACKS=1")
	if err := locked.Run(); ctx.Err() == nil {
		t.Errorf("ended with %v, want a deadlock", err)
	}
}

// Switches that cannot be read are refused.
func TestBadSwitches(t *testing.T) {
	for _, s := range []string{"FAKECUPTI_VERSION=new", "FAKECUPTI_SIZES=10:216", "FAKECUPTI_SIZES=10=7", "FAKECUPTI_CLOCK=sundial", "FAKECUPTI_FLUSH_BLOCK=0", "FAKECUPTI_FAIL=cuptiActivityEnable"} {
		res := runWorkload(t, spec{env: []string{s}, args: []string{"--kernels", "9"}})
		name, _, _ := strings.Cut(s, "=")
		if res.exit != -1 || !strings.Contains(res.stderr, name) {
			t.Errorf("%s: exit %d, stderr %q", s, res.exit, res.stderr)
		}
	}
}

// No device: the program's first call fails, whoever is injected.
func TestNoDevice(t *testing.T) {
	res := runWorkload(t, spec{env: []string{"FAKEGPU_DEVICES=0"}})
	if res.exit != launchFailed || !strings.Contains(res.stderr, "cuInit failed") {
		t.Errorf("exit %d: %s", res.exit, res.stderr)
	}
}

// The builds export what their names promise.
func TestExports(t *testing.T) {
	p := Get(t)
	for _, c := range []struct {
		cupti       CUPTI
		file        string
		has, hasNot string
	}{
		{CUPTI13, "libcupti.so.13", "cuptiActivityEnableRuntimeApi", ""},
		{CUPTI12, "libcupti.so.12", "cuptiActivityEnableAllSyncRecords", "cuptiSubscribe_v2"},
		{CUPTI13NoLists, "libcupti.so.13", "cuptiSetThreadIdType", "cuptiActivityEnableDriverApi"},
		{CUPTI13Minimal, "libcupti.so.13", "cuptiActivityFlushAll", "cuptiSetThreadIdType"},
		{CUPTI13Unusable, "libcupti.so.13", "cuptiActivityEnable", "cuptiActivityRegisterCallbacks"},
	} {
		f, err := elf.Open(filepath.Join(p.Dir, string(c.cupti), c.file))
		if err != nil {
			t.Fatal(err)
		}
		syms, err := f.DynamicSymbols()
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		exported := map[string]bool{}
		for _, s := range syms {
			if s.Section != elf.SHN_UNDEF {
				exported[s.Name] = true
			}
		}
		if !exported[c.has] || exported[c.hasNot] {
			t.Errorf("%s: %s exported %t, %s exported %t", c.cupti, c.has, exported[c.has], c.hasNot, exported[c.hasNot])
		}
	}
}

// Many processes may build at once; all get the same, complete build.
func TestBuildConcurrently(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles everything")
	}
	Get(t)
	cache := t.TempDir()
	var wg sync.WaitGroup
	var got [4]Paths
	for i := range got {
		wg.Go(func() {
			var err error
			if got[i], err = Build(cache); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, p := range got {
		if p != got[0] {
			t.Errorf("%v and %v", p, got[0])
		}
		if _, err := os.Stat(p.Workload); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*.tmp*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Without a compiler the error says so, and which one if it is not the usual one: no test
// is skipped for the lack of that.
func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := Build(t.TempDir()); err != ErrNoCompiler {
		t.Errorf("%v", err)
	}
	if _, err := BuildWith("riscv-gcc", t.TempDir()); err == nil || errors.Is(err, ErrNoCompiler) || !strings.Contains(err.Error(), "riscv-gcc") {
		t.Errorf("%v", err)
	}
}
