package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func boundFaults() []fault {
	const group = "Bounds"
	orderly := func(v timeline.Verdict, kept func(int, int) bool, missing ...string) ending {
		return ending{verdict: v, ended: timeline.EndExit, kept: kept, missing: missing}
	}
	return []fault{
		{group, "`--max-size 4M`", 0, 10, sized(orderly(timeline.Incomplete, some, spool.LossMaxSize), []string{"--max-size", "4M"}, "9000",
			func(a *attempt, tr *trace) {
				if c := tr.record; c.Noted["max_size_dropped_bytes"] == 0 || c.Spool.Bytes > 4<<20+64<<10 {
					a.Errorf("%+v %+v", c, c.Spool)
				}
			})},
		{group, "`--ring 400ms`", 0, 10, sized(orderly(timeline.Complete, some), []string{"--ring", "400ms"}, "5000", ringed)},
		{group, "`--ring 8M`", 0, 10, sized(orderly(timeline.Complete, some), []string{"--ring", "8M"}, "16000", func(a *attempt, tr *trace) {
			ringed(a, tr)
			if n := tr.record.Spool.Bytes; n > 8<<20+64<<10 {
				a.Errorf("%d bytes are left", n)
			}
		})},
		{group, "the buffers run out: one of 64 KiB", 0, 0, exhausted},
		{group, "the disk stands still for a second: four buffers of 64 KiB", 0, 10, slowDisk("4", timeline.Incomplete, some)},
		{group, "the disk stands still for a second: buffers as by default", 0, 10, slowDisk("", timeline.Complete, all)},
	}
}

// sized is a recording with a limit, of two threads of so many launches, that
// takes a second or more.
func sized(e ending, flags []string, kernels string, check func(*attempt, *trace)) func(*attempt) {
	return func(a *attempt) {
		j := a.printing("--kernels", kernels, "--step-sleep-ms", "1")
		j.flags = flags
		_, tr := a.run(j, e)
		check(a, tr)
	}
}

func ringed(a *attempt, tr *trace) {
	a.Helper()
	if tr.record.Noted["ring_dropped_bytes"] == 0 {
		a.Errorf("%+v", tr.record)
	}
	a.remark = "the last of them: complete from the beginning of the window on"
}

func exhausted(a *attempt) {
	j := a.printing("--kernels", "5000")
	j.env = []string{"FLAGOS_TRACE_BUFFERS=1", "FLAGOS_TRACE_BUFFER_SIZE=65536", "FAKECUPTI_CRASH_ON_NULL=1"}
	_, tr := a.run(j, ending{verdict: timeline.Incomplete, ended: timeline.EndExit, kept: some, says: []string{"discarded because the program outran the spool"}})
	if tr.record.Buffers.Discarded == 0 {
		a.Errorf("%+v", tr.record.Buffers)
	}
}

// slowDisk has the thread that writes the spool stand still, as in a write that
// does not come back, while the program goes on.
func slowDisk(buffers string, verdict timeline.Verdict, kept func(int, int) bool) func(*attempt) {
	return func(a *attempt) {
		progress := filepath.Join(a.TempDir(), "progress")
		j := a.printing("--kernels", "3000", "--step-sleep-ms", "3", "--progress", progress)
		e := ending{verdict: verdict, ended: timeline.EndExit, kept: kept}
		if buffers != "" {
			j.env = []string{"FLAGOS_TRACE_BUFFERS=" + buffers, "FLAGOS_TRACE_BUFFER_SIZE=65536"}
			e.says = []string{"discarded because the program outran the spool"}
		}
		r := j.start(a)
		r.until("launches", func() bool { return launched(readProgress(a, progress)) > 300 })
		release := a.stopThread(writerOf(a, r.child()))
		before := launched(readProgress(a, progress))
		time.Sleep(time.Second)
		during := launched(readProgress(a, progress)) - before
		release()
		o := r.wait()
		tr := a.judge(j, o, e, a.countsOf(j).kernels())
		// A program that waits for the disk gets no further than its buffers.
		if during < 300 {
			a.Errorf("%d launches while the writer stood still", during)
		}
		if b := tr.record.Buffers; buffers != "" && b.Discarded == 0 {
			a.Errorf("%+v", b)
		}
		if buffers == "" {
			a.remark = "the program went on meanwhile"
		} else {
			a.remark = "the program went on meanwhile; what no buffer was free for is counted"
		}
	}
}

// writerOf finds the agent's thread that writes.
func writerOf(a *attempt, pid int) int {
	a.Helper()
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/comm", pid))
	for _, name := range names {
		if text, _ := os.ReadFile(name); strings.TrimSpace(string(text)) == spool.OwnThreadPrefix+"write" {
			tid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			if err != nil {
				a.Fatal(err)
			}
			return tid
		}
	}
	a.Fatalf("process %d has no thread %swrite", pid, spool.OwnThreadPrefix)
	return 0
}

// stopThread stops a single thread of another process until release is called. A
// tracer is a thread: one is held for it.
func (a *attempt) stopThread(tid int) (release func()) {
	a.Helper()
	stopped, over, done := make(chan error, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		stopped, done := stopped, done
		lockThread(func() {
			err := ptraceStop(tid)
			stopped <- err
			if err != nil {
				return
			}
			<-over
			done <- unix.PtraceDetach(tid)
		})
	}()
	if err := <-stopped; err != nil {
		a.Skipf("threads of other processes cannot be stopped here: %v", err)
	}
	return func() {
		close(over)
		if err := <-done; err != nil {
			a.Errorf("the writer could not be released: %v", err)
		}
	}
}
