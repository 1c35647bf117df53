package reliability

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
)

func TestMain(m *testing.M) { os.Exit(testrig.Run(m)) }

// job is a program to record.
type job struct {
	cupti   fakegpu.CUPTI // "": libcupti 13, or none if it is bare
	bare    bool
	env     []string      // variables of the program and of the recorder, NAME=value
	flags   []string      // of flagos-trace record
	wrap    []string      // what starts flagos-trace: its arguments follow
	command []string      // what is recorded; nil: the look-alike's workload
	args    []string      // more arguments of it
	stdin   string        // its input
	dir     string        // where it runs; "": a new folder
	quiet   bool          // with --quiet
	tty     *os.File      // controlling terminal and standard input; nil: none
	tool    []string      // arguments of flagos-trace other than record
	limit   time.Duration // after which all is killed and the test fails; 0: two minutes
}

// recording is one under way.
type recording struct {
	t      testing.TB
	cmd    *exec.Cmd // flagos-trace
	dir    string
	begin  time.Time
	out    [2]string // files that take its standard output and error
	killed *time.Timer
}

// outcome is what a recording came to.
type outcome struct {
	t      testing.TB
	dir    string
	status int    // as a shell says it: 128 + n where signal n killed flagos-trace
	stdout string // of the program
	stderr string // of the program and of flagos-trace
	took   time.Duration
	// summary is what --summary wrote; nil if it wrote nothing.
	summary *record.Summary
}

// environ is the environment of this process without what would disturb.
func environ(cupti fakegpu.CUPTI, gpu fakegpu.Paths, env []string) (list []string) {
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FLAGOS_") && !strings.HasPrefix(kv, "CUDA_") && !strings.HasPrefix(kv, "FAKE") {
			list = append(list, kv)
		}
	}
	return append(append(list, gpu.Env(cupti)...), env...)
}

// tool returns the path of flagos-trace.
func tool(t testing.TB) string { return filepath.Join(testrig.Programs(t), "flagos-trace") }

// start begins a recording. Its process group is its own.
func (j job) start(t testing.TB) *recording {
	t.Helper()
	gpu := fakegpu.Get(t)
	r := &recording{t: t, dir: j.dir}
	if r.dir == "" {
		r.dir = t.TempDir()
	}
	private := t.TempDir()
	argv := j.argv(tool(t), filepath.Join(private, "summary.json"), gpu)
	r.cmd = exec.Command(argv[0], argv[1:]...)
	cupti := j.cupti
	if cupti == "" && !j.bare {
		cupti = fakegpu.CUPTI13
	}
	r.cmd.Dir, r.cmd.Env = r.dir, environ(cupti, gpu, j.env)
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if j.tty != nil {
		r.cmd.Stdin = j.tty
		r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	} else if j.stdin != "" {
		// A file: nothing has to be copied while it runs.
		r.cmd.Stdin = openFile(t, filepath.Join(private, "stdin"), j.stdin)
	}
	// Files rather than pipes: whoever outlives flagos-trace holds up nobody.
	r.out = [2]string{filepath.Join(private, "stdout"), filepath.Join(private, "stderr")}
	r.cmd.Stdout, r.cmd.Stderr = openFile(t, r.out[0], ""), openFile(t, r.out[1], "")
	r.begin = time.Now()
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.killAll)
	limit := j.limit
	if limit == 0 {
		limit = 2 * time.Minute
	}
	r.killed = time.AfterFunc(limit, func() {
		t.Errorf("%v did not end within %v", r.cmd.Args, limit)
		r.killAll()
	})
	return r
}

// argv is the command line: of record, or of what else the job is.
func (j job) argv(tool, summary string, gpu fakegpu.Paths) []string {
	argv := append([]string{}, j.wrap...)
	if j.tool != nil {
		return append(append(argv, tool, j.tool[0], "--summary", summary), j.tool[1:]...)
	}
	argv = append(argv, tool, "record", "--summary", summary)
	if j.quiet {
		argv = append(argv, "--quiet")
	}
	argv = append(append(argv, j.flags...), "--")
	if j.command == nil {
		argv = append(argv, gpu.Workload)
	}
	return append(append(argv, j.command...), j.args...)
}

