package main_test

import (
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

func TestExports(t *testing.T) {
	lib := library(t)
	for path, want := range map[string]string{
		lib: "InitializeInjection InitializeInjectionNvtx2 flagos_trace_flush flagos_trace_host_attach flagos_trace_host_own flagos_trace_host_state flagos_trace_pop_external_id flagos_trace_push_external_id flagos_trace_start flagos_trace_stop",
		filepath.Join(filepath.Dir(lib), "libflagos_trace_go.so"): "flagos_trace_calls",
	} {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		syms, err := f.DynamicSymbols()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range syms {
			if s.Section != elf.SHN_UNDEF {
				got = append(got, s.Name)
			}
		}
		sort.Strings(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s exports %s\nwant    %s", path, got, want)
		}
	}
}

// However a program ends, it ends as it would have, says what it would have
// said, and leaves a readable spool.
func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		args    []string
		orderly bool
	}{
		{"exit 0", nil, true},
		{"exit 3", []string{"--exit-code", "3"}, true},
		{"_exit", []string{"--_exit", "--exit-code", "4"}, false},
		{"abort", []string{"--abort"}, false},
		{"SIGTERM", []string{"--signal", "15"}, false},
		{"SIGSEGV", []string{"--signal", "11"}, false},
		{"SIGKILL", []string{"--signal", "9"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := append([]string{"--print", "--sleep", "0.4"}, c.args...)
			plain := trial{cupti: fakegpu.CUPTI13, args: args, stdin: "in\n", notrac: true}.run(t)
			file := filepath.Join(t.TempDir(), "counts")
			o := trial{cupti: fakegpu.CUPTI13, args: append(args, "--counts", file), stdin: "in\n"}.run(t)
			if o.code != plain.code || o.stdout != plain.stdout || o.stderr != plain.stderr {
				t.Errorf("traced: %d %q %q, untraced: %d %q %q", o.code, o.stdout, o.stderr, plain.code, plain.stdout, plain.stderr)
			}
			s := o.spool(t)
			if s.torn != 0 || s.damage.Frames != 0 {
				t.Errorf("torn %d, %+v", s.torn, s.damage)
			}
			if (s.end != nil) != c.orderly {
				t.Errorf("end: %+v", s.end)
			}
			if c.orderly && (s.end.Reason != "exit" || !s.end.Flushed) {
				t.Errorf("end: %+v", s.end)
			}
			// All was finished 0.4 s before the end, so nothing may be missing.
			n := readCounts(t, file)
			if got, want := s.kinds[10], n.Launches+n.GraphKernels; got != want || s.named() != want {
				t.Errorf("%d kernels, %d named, want %d", got, s.named(), want)
			}
			if s.kinds[1] != n.Memcpys || s.kinds[2] != n.Memsets {
				t.Errorf("%d copies and %d fills, want %d and %d", s.kinds[1], s.kinds[2], n.Memcpys, n.Memsets)
			}
			if len(s.diagnoses) > 0 {
				t.Errorf("diagnoses: %q", s.diagnoses)
			}
			if len(s.clocks) < 2 || s.clocks[1].Vendor == 0 || s.clocks[1].Monotonic == 0 || s.clocks[1].MonotonicRaw == 0 {
				t.Errorf("clocks: %+v", s.clocks)
			}
			if len(s.devices) != 1 || s.devices[0].Attributes["numSms"] != 132 || s.devices[0].Attributes["reservedSharedMemPerBlock"] != 1024 || s.binding.Driver == 0 {
				t.Errorf("devices %+v, binding %+v", s.devices, s.binding)
			}
		})
	}
}

// Without a pause before the exit, the forced flush brings the rest.
func TestLastRecords(t *testing.T) {
	forced := 0
	for _, env := range [][]string{nil, {"FAKEGPU_ATEXIT_AFTER_INJECTION=1"}, {"FAKECUPTI_LOCKED_CALLBACKS=1"}, {"FAKECUPTI_PER_THREAD=1"}} {
		file := filepath.Join(t.TempDir(), "counts")
		o := trial{cupti: fakegpu.CUPTI13, env: env, args: []string{"--kernels", "2000", "--threads", "8", "--counts", file}}.run(t)
		s := o.spool(t)
		n := readCounts(t, file)
		if o.code != 0 || s.kinds[10] != n.Launches+n.GraphKernels || s.end == nil || !s.end.Flushed {
			t.Errorf("%v: exit %d, %d kernels of %d, end %+v, %d forced buffers, %q", env, o.code, s.kinds[10], n.Launches+n.GraphKernels, s.end, s.forced, s.diagnoses)
		}
		if c := s.counters; c.BuffersRequested != c.BuffersDelivered || c.BuffersDelivered != uint64(s.buffers) || c.BuffersDiscarded != 0 {
			t.Errorf("%v: %+v, %d buffers in the spool", env, c, s.buffers)
		}
		forced += int(s.forced)
	}
	// In one of them the last fetch may have come just before the exit; not in all.
	if forced == 0 {
		t.Error("no buffer was forced out at an exit")
	}
}

