package reliability

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func signalFaults() []fault {
	const group = "Signals"
	return []fault{
		{group, "SIGTERM to the program", 0, 0, signalled(syscall.SIGTERM, func(a *attempt, r *recording) { kill(a, r.child(), syscall.SIGTERM) })},
		{group, "SIGTERM to `flagos-trace` alone", 0, 0, signalled(syscall.SIGTERM, func(_ *attempt, r *recording) { r.signal(syscall.SIGTERM) })},
		{group, "SIGINT to `flagos-trace` alone", 0, 0, signalled(syscall.SIGINT, func(_ *attempt, r *recording) { r.signal(syscall.SIGINT) })},
		{group, "SIGTERM to the whole process group", 0, 0, signalled(syscall.SIGTERM, func(a *attempt, r *recording) { kill(a, -r.pid(), syscall.SIGTERM) })},
		{group, "Ctrl-C at the terminal", 2, 0, atTerminal(syscall.SIGINT, func(a *attempt, master *os.File) {
			if _, err := master.WriteString("\x03"); err != nil {
				a.Fatal(err)
			}
		})},
		{group, "the terminal goes away", 0, 0, atTerminal(syscall.SIGHUP, func(_ *attempt, master *os.File) { master.Close() })},
		{group, "Ctrl-C at the terminal, in Python", 0, 0, interruptedPython},
		{group, "the program ignores SIGTERM and goes on to its end", 0, 0, ignoresTerm},
		{group, "the program ignores SIGTERM; `--kill-after`", 0, 0, ignoresTermKilled},
		{group, "the program handles SIGTERM and exits with 7", 0, 0, handlesTerm},
	}
}

// signalled is a program that dies of a signal, however it comes, once.
func signalled(sig syscall.Signal, send func(*attempt, *recording)) func(*attempt) {
	return func(a *attempt) {
		args, file := a.endless("progress")
		j := job{args: args}
		r := j.start(a)
		a.sometime(r, file)
		killed := time.Now()
		send(a, r)
		tr := a.judge(j, r.wait(), dead(sig), -1)
		a.keptUntil(tr, readProgress(a, file), killed)
	}
}

// dead is the end of a program that a signal killed.
func dead(sig syscall.Signal) ending {
	name := unix.SignalName(sig)
	return ending{status: 128 + int(sig), signal: name, verdict: timeline.Unknown, ended: timeline.EndCut,
		says: []string{"was killed by " + name + " after", "may be missing"}}
}

// atTerminal is a program at a terminal of its own, which is dealt with.
func atTerminal(sig syscall.Signal, deal func(a *attempt, master *os.File)) func(*attempt) {
	return func(a *attempt) {
		master, tty := a.terminal()
		args, file := a.endless("progress")
		j := job{args: args, tty: tty}
		r := j.start(a)
		tty.Close()
		a.sometime(r, file)
		killed := time.Now()
		deal(a, master)
		tr := a.judge(j, r.wait(), dead(sig), -1)
		a.keptUntil(tr, readProgress(a, file), killed)
	}
}

// terminal opens a pseudo terminal.
func (a *attempt) terminal() (master, tty *os.File) {
	a.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		a.Skipf("no pseudo terminals here: %v", err)
	}
	a.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		a.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		a.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { tty.Close() })
	return master, tty
}

// interruptedPython: Python ends as it does without the recorder, by SIGINT after
// its traceback.
func interruptedPython(a *attempt) {
	python, workload := a.python()
	master, tty := a.terminal()
	go func() { _, _ = io.Copy(io.Discard, master) }() // the echo
	counts := filepath.Join(a.TempDir(), "counts")
	j := job{command: []string{python, workload}, args: []string{"--kernels", "180", "--counts", counts, "--sleep", "30"}, tty: tty}
	r := j.start(a)
	r.until("the end of the launches", func() bool { st, err := os.Stat(counts); return err == nil && st.Size() > 0 })
	time.Sleep(2 * promised)
	if _, err := master.WriteString("\x03"); err != nil {
		a.Fatal(err)
	}
	e := dead(syscall.SIGINT)
	e.kept, e.says = all, append(e.says, "KeyboardInterrupt\n")
	a.judge(j, r.wait(), e, readCounts(a, counts).kernels())
}

// deaf has a shell ignore SIGTERM for the workload.
func (a *attempt) deaf(args ...string) (j job, counts, progress string) {
	dir := a.TempDir()
	counts, progress = filepath.Join(dir, "counts"), filepath.Join(dir, "progress")
	return job{command: []string{"sh", "-c", `trap "" TERM; exec "$0" "$@"`, fakegpu.Get(a).Workload},
		args: append([]string{"--counts", counts, "--progress", progress, "--step-sleep-ms", "3"}, args...)}, counts, progress
}

func ignoresTerm(a *attempt) {
	j, counts, progress := a.deaf(append([]string{"--exit-code", "6"}, usual...)...)
	r := j.start(a)
	r.until("launches", func() bool { return launched(readProgress(a, progress)) > 300 })
	r.signal(syscall.SIGTERM)
	o := r.wait()
	tr := a.judge(j, o, ending{status: 6, verdict: timeline.Complete, ended: timeline.EndExit, kept: all}, readCounts(a, counts).kernels())
	a.whole(tr)
}

func ignoresTermKilled(a *attempt) {
	j, _, progress := a.deaf("--kernels", "100000")
	j.flags = []string{"--kill-after", "300ms"}
	r := j.start(a)
	a.sometime(r, progress)
	asked := time.Now()
	r.signal(syscall.SIGTERM)
	e := dead(syscall.SIGKILL)
	e.says, e.inTrace = append(e.says, "--kill-after"), []string{"it was killed by flagos-trace since it still ran 300ms after SIGTERM (--kill-after)"}
	tr := a.judge(j, r.wait(), e, -1)
	// It is killed no sooner than that.
	a.keptUntil(tr, readProgress(a, progress), asked.Add(300*time.Millisecond))
}

func handlesTerm(a *attempt) {
	python, workload := a.python()
	counts := filepath.Join(a.TempDir(), "counts")
	j := job{command: []string{python, absolute(a, "testdata/onterm.py"), workload}, args: []string{"--kernels", "180", "--counts", counts, "--sleep", "30"}}
	r := j.start(a)
	r.until("the end of the launches", func() bool { st, err := os.Stat(counts); return err == nil && st.Size() > 0 })
	r.signal(syscall.SIGTERM)
	a.judge(j, r.wait(), ending{status: 7, verdict: timeline.Complete, ended: timeline.EndExit, kept: all}, readCounts(a, counts).kernels())
}