// killAll kills what is left of the recording.
func (r *recording) killAll() { _ = syscall.Kill(-r.cmd.Process.Pid, syscall.SIGKILL) }

// openFile makes a file with a text, open at its beginning.
func openFile(t testing.TB, name, text string) *os.File {
	t.Helper()
	err := os.WriteFile(name, []byte(text), 0o600)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// pid is the id of flagos-trace.
func (r *recording) pid() int { return r.cmd.Process.Pid }

// signal sends a signal to flagos-trace alone.
func (r *recording) signal(sig syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(sig); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for a condition.
func (r *recording) until(what string, ok func() bool) {
	r.t.Helper()
	for begin := time.Now(); !ok(); time.Sleep(time.Millisecond) {
		if time.Since(begin) > 30*time.Second {
			r.t.Fatalf("waited for %s in vain; said:\n%s", what, r.said())
		}
	}
}

// said is what the program and flagos-trace have written to standard error.
func (r *recording) said() string {
	b, _ := os.ReadFile(r.out[1])
	return string(b)
}

// folder waits for the folder of the running recording's data, and returns it.
func (r *recording) folder() (dir string) {
	r.t.Helper()
	r.until("the spool folder", func() bool {
		if list, _ := filepath.Glob(filepath.Join(r.dir, ".flagos-trace-*")); len(list) > 0 {
			dir = list[0]
		}
		return dir != ""
	})
	return dir
}

// child waits for the command to be started, and returns its process id. It is
// told by the note in the spool folder: among the children of flagos-trace may be,
// for a moment, one with which the Go runtime tries what the kernel can do.
func (r *recording) child() (pid int) {
	r.t.Helper()
	r.until("the command", func() bool {
		var note struct{ PID int }
		names, _ := filepath.Glob(filepath.Join(r.dir, ".flagos-trace-*", "recording.json"))
		for _, name := range names {
			text, _ := os.ReadFile(name)
			if json.Unmarshal(text, &note) == nil { // it may be written just now
				pid = note.PID
			}
		}
		return pid > 0
	})
	return pid
}

// wait waits for flagos-trace to end.
func (r *recording) wait() *outcome {
	r.t.Helper()
	err := r.cmd.Wait()
	r.killed.Stop()
	o := &outcome{t: r.t, dir: r.dir, took: time.Since(r.begin)}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatal(err)
	}
	if ws := r.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		o.status = 128 + int(ws.Signal())
	} else {
		o.status = ws.ExitStatus()
	}
	out, err := os.ReadFile(r.out[0])
	if err != nil {
		r.t.Fatal(err)
	}
	o.stdout, o.stderr = string(out), r.said()
	data, err := os.ReadFile(filepath.Join(filepath.Dir(r.out[0]), "summary.json"))
	if err == nil {
		o.summary = new(record.Summary)
		err = json.Unmarshal(data, o.summary)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		r.t.Fatal(err)
	}
	return o
}

// record starts a recording and waits for its end.
func (j job) record(t testing.TB) *outcome {
	t.Helper()
	return j.start(t).wait()
}

// only reads the single trace of a recording, by the file's name in its account.
func (o *outcome) only() *trace {
	o.t.Helper()
	if o.summary == nil || len(o.summary.Traces) != 1 {
		o.t.Fatalf("not one trace: status %d, %+v; said:\n%s", o.status, o.summary, o.stderr)
	}
	return o.read(o.summary.Traces[0].File)
}

// read reads a trace of the recording.
func (o *outcome) read(name string) *trace {
	o.t.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(o.dir, name)
	}
	return readTrace(o.t, name)
}

// counts is what the workload says it did.
type counts struct {
	Launches     int `json:"launches"`
	GraphKernels int `json:"graph_kernels"`
	Memcpys      int `json:"memcpys"`
	Memsets      int `json:"memsets"`
}

// kernels is how many ran.
func (c counts) kernels() int { return c.Launches + c.GraphKernels }

// readCounts reads the file that the workload's --counts names.
func readCounts(t testing.TB, name string) (c counts) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}