// Records reach the spool while the program runs.
func TestKilledWhileRunning(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, args: []string{"--sleep", "50"}, during: func(pid int, dir string) {
		for range 200 {
			time.Sleep(50 * time.Millisecond)
			if list, _ := filepath.Glob(dir + "/*.spool"); len(list) == 1 && read(t, list[0]).kinds[10] > 0 {
				break
			}
		}
		syscall.Kill(pid, syscall.SIGKILL)
	}}.run(t)
	s := o.spool(t)
	if o.code != 137 || s.kinds[10] == 0 || s.end != nil || s.torn != 0 {
		t.Errorf("exit %d, %d kernels, end %+v, torn %d", o.code, s.kinds[10], s.end, s.torn)
	}
}

// Forked children leave nothing; a program started by the traced one has a
// spool of its own.
func TestChildren(t *testing.T) {
	o := trial{cupti: fakegpu.CUPTI13, args: []string{"--fork", "--exit-code", "5"}}.run(t)
	if o.code != 5 {
		t.Errorf("exit %d: %s", o.code, o.stderr)
	}
	if s := o.spool(t); s.end == nil {
		t.Error("no end")
	}
	o = trial{cupti: fakegpu.CUPTI13, args: []string{"--fork", "--subprocess"}}.run(t)
	list := o.spools(t)
	if o.code != 0 || len(list) != 2 {
		t.Fatalf("exit %d, spools %v", o.code, list)
	}
	a, b := read(t, list[0]), read(t, list[1])
	if a.header.PID == b.header.PID || a.end == nil || b.end == nil || (a.header.PPID != b.header.PID && b.header.PPID != a.header.PID) {
		t.Errorf("%+v\n%+v", a.header, b.header)
	}
}

// No thread of the library may be picked to handle a signal of the program, and
// the program's own threads keep their masks.
func TestSignalMasks(t *testing.T) {
	masks := map[string][]uint64{}
	trial{cupti: fakegpu.CUPTI13, args: []string{"--sleep", "50", "--threads", "1"}, during: func(pid int, dir string) {
		defer syscall.Kill(pid, syscall.SIGKILL)
		for range 200 {
			time.Sleep(50 * time.Millisecond)
			list, _ := filepath.Glob(dir + "/*.spool")
			if len(list) == 1 && read(t, list[0]).kinds[10] > 0 {
				break
			}
		}
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		for _, task := range tasks {
			b, err := os.ReadFile(task)
			if err != nil {
				continue
			}
			who, blocked := "other", uint64(0)
			for _, line := range strings.Split(string(b), "\n") {
				name, value, _ := strings.Cut(line, ":\t")
				switch {
				case name == "Name" && strings.HasPrefix(value, "flagos-"):
					who = "agent"
				case name == "Pid" && value == strconv.Itoa(pid):
					who = "main"
				case name == "SigBlk":
					blocked, _ = strconv.ParseUint(value, 16, 64)
				}
			}
			masks[who] = append(masks[who], blocked)
		}
	}}.run(t)
	if len(masks["main"]) != 1 || masks["main"][0] != 0 {
		t.Errorf("main thread blocks %x", masks["main"])
	}
	if len(masks["agent"]) != 3 {
		t.Errorf("%d threads of the agent", len(masks["agent"]))
	}
	// Go takes the faults back on threads of its own. Without SIGCHLD a program
	// that waits for it in a signalfd misses its children; see TestGuestSignals.
	const usual = 1<<(syscall.SIGCHLD-1) | 1<<(syscall.SIGPROF-1) | 1<<(syscall.SIGTERM-1) | 1<<(syscall.SIGINT-1) | 1<<(syscall.SIGHUP-1) | 1<<(syscall.SIGUSR1-1) | 1<<(syscall.SIGALRM-1)
	// The look-alike's worker blocks what the real one does; all other threads
	// are Go's.
	for _, m := range append(masks["agent"], masks["other"]...) {
		if m&usual != usual {
			t.Errorf("a thread of the library blocks only %x", m)
		}
	}
}
