package reliability

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/ctl"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/spool"
)

var soakTime = flag.Duration("soak", 8*time.Second, "how long TestSoak records")

// workload is the path of the look-alike's workload.
func workload(t testing.TB) string { return fakegpu.Get(t).Workload }

// What memory may grow by between the second fifth of a soak and its last, bytes.
const maxGrowth = 8 << 20

// TestSoak records for long, with windows opened and closed from outside, and
// watches the memory of the program and of flagos-trace, and the spool.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes time")
	}
	for _, c := range []struct {
		name  string
		flags []string
		sleep string // of a step of 9 launches, ms, in each of 4 threads
		ring  int64  // bytes
	}{
		{"ring", []string{"--ring", "8M"}, "2", 8 << 20},
		{"unbounded", nil, "20", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			seconds := strconv.Itoa(int(soakTime.Seconds()))
			r := job{flags: c.flags, args: []string{"--kernels", "100000000", "--threads", "4", "--streams", "4", "--graphs", "0",
				"--seconds", seconds, "--step-sleep-ms", c.sleep}, limit: *soakTime + 2*time.Minute}.start(t)
			peak := watchPeak(r.pid())
			s := soak{recording: r, spools: r.folder()}
			s.watch(*soakTime)
			o := r.wait()
			if o.status != 0 || o.summary == nil || len(o.summary.Traces) != 1 || len(o.summary.Failures) > 0 {
				t.Fatalf("status %d, %+v; said:\n%s", o.status, o.summary, o.stderr)
			}
			s.judge(t, c.ring)
			tr := tallyOf(t, filepath.Join(o.dir, o.summary.Traces[0].File))
			if tr.kernels == 0 || len(tr.twice) > 0 || tr.begin.lacks(&tr.end) != 0 || tr.end.lacks(&tr.begin) != 0 {
				t.Errorf("%d kernels, twice: %v, %d and %d arrows with one end", tr.kernels, tr.twice, tr.begin.lacks(&tr.end), tr.end.lacks(&tr.begin))
			}
			// Where a window opens each thread may be within a launch.
			if n := tr.call.lacks(&tr.kernel); n != int(tr.record.Unlinked["kernel"]) || n > 4*(s.windows+1) {
				t.Errorf("%d of %d kernels without an API call, the trace says %v", n, tr.kernels, tr.record.Unlinked)
			}
			if c.ring == 0 {
				tr.complete(t)
			} else if s.disk >= c.ring && tr.record.Noted["ring_dropped_bytes"] == 0 {
				t.Errorf("a full ring is said to have dropped nothing: %+v", tr.record)
			}
			t.Logf("%v, %d windows, %d kernels in the trace, flagos-trace at most %d MB resident with writing the trace; %s", *soakTime, s.windows, tr.kernels, <-peak>>20, s.story)
		})
	}
}

// soak is a recording that is watched.
type soak struct {
	*recording
	program int
	spools  string
	windows int // opened from outside
	samples []sample
	disk    int64 // most that the spool had, bytes
	story   string
}

// sample is what was seen at a time; bytes.
type sample struct {
	at                               time.Duration
	program, buffers, recorder, disk int64 // program is without the buffers
}

// watch opens and closes windows and takes samples, nearly as long as the program
// runs.
func (s *soak) watch(length time.Duration) {
	s.t.Helper()
	target := s.target()
	s.program = target.PID
	tick := max(length/400, 50*time.Millisecond)
	// A window closes after a tenth of the time or three seconds, and opens after a
	// third of that.
	open, closed := min(length/10, 3*time.Second), min(length/30, time.Second)
	begin := time.Now()
	recording, since := true, begin
	for time.Since(begin) < length-length/20-500*time.Millisecond {
		switch now := time.Now(); {
		case recording && now.Sub(since) >= open:
			s.ask(target, spool.CommandStop, false)
			recording, since = false, now
		case !recording && now.Sub(since) >= closed:
			s.ask(target, spool.CommandStart, true)
			recording, since = true, now
			s.windows++
		}
		resident, buffers := memory(s.program)
		recorder, _ := memory(s.pid())
		s.samples = append(s.samples, sample{time.Since(begin), resident - buffers, buffers, recorder, folderSize(s.spools)})
		time.Sleep(tick)
	}
	if !recording {
		s.ask(target, spool.CommandStart, true)
		s.windows++
	}
}

