package reliability

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// pause lets the agent fetch everything before a program ends without it.
var pause = []string{"--sleep", "0.5"}

func deathFaults() []fault {
	const group = "How a program dies"
	cut := func(status int, signal string) ending {
		return ending{status: status, signal: signal, verdict: timeline.Unknown, ended: timeline.EndCut, kept: all, says: []string{"may be missing"}}
	}
	after := func(args ...string) []string { return append(append([]string{}, pause...), args...) }
	return []fault{
		{group, "it exits with a status of its own", 0, 0, simple(nil, []string{"--exit-code", "3"},
			ending{status: 3, verdict: timeline.Complete, ended: timeline.EndExit, kept: all, says: []string{"exited with 3 after"}})},
		{group, "an exception ends Python", 0, 0, pythonException},
		{group, "`abort`, half a second after its last launch", 0, 0, simple(nil, after("--abort"), cut(128+6, "SIGABRT"))},
		{group, "segmentation fault, half a second after its last launch", 0, 0, simple(nil, after("--crash"), cut(128+11, "SIGSEGV"))},
		{group, "it sends itself SIGSEGV, half a second after its last launch", 0, 0, simple(nil, after("--signal", "11"), cut(128+11, "SIGSEGV"))},
		{group, "`_exit`, half a second after its last launch", 0, 0, simple(nil, after("--_exit", "--exit-code", "4"), cut(4, ""))},
		{group, "`os._exit` in Python, half a second after its last launch", 0, 0, pythonExit},
		{group, "SIGKILL, half a second after its last launch", 0, 0, simple(nil, after("--signal", "9"), cut(128+9, "SIGKILL"))},
		{group, "`abort` at once after its last launch", 2, 0, atOnce("--abort", 128+6, "SIGABRT")},
		{group, "`_exit` at once after its last launch", 2, 0, atOnce("--_exit", 0, "")},
		{group, "SIGKILL in the middle of launching", 3, 0, killedRunning},
		{group, "SIGKILL of all its processes, not of `flagos-trace`", 2, 0, killedTree},
		{group, "SIGKILL as it starts", 2, 0, killedAtStart},
		{group, "SIGKILL of `flagos-trace` alone, then `recover`", 0, 0, recorderKilled},
		{group, "SIGKILL of `flagos-trace` and of the program, then `recover`", 2, 0, bothKilled},
		{group, "it hangs in an exit handler and ignores SIGTERM; `--kill-after`", 0, 0, hangsInExit},
	}
}

// endless is a workload that goes on until it is killed, at some 5,000 launches a
// second in each of two threads.
func (a *attempt) endless(name string) (args []string, file string) {
	file = filepath.Join(a.TempDir(), name)
	return []string{"--kernels", "100000", "--threads", "2", "--step-sleep-ms", "1", "--progress", file}, file
}

// sometime waits until a program has launched something, and then for a time that
// differs from try to try, so that it is killed anywhere between two flushes.
func (a *attempt) sometime(r *recording, files ...string) {
	a.Helper()
	for _, file := range files {
		r.until("launches", func() bool { return launched(readProgress(a, file)) > 1500 })
	}
	time.Sleep(time.Duration(a.try*37%100) * time.Millisecond)
}

func killedRunning(a *attempt) {
	args, file := a.endless("progress")
	j := job{args: args}
	r := j.start(a)
	a.sometime(r, file)
	killed := time.Now()
	kill(a, r.child(), syscall.SIGKILL)
	o := r.wait()
	tr := a.judge(j, o, ending{status: 128 + 9, signal: "SIGKILL", verdict: timeline.Unknown, ended: timeline.EndCut,
		says: []string{"was killed by SIGKILL", "may be missing"}}, -1)
	a.keptUntil(tr, readProgress(a, file), killed)
}

// atOnce is a program that dies with no time for the agent: what is missing is
// bounded all the same.
func atOnce(how string, status int, signal string) func(a *attempt) {
	return func(a *attempt) {
		file := filepath.Join(a.TempDir(), "progress")
		j := a.printing("--graphs", "0", "--step-sleep-ms", "3", "--progress", file, how)
		o := j.record(a)
		tr := a.judge(j, o, ending{status: status, signal: signal, verdict: timeline.Unknown, ended: timeline.EndCut, says: []string{"may be missing"}}, -1)
		list := readProgress(a, file)
		var last int64
		for _, p := range list {
			last = max(last, p.ended[len(p.ended)-1])
		}
		a.keptUntil(tr, list, time.Unix(0, last))
	}
}

