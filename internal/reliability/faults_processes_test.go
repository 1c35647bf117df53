package reliability

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func processFaults() []fault {
	const group = "Several processes"
	orderly := ending{status: 3, verdict: timeline.Complete, ended: timeline.EndExit, kept: all}
	return []fault{
		{group, "a fork without exec, whose child runs its exit handlers", 0, 0, simple(nil, []string{"--fork", "--exit-code", "3"}, orderly)},
		{group, "a fork without exec in Python", 0, 0, pythonFork},
		{group, "the program starts another one that uses the device", 0, 0, startsAnother},
		{group, "the program replaces itself by exec after it used the device", 0, 0, replacesItself},
		{group, "`multiprocessing` with spawn, 3 children on the device", 0, 0, multiprocessing("spawn", timeline.Complete)},
		{group, "`multiprocessing` with fork before the device is used, 3 children on it", 0, 0, multiprocessing("fork", timeline.Unknown)},
		{group, "two recordings into one place at the same time", 2, 0, twoRecordings},
		{group, "the program leaves a process behind that still launches", 0, 0, leavesBehind},
	}
}

func pythonFork(a *attempt) {
	python, workload := a.python()
	counts := filepath.Join(a.TempDir(), "counts")
	j := job{command: []string{python, workload}, args: []string{"--fork", "--counts", counts, "--exit-code", "3"}}
	o := j.record(a)
	a.judge(j, o, ending{status: 3, verdict: timeline.Complete, ended: timeline.EndExit, kept: all}, readCounts(a, counts).kernels())
}

// several checks a recording with more than one trace: each is complete in the
// way said, and together they hold so many kernels. It returns the kernels of
// each, by the base name of its file.
func (a *attempt) several(o *outcome, status, traces, launched int, verdict timeline.Verdict, same bool) map[string]int {
	a.Helper()
	if o.status != status || o.summary == nil || len(o.summary.Traces) != traces {
		a.Fatalf("status %d, %+v; said:\n%s", o.status, o.summary, o.stderr)
	}
	kernels := map[string]int{}
	kept := 0
	for _, s := range o.summary.Traces {
		tr := o.read(s.File)
		a.consistent(o, tr, o.stderr)
		a.paired(tr)
		if same && tr.record.Verdict != verdict {
			a.Errorf("%s: %+v", s.File, tr.record)
		}
		kernels[filepath.Base(s.File)] = len(tr.kernels)
		kept += len(tr.kernels)
	}
	a.launched, a.kept, a.told = a.launched+launched, a.kept+kept, toldIn(o.stderr)
	return kernels
}

func startsAnother(a *attempt) {
	j := a.printing("--subprocess", "--exit-code", "3")
	o := j.record(a)
	a.untouched(j, o)
	n := a.countsOf(j).kernels()
	kernels := a.several(o, 3, 2, n+9, timeline.Complete, true)
	if kernels["trace.json.gz"] != n || a.kept != n+9 {
		a.Errorf("%v, want %d and 9", kernels, n)
	}
	a.remark = "a trace of each process"
}

func replacesItself(a *attempt) {
	python, workload := a.python()
	gpu := fakegpu.Get(a)
	before, after := filepath.Join(a.TempDir(), "before"), filepath.Join(a.TempDir(), "after")
	j := job{command: []string{python, absolute(a, "testdata/replace.py"), workload, gpu.Workload, before, after}}
	o := j.record(a)
	a.several(o, 3, 2, readCounts(a, before).kernels()+readCounts(a, after).kernels(), timeline.Complete, false)
	if a.kept != a.launched {
		a.Errorf("%d kernels of %d", a.kept, a.launched)
	}
}

func multiprocessing(method string, verdict timeline.Verdict) func(a *attempt) {
	return func(a *attempt) {
		python, workload := a.python()
		dir := a.TempDir()
		j := job{command: []string{python, absolute(a, "testdata/processes.py"), workload, method, "3", dir}}
		o := j.record(a)
		launched := 0
		files, _ := filepath.Glob(filepath.Join(dir, "counts.*"))
		for _, file := range files {
			launched += readCounts(a, file).kernels()
		}
		a.several(o, 3, 3, launched, verdict, true)
		if len(files) != 3 || a.kept != a.launched {
			a.Errorf("%d kernels of %d in %d processes; said:\n%s", a.kept, a.launched, len(files), o.stderr)
		}
		a.remark = "a trace of each process"
	}
}

// twoRecordings: both have their traces under names of their own, and both are
// whole.
func twoRecordings(a *attempt) {
	dir := a.TempDir()
	jobs := []job{a.printing("--exit-code", "3"), a.printing("--kernels", "900", "--exit-code", "4")}
	var under []*recording
	for i := range jobs {
		jobs[i].dir = dir
		under = append(under, jobs[i].start(a))
	}
	files := map[string]int{}
	for i, r := range under {
		o := r.wait()
		tr := a.judge(jobs[i], o, ending{status: 3 + i, verdict: timeline.Complete, ended: timeline.EndExit, kept: all}, a.countsOf(jobs[i]).kernels())
		files[tr.file] += len(tr.kernels)
	}
	if len(files) != 2 {
		a.Errorf("both recordings wrote %v", files)
	}
	for file, n := range files {
		if tr := readTrace(a, file); len(tr.kernels) != n {
			a.Errorf("%s holds %d kernels, and held %d", file, len(tr.kernels), n)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		a.Errorf("left: %v", left)
	}
}

func leavesBehind(a *attempt) {
	gpu := fakegpu.Get(a)
	args, file := a.endless("progress")
	pidFile := filepath.Join(a.TempDir(), "pid")
	script := fmt.Sprintf(`"$0" %s & echo $! > %s; while ! [ -s %s ]; do sleep 0.05; done; sleep 0.4; exit 3`, strings.Join(args, " "), pidFile, file)
	j := job{command: []string{"sh", "-c", script, gpu.Workload}}
	r := j.start(a)
	o := r.wait()
	list := readProgress(a, file)
	if o.status != 3 || o.summary == nil || len(o.summary.Traces) != 1 || o.summary.SpoolDir == "" && !strings.Contains(o.stderr, "recover") {
		a.Fatalf("status %d, %+v; said:\n%s", o.status, o.summary, o.stderr)
	}
	tr := o.only()
	a.consistent(o, tr, o.stderr)
	if c := tr.record; c.Verdict != timeline.Unknown || c.Ended != timeline.EndRunning || len(tr.kernels) == 0 || len(tr.kernels) > launched(list)+18 {
		a.Errorf("%d kernels of %d, %+v", len(tr.kernels), launched(list), c)
	}
	a.told, a.remark = toldIn(o.stderr), "what it had recorded by then; the rest stays in the folder for `recover`"
	r.killAll()
	text, _ := os.ReadFile(pidFile)
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		a.Fatal(err)
	}
	r.until("the end of the process", func() bool { return !running(pid) })
	recovered := a.recoverIn(o.dir, "-o", "later.json.gz")
	if later := recovered.only(); len(later.kernels) <= len(tr.kernels) {
		a.Errorf("recovered %d kernels, %d had been there before", len(later.kernels), len(tr.kernels))
	}
}
