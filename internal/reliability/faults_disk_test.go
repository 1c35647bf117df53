package reliability

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/timeline"
)

func diskFaults() []fault {
	const group = "Disks and folders"
	return []fault{
		{group, "the disk of the spool is full: 512 KiB", 0, 0, spoolDiskFull},
		{group, "a limit on file sizes of 512 KiB for the program (`ulimit -f`)", 0, 0, fileLimit("512", some)},
		{group, "a limit on file sizes of 0 for the program", 0, 0, noFiles},
		{group, "the disk of the trace is full", 0, 0, outputDiskFull},
		{group, "the trace goes to `/dev/full`", 0, 0, outputRefused},
		{group, "the output folder is read-only", 0, 0, readOnly},
		{group, "the output folder is not there", 0, 0, refused(func(a *attempt) string { return filepath.Join(a.TempDir(), "missing", "trace.json.gz") }, "no such file or directory")},
		{group, "the output is a folder", 0, 0, refused(func(a *attempt) string { return a.TempDir() }, "is a folder")},
		{group, "the output folder is removed while the program runs; the spool is elsewhere", 0, 0, outputRemoved},
		{group, "the output folder is removed while the program runs, and the spool in it", 0, 0, allRemoved},
	}
}

func spoolDiskFull(a *attempt) {
	small := a.tmpfs("512k")
	j := a.printing("--kernels", "2000", "--step-sleep-ms", "1", "--exit-code", "3")
	j.flags = []string{"--spool-dir", small}
	_, tr := a.run(j, ending{status: 3, verdict: timeline.Incomplete, ended: timeline.EndExit, kept: some, says: []string{"could not be written", "is its disk full?"}})
	if b := tr.record.Buffers; b.WriteErrors == 0 || b.BytesUnwritten == 0 {
		a.Errorf("%+v", b)
	}
	if left, _ := os.ReadDir(small); len(left) != 0 {
		a.Errorf("left: %v", left)
	}
}

// limited has a shell set a limit on file sizes for the workload, in KiB; the
// signal of it would end the program.
func (a *attempt) limited(kib string) job {
	j := a.printing("--kernels", "2000", "--step-sleep-ms", "1", "--exit-code", "3")
	j.command = []string{"bash", "-c", "ulimit -f " + kib + `; exec env --default-signal=XFSZ "$0" "$@"`, fakegpu.Get(a).Workload}
	return j
}

func fileLimit(kib string, kept func(int, int) bool) func(*attempt) {
	return func(a *attempt) {
		j := a.limited(kib)
		_, tr := a.run(j, ending{status: 3, verdict: timeline.Incomplete, ended: timeline.EndExit, kept: kept, says: []string{"could not be written"}})
		if b := tr.record.Buffers; b.WriteErrors == 0 || b.BytesUnwritten == 0 {
			a.Errorf("%+v", b)
		}
	}
}

// noFiles: not even the counts can be written, so only the status tells that the
// program ran as it would have.
func noFiles(a *attempt) {
	j := a.limited("0")
	j.args = append([]string{"--exit-code", "3"}, usual...)
	o := j.record(a)
	tr := a.judge(j, o, ending{status: 3, verdict: timeline.Unknown, says: []string{"a limit on file sizes"}}, -1)
	if len(tr.kernels) != 0 {
		a.Errorf("%d kernels", len(tr.kernels))
	}
	a.remark = "nothing; the program went on to its end"
}

// keptSpool recovers what a recording kept since its trace could not be written.
func (a *attempt) keptSpool(j job, o *outcome, folder string) {
	a.Helper()
	if o.status != 3 || o.summary == nil || len(o.summary.Failures) == 0 || len(o.summary.Traces) != 0 {
		a.Fatalf("status %d, %+v; said:\n%s", o.status, o.summary, o.stderr)
	}
	if !strings.Contains(o.stderr, "the spool is kept in ") || !strings.Contains(o.stderr, "flagos-trace recover") {
		a.Errorf("said:\n%s", o.stderr)
	}
	a.told = toldIn(a.untouched(j, o))
	again := a.recoverFolder(a.TempDir(), folder, "-o", "trace.json.gz")
	tr := again.only()
	a.whole(tr)
	a.launched, a.kept, a.remark = a.countsOf(j).kernels(), len(tr.kernels), "by `recover` of the spool that is kept"
}

