package agent

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
	"golang.org/x/sys/unix"
)

// Some of what the agent does to its process can only be seen in one where
// nothing else was done: there the test binary runs a scenario instead.
func TestMain(m *testing.M) {
	if name := os.Getenv("AGENT_SCENARIO"); name != "" {
		scenarios[name](os.Getenv("AGENT_SCENARIO_DIR"))
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var scenarios = map[string]func(dir string){"threads": threadsScenario, "descriptors": descriptorsScenario, "settings": settingsScenario, "limited": limitedScenario}

// scenario runs one in a process of its own and returns what it printed.
func scenario(t *testing.T, name string, vars ...string) (out, dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "AGENT_SCENARIO="+name, "AGENT_SCENARIO_DIR="+dir), vars...)
	b, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, b)
	}
	return string(b), dir
}

func scenarioAgent(dir string) (*Agent, *fakeShim) {
	s := newFakeShim()
	s.counts.Requested = 1
	b := &fakeBinding{shim: s}
	return New(s, env(map[string]string{EnvDir: dir, EnvDebug: "debug", EnvExitTimeout: "2000"}), "test",
		[]Candidate{{Name: "fake", Open: func(func(string) string) (tracer.Binding, error) { return b, nil }}}), s
}

func countThreads() int {
	tids, _ := taskIDs()
	return len(tids)
}

// threadsScenario prints the threads after the injection, and after the runtime
// was given every reason to make more.
func threadsScenario(dir string) {
	a, _ := scenarioAgent(dir)
	a.Inject()
	before := countThreads()
	for range 3 {
		runtime.GC()
		done := make(chan bool)
		for range 4 { // as many at once as there are ways in
			go func() { a.Flush(); unix.Nanosleep(&unix.Timespec{Nsec: 5e6}, nil); done <- true }()
		}
		for range 4 {
			<-done
		}
	}
	fmt.Printf("%d %d %d", before, countThreads(), len(a.own.tids))
}

// After the injection no more threads are made.
func TestThreadsAreMadeFirst(t *testing.T) {
	out, _ := scenario(t, "threads")
	var before, after, own int
	if _, err := fmt.Sscan(out, &before, &after, &own); err != nil {
		t.Fatalf("%q: %v", out, err)
	}
	// The runtime of the test binary may make a thread for its own housekeeping at
	// any time; the agent's work alone would make several.
	if after > before+1 || own < spareThreads {
		t.Errorf("%d threads after the injection, %d later, %d made for it", before, after, own)
	}
}

// descriptorsScenario has no free descriptor, then two, then one for all its
// life, and prints what is open in the end.
func descriptorsScenario(dir string) {
	fill := func(leave int) (fds []int) {
		for {
			fd, err := guest.Open("/dev/null", unix.O_RDONLY, 0)
			if err != nil {
				break
			}
			fds = append(fds, fd)
		}
		for _, fd := range fds[len(fds)-leave:] {
			unix.Close(fd)
		}
		return fds[:len(fds)-leave]
	}
	empty := func(fds []int) {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_NOFILE, &limit)
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: limit.Max})
	for _, leave := range []int{0, 1, 2} {
		fds := fill(leave)
		a, _ := scenarioAgent(dir)
		a.Inject()
		if a.state.Load() != inert || a.Start() != Inactive {
			fmt.Printf("%d free: state %d; ", leave, a.state.Load())
		}
		empty(fds)
	}
	a, s := scenarioAgent(dir)
	a.Inject()
	fds := fill(0)
	if c := a.Start(); c != OK {
		fmt.Printf("Start: %d; ", c)
	}
	unix.Nanosleep(&unix.Timespec{Sec: 1, Nsec: 3e8}, nil)
	if c := a.Flush(); c != OK {
		fmt.Printf("Flush: %d; ", c)
	}
	s.exit()
	empty(fds)
	for fd := range 64 {
		buf := make([]byte, 100)
		if n, err := unix.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd), buf); err == nil && strings.Contains(string(buf[:n]), "anon_inode") {
			fmt.Printf("%s; ", buf[:n])
		}
	}
}