// target waits until the program can be controlled.
func (s *soak) target() ctl.Target {
	s.t.Helper()
	for begin := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		list, err := ctl.Find(s.pid())
		if err == nil && len(list) == 1 {
			return list[0]
		}
		if time.Since(begin) > 30*time.Second {
			s.t.Fatalf("the program cannot be controlled: %v, %v; said:\n%s", list, err, s.said())
		}
	}
}

func (s *soak) ask(target ctl.Target, command string, armed bool) {
	s.t.Helper()
	reply, err := ctl.Ask(target, command, 10*time.Second)
	if err != nil || !reply.OK || reply.Armed != armed {
		s.t.Fatalf("%s: %+v, %v", command, reply, err)
	}
}

// judge compares the memory after a warm-up with that at the end, and the spool
// with its bound.
func (s *soak) judge(t *testing.T, ring int64) {
	t.Helper()
	n := len(s.samples)
	if n < 20 || s.windows == 0 {
		t.Fatalf("%d samples, %d windows", n, s.windows)
	}
	middle := func(from, to int, of func(sample) int64) int64 {
		var list []int64
		for _, x := range s.samples[from:to] {
			list = append(list, of(x))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	var text []string
	for _, what := range []struct {
		name  string
		bound int64 // of the growth, 0 for none
		of    func(sample) int64
	}{
		{"program", maxGrowth, func(x sample) int64 { return x.program }},
		{"flagos-trace", maxGrowth, func(x sample) int64 { return x.recorder }},
		{"buffers", 0, func(x sample) int64 { return x.buffers }},
	} {
		early, late := middle(n/5, 2*n/5, what.of), middle(4*n/5, n, what.of)
		text = append(text, fmt.Sprintf("%s %.1f MB then %.1f MB", what.name, mb(early), mb(late)))
		if early <= 0 && what.bound > 0 {
			t.Errorf("the memory of %s could not be read", what.name)
		}
		if what.bound > 0 && late-early > what.bound {
			t.Errorf("%s grew from %.1f MB to %.1f MB", what.name, mb(early), mb(late))
		}
	}
	var buffers int64
	for _, x := range s.samples {
		s.disk, buffers = max(s.disk, x.disk), max(buffers, x.buffers)
	}
	most := s.disk
	// What is kept may be a quarter more than asked for, and what is being written.
	if ring > 0 && most > ring+ring/4+(2<<20) {
		t.Errorf("the spool grew to %.1f MB with a ring of %.1f MB", mb(most), mb(ring))
	}
	if most == 0 {
		t.Error("the spool could not be measured")
	}
	s.story = fmt.Sprintf("resident %s (at most %.1f MB), spool at most %.1f MB", strings.Join(text, ", "), mb(buffers), mb(most))
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }

// poolBytes is the size of the agent's pool of buffers as it is mapped: 64 of 2 MB.
const poolBytes = 128 << 20

// memory returns what is resident of a process and, of that, of the agent's
// buffers, bytes; 0 if there is no such process.
func memory(pid int) (resident, buffers int64) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps", pid))
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	pool := false
	for in := bufio.NewScanner(f); in.Scan(); {
		field := strings.Fields(in.Text())
		if from, to, ok := strings.Cut(field[0], "-"); ok && len(field) >= 5 {
			a, _ := strconv.ParseUint(from, 16, 64)
			b, _ := strconv.ParseUint(to, 16, 64)
			pool = len(field) == 5 && field[1] == "rw-p" && b-a >= poolBytes && b-a < 2*poolBytes
		} else if field[0] == "Rss:" {
			kb, _ := strconv.ParseInt(field[1], 10, 64)
			resident += kb << 10
			if pool {
				buffers += kb << 10
			}
		}
	}
	return resident, buffers
}

// watchPeak follows a process until it is gone, and then tells the most that was
// ever resident of it, bytes.
func watchPeak(pid int) <-chan int64 {
	answer := make(chan int64, 1)
	go func() {
		var peak int64
		for {
			now := statusBytes(pid, "VmHWM:")
			if now == 0 {
				answer <- peak
				return
			}
			peak = now
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return answer
}

// statusBytes reads a line of /proc/PID/status, 0 if it is not there.
func statusBytes(pid int, key string) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == key {
			kb, _ := strconv.ParseInt(f[1], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// folderSize is the size of the files in a folder, bytes.
func folderSize(dir string) (n int64) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
	}
	return n
}