func outputDiskFull(a *attempt) {
	small := a.tmpfs("64k")
	j := a.printing("--exit-code", "3")
	j.dir = a.TempDir()
	j.flags = []string{"-o", filepath.Join(small, "trace.json"), "--spool-dir", j.dir}
	o := j.record(a)
	folders, _ := filepath.Glob(filepath.Join(j.dir, "flagos-trace-*"))
	if len(folders) != 1 || !strings.Contains(o.stderr, "no space left on device") {
		a.Fatalf("folders %v; said:\n%s", folders, o.stderr)
	}
	if left, _ := os.ReadDir(small); len(left) != 0 {
		a.Errorf("left: %v", left)
	}
	a.keptSpool(j, o, folders[0])
}

func outputRefused(a *attempt) {
	j := a.printing("--exit-code", "3")
	j.dir = a.TempDir()
	j.flags = []string{"-o", "/dev/full", "--spool-dir", j.dir}
	o := j.record(a)
	folders, _ := filepath.Glob(filepath.Join(j.dir, "flagos-trace-*"))
	if len(folders) != 1 || !strings.Contains(o.stderr, "no space left on device") {
		a.Fatalf("folders %v; said:\n%s", folders, o.stderr)
	}
	a.keptSpool(j, o, folders[0])
}

// refused is an output that cannot be written: it is said before the program is
// started, which then is not.
func refused(output func(*attempt) string, says string) func(*attempt) {
	return func(a *attempt) {
		o := job{flags: []string{"-o", output(a)}, command: []string{"echo", "ran"}}.record(a)
		if o.status != 125 || o.stdout != "" || o.summary != nil || !strings.Contains(o.stderr, says) || !strings.Contains(o.stderr, "cannot write to") {
			a.Errorf("status %d, stdout %q; said:\n%s", o.status, o.stdout, o.stderr)
		}
		a.told, a.remark = toldIn(o.stderr), "the program is not started: status 125"
	}
}

func readOnly(a *attempt) {
	dir := a.TempDir()
	if os.Geteuid() == 0 {
		dir = a.tmpfs("64k")
		if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			a.Skip(err)
		}
		refused(func(*attempt) string { return filepath.Join(dir, "trace.json.gz") }, "read-only file system")(a)
		return
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { _ = os.Chmod(dir, 0o700) })
	refused(func(*attempt) string { return filepath.Join(dir, "trace.json.gz") }, "permission denied")(a)
}

// removing is a recording whose output folder is removed once the program has
// launched something; more are flags of record.
func (a *attempt) removing(flags ...string) (job, *outcome) {
	a.Helper()
	progress := filepath.Join(a.TempDir(), "progress")
	out := filepath.Join(a.TempDir(), "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		a.Fatal(err)
	}
	j := a.printing("--progress", progress, "--step-sleep-ms", "3", "--exit-code", "3")
	j.flags = append(flags, "-o", filepath.Join(out, "trace.json.gz"))
	r := j.start(a)
	r.until("launches", func() bool { return launched(readProgress(a, progress)) > 100 })
	if err := os.RemoveAll(out); err != nil {
		a.Fatal(err)
	}
	return j, r.wait()
}

func outputRemoved(a *attempt) {
	spools := a.TempDir()
	j, o := a.removing("--spool-dir", spools)
	folders, _ := filepath.Glob(filepath.Join(spools, "flagos-trace-*"))
	if len(folders) != 1 {
		a.Fatalf("folders %v; said:\n%s", folders, o.stderr)
	}
	a.keptSpool(j, o, folders[0])
}

func allRemoved(a *attempt) {
	j, o := a.removing()
	account := a.untouched(j, o)
	if o.status != 3 || !strings.Contains(account, "no such file or directory") {
		a.Errorf("status %d; said:\n%s", o.status, o.stderr)
	}
	a.launched, a.told, a.remark = a.countsOf(j).kernels(), toldIn(account), "nothing: the data is gone with the folder; the program went on to its end"
}