// A full table of descriptors costs records, not the process; and the runtime's
// poller, which the process would die of, is never made.
func TestDescriptors(t *testing.T) {
	out, dir := scenario(t, "descriptors")
	if out != "" {
		t.Error(out)
	}
	if list, _ := types(t, dir); list[len(list)-1] != spool.TypeEnd {
		t.Errorf("frames %v", list)
	}
}

func settingsScenario(dir string) {
	a, _ := scenarioAgent(dir)
	a.Inject()
	fmt.Print(debug.SetGCPercent(100), " ", debug.SetMemoryLimit(-1))
}

// What the program's environment asks of Go programs is not meant for the agent.
func TestSettings(t *testing.T) {
	if out, _ := scenario(t, "settings", "GOGC=off", "GOMEMLIMIT=1MiB"); out != "100 9223372036854775807" {
		t.Errorf("collector: %s", out)
	}
}

func TestLatch(t *testing.T) {
	var l latch
	begin := time.Now()
	if l.wait(begin.Add(20*time.Millisecond)) || time.Since(begin) < 20*time.Millisecond {
		t.Error("a closed latch let through")
	}
	go func() { time.Sleep(10 * time.Millisecond); l.open() }()
	if !l.wait(time.Now().Add(20*time.Second)) || !l.wait(time.Time{}) {
		t.Error("an open latch did not let through")
	}
}

// Threads that were made to see whether they can be are gone again.
func TestCanStart(t *testing.T) {
	if !canStart(4) {
		t.Error("no threads can be made")
	}
	if out, _ := scenario(t, "limited"); out != "" {
		t.Error(out)
	}
}

// limitedScenario has no address space left for threads.
func limitedScenario(dir string) {
	if n := countThreads(); canStart(3) && countThreads() > n {
		fmt.Printf("%d threads before, %d after; ", n, countThreads())
	}
	var limit unix.Rlimit
	_ = unix.Getrlimit(unix.RLIMIT_AS, &limit)
	b, _ := guest.ReadFile("/proc/self/statm")
	pages := uint64(0)
	fmt.Sscan(string(b), &pages)
	_ = unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: pages*4096 + 12<<20, Max: limit.Max})
	if canStart(spareThreads) {
		fmt.Print("threads in no memory; ")
	}
	a, s := scenarioAgent(dir)
	a.Inject()
	if a.state.Load() != failed || a.Start() != Unavailable {
		fmt.Printf("state %d; ", a.state.Load())
	}
	<-s.done
}

// Whose threads are left, once the main one is gone.
func TestOwnThreads(t *testing.T) {
	const all = ^uint64(0) &^ (1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1))
	goes := all &^ uint64(1<<(unix.SIGCHLD-1)|1<<(unix.SIGSTKFLT-1))
	for _, c := range []struct {
		own, mask uint64
		want      bool
	}{
		{goes, goes, true},
		{goes, all, false},
		{all, all, false}, // as a program's own thread may
		{goes, 0, false},
		{0, 0, false}, // the runtime's threads look like the program's
		{1 << (unix.SIGTERM - 1), 1 << (unix.SIGTERM - 1), false},
	} {
		if got := (ownThreads{masks: [2]uint64{c.own, c.own | 1<<(unix.SIGCHLD-1)}}).marks(c.mask); got != c.want {
			t.Errorf("own %x, thread %x: %v", c.own, c.mask, got)
		}
	}
	if m, ok := blocked("Name:\tx\nSigBlk:\tfffffffe7ffabeff\nSigIgn:\t0\n"); !ok || m != 0xfffffffe7ffabeff {
		t.Errorf("mask %x %v", m, ok)
	}
	if _, ok := blocked("Name:\tx\n"); ok {
		t.Error("a mask out of nothing")
	}
	if s := taskState(unix.Gettid()); s != 'R' {
		t.Errorf("state %c", s)
	}
	if (&Agent{}).orphaned() {
		t.Error("the main thread is not gone")
	}
}