func killedTree(a *attempt) {
	gpu := fakegpu.Get(a)
	one, first := a.endless("first")
	two, second := a.endless("second")
	script := `"$0" ` + strings.Join(one, " ") + ` & "$0" ` + strings.Join(two, " ") + ` & wait`
	j := job{command: []string{"sh", "-c", script, gpu.Workload}}
	r := j.start(a)
	a.sometime(r, first, second)
	tree := descendants(r.pid())
	if len(tree) != 3 {
		a.Fatalf("processes %v", tree)
	}
	killed := time.Now()
	for _, pid := range tree {
		kill(a, pid, syscall.SIGKILL)
	}
	o := r.wait()
	if o.status != 128+9 || o.summary == nil || len(o.summary.Traces) != 2 {
		a.Fatalf("status %d, stdout %q, %+v; said:\n%s", o.status, o.stdout, o.summary, o.stderr)
	}
	a.told = toldIn(o.stderr)
	for _, s := range o.summary.Traces {
		tr := o.read(s.File)
		if c := tr.record; c.Verdict != timeline.Unknown && !torn(c) || c.Ended != timeline.EndCut {
			a.Errorf("%+v", tr.record)
		}
		a.consistent(o, tr, o.stderr)
		for _, file := range []string{first, second} {
			if list := readProgress(a, file); list[0].tid == strconv.Itoa(s.PID) {
				a.keptUntil(tr, list, killed)
			}
		}
	}
	if a.launched == 0 {
		a.Error("no trace was of the processes that ran")
	}
}

func killedAtStart(a *attempt) {
	args, file := a.endless("progress")
	j := job{args: args}
	r := j.start(a)
	pid := r.child()
	time.Sleep(time.Duration(a.try%20) * 4 * time.Millisecond)
	killed := time.Now()
	kill(a, pid, syscall.SIGKILL)
	o := r.wait()
	tr := o.only()
	a.consistent(o, tr, a.untouched(j, o))
	if c := tr.record; o.status != 128+9 || c.Signal != "SIGKILL" || c.Verdict != timeline.Unknown && !torn(c) {
		a.Errorf("status %d, %+v", o.status, c)
	}
	a.keptUntil(tr, readProgress(a, file), killed)
	a.told, a.remark = toldIn(o.stderr), "what was there by then"
}

// recoverIn makes the traces of what is left in the folder of a recording.
func (a *attempt) recoverIn(dir string, flags ...string) *outcome {
	a.Helper()
	folders, _ := filepath.Glob(filepath.Join(dir, ".flagos-trace-*"))
	if len(folders) != 1 {
		a.Fatalf("folders: %v", folders)
	}
	return a.recoverFolder(dir, folders[0], flags...)
}

func (a *attempt) recoverFolder(dir, folder string, flags ...string) *outcome {
	a.Helper()
	j := job{dir: dir, tool: append(append([]string{"recover", "--remove"}, flags...), folder)}
	o := j.record(a)
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		a.Errorf("%s is still there; said:\n%s", folder, o.stderr)
	}
	return o
}

func recorderKilled(a *attempt) {
	gpu := fakegpu.Get(a)
	dir := a.TempDir()
	file := filepath.Join(dir, "progress")
	args := append([]string{"--counts", filepath.Join(dir, "counts"), "--progress", file, "--step-sleep-ms", "3", "--exit-code", "5"}, usual...)
	// The shell sees how the program ends where the recorder no longer does.
	j := job{dir: dir, args: args, command: []string{"sh", "-c", `"$@"; echo $? > status.new; mv status.new status`, "sh", gpu.Workload}}
	r := j.start(a)
	r.until("launches", func() bool { return launched(readProgress(a, file)) > 200 })
	r.signal(syscall.SIGKILL)
	if o := r.wait(); o.status != 128+9 {
		a.Errorf("status %d", o.status)
	}
	status := filepath.Join(dir, "status")
	r.until("the program's end", func() bool { _, err := os.Stat(status); return err == nil })
	if text, _ := os.ReadFile(status); string(text) != "5\n" {
		a.Errorf("the program exited with %q", text)
	}
	o := a.recoverIn(dir)
	tr := o.only()
	a.consistent(o, tr, o.stderr)
	a.whole(tr)
	if c := tr.record; o.status != 0 || c.Verdict != timeline.Complete || c.Ended != timeline.EndExit {
		a.Errorf("status %d, %+v", o.status, c)
	}
	a.launched, a.kept, a.told = readCounts(a, filepath.Join(dir, "counts")).kernels(), len(tr.kernels), toldIn(o.stderr)
}

