package main_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
)

// reserved is THREADS of stub/reserve.c.
const reserved = 11

// Go and the agent do with the threads that were put aside, also once the collector
// has had work; all of the process's own have the processors that it had.
func TestThreadsSuffice(t *testing.T) {
	count := func(notrac bool) (most int, cpus map[string]int) {
		o := trial{cupti: fakegpu.CUPTI13, notrac: notrac, args: []string{"--kernels", "20000", "--threads", "1", "--sleep", "2"}, during: func(pid int, _ string) {
			for begin := time.Now(); time.Since(begin) < 2*time.Second; time.Sleep(20 * time.Millisecond) {
				tasks, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/status")
				seen := map[string]int{}
				n := 0
				for _, task := range tasks {
					b, _ := os.ReadFile(task)
					if strings.HasPrefix(string(b), "Name:\tfakecupti\n") {
						continue // the vendor's library's own
					}
					n++
					for line := range strings.Lines(string(b)) {
						if v, ok := strings.CutPrefix(line, "Cpus_allowed:"); ok {
							seen[strings.TrimSpace(v)]++
						}
					}
				}
				most, cpus = max(most, n), seen
			}
		}}.run(t)
		if o.code != 0 {
			t.Fatalf("exit %d: %s", o.code, o.stderr)
		}
		return most, cpus
	}
	alone, _ := count(true)
	traced, cpus := count(false)
	if alone == 0 || traced != alone+reserved {
		t.Errorf("%d threads, %d without the agent, want %d more", traced, alone, reserved)
	}
	if len(cpus) > 1 {
		t.Errorf("threads may run on different processors: %v", cpus)
	}
}

// Threads are made while the Go library is loaded, and the last of them while its
// runtime starts: whichever cannot be made, nothing is recorded, and the program does
// not notice.
func TestThreadsRefused(t *testing.T) {
	few := compile(t, "few", "-shared", "-fPIC", "-ldl")
	for n := range reserved + 1 {
		s := trial{cupti: fakegpu.CUPTI13, args: []string{"--print", "--exit-code", "3"}, stdin: "in\n",
			env: []string{"FAKECUPTI_LOG=", "LD_PRELOAD=" + few, "FEW_THREADS=" + strconv.Itoa(n)}}.untouched(t)
		switch {
		case n == reserved && !s.whole():
			t.Errorf("%d threads: end %+v, losses %q, diagnoses %q, %v", n, s.end, s.losses, s.diagnoses, s.kinds)
		case n < reserved && (!s.refused() || !s.diagnosed("but only "+strconv.Itoa(n)+" could be made")):
			t.Errorf("%d threads: end %+v, losses %q, diagnoses %q", n, s.end, s.losses, s.diagnoses)
		}
	}
}