func bothKilled(a *attempt) {
	dir := a.TempDir()
	args, file := a.endless("progress")
	r := job{dir: dir, args: args}.start(a)
	a.sometime(r, file)
	child := r.child()
	killed := time.Now()
	kill(a, -r.pid(), syscall.SIGKILL)
	r.wait()
	r.until("the program's end", func() bool { return !running(child) })
	o := a.recoverIn(dir)
	tr := o.only()
	a.consistent(o, tr, o.stderr)
	if c := tr.record; o.status != 0 || c.Verdict != timeline.Unknown && !torn(c) || c.Ended != timeline.EndCut || c.Signal != "" || c.ExitCode != nil {
		a.Errorf("status %d, %+v", o.status, c)
	}
	a.keptUntil(tr, readProgress(a, file), killed)
	a.told = toldIn(o.stderr)
}

func hangsInExit(a *attempt) {
	gpu := fakegpu.Get(a)
	counts := filepath.Join(a.TempDir(), "counts")
	j := job{flags: []string{"--kill-after", "300ms"}, command: []string{"sh", "-c", `trap "" TERM; exec "$0" "$@"`, gpu.Workload},
		args: append([]string{"--hang-exit", "--counts", counts}, usual...)}
	r := j.start(a)
	// The agent's handler has run when the spool has its end and the socket is gone.
	folder := r.folder()
	r.until("the agent's end", func() bool {
		_, err := os.Stat(counts)
		sockets, _ := filepath.Glob(filepath.Join(folder, "*.sock"))
		return err == nil && len(sockets) == 0
	})
	r.signal(syscall.SIGTERM)
	o := r.wait()
	tr := a.judge(j, o, ending{status: 128 + 9, signal: "SIGKILL", verdict: timeline.Complete, ended: timeline.EndExit, kept: all,
		says: []string{"--kill-after"}, inTrace: []string{"it was killed by flagos-trace"}}, readCounts(a, counts).kernels())
	a.whole(tr)
}

// python finds an interpreter, and the workload that is written for it.
func (a *attempt) python() (interpreter, workload string) {
	a.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		a.Skip("no python3")
	}
	return path, fakegpu.Get(a).WorkloadPy
}

func pythonException(a *attempt) {
	python, workload := a.python()
	counts := filepath.Join(a.TempDir(), "counts")
	j := job{command: []string{python, filepath.Join("testdata", "raise.py"), workload}, args: []string{"--counts", counts}}
	j.command[1] = absolute(a, j.command[1])
	o := j.record(a)
	a.judge(j, o, ending{status: 1, verdict: timeline.Complete, ended: timeline.EndExit, kept: all, says: []string{"ValueError: after the last launch\n"}},
		readCounts(a, counts).kernels())
}

func pythonExit(a *attempt) {
	python, workload := a.python()
	counts := filepath.Join(a.TempDir(), "counts")
	j := job{command: []string{python, workload}, args: []string{"--counts", counts, "--sleep", "0.5", "--_exit", "--exit-code", "4"}}
	o := j.record(a)
	a.judge(j, o, ending{status: 4, verdict: timeline.Unknown, ended: timeline.EndCut, kept: all, says: []string{"may be missing"}}, readCounts(a, counts).kernels())
}

func absolute(a *attempt, path string) string {
	a.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		a.Fatal(err)
	}
	return path
}

// kill sends a signal to a process, or to a group where pid is negative.
func kill(a *attempt, pid int, sig syscall.Signal) {
	a.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		a.Fatalf("%v to %d: %v", sig, pid, err)
	}
}

// descendants lists the processes below one.
func descendants(pid int) (list []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, name := range lists {
		text, _ := os.ReadFile(name)
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(append(list, child), descendants(child)...)
			}
		}
	}
	return list
}

// running reports whether a process is there and has not ended.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	i := strings.LastIndexByte(string(stat), ')')
	return i > 0 && i+2 < len(stat) && stat[i+2] != 'Z' && stat[i+2] != 'X'
}
