package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// running is a recording under way.
type running struct {
	t   *testing.T
	bin string
	dir string
	cmd *exec.Cmd
	log string // calls of the look-alike
}

// recordAlong starts a recording of the workload.
func recordAlong(t *testing.T, flags, workload []string) *running {
	t.Helper()
	return recordCommand(t, flags, append([]string{fakegpu.Get(t).Workload}, workload...))
}

func recordCommand(t *testing.T, flags, command []string) *running {
	t.Helper()
	gpu := fakegpu.Get(t)
	bin := testrig.Programs(t)
	r := &running{t: t, bin: bin, dir: t.TempDir()}
	r.log = filepath.Join(r.dir, "calls")
	args := append([]string{"record", "-q", "--summary", "summary.json"}, flags...)
	args = append(append(args, "--"), command...)
	r.cmd = exec.Command(filepath.Join(bin, "flagos-trace"), args...)
	r.cmd.Dir = r.dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FLAGOS_") && !strings.HasPrefix(kv, "CUDA_") && !strings.HasPrefix(kv, "FAKE") {
			r.cmd.Env = append(r.cmd.Env, kv)
		}
	}
	r.cmd.Env = append(append(r.cmd.Env, gpu.Env(fakegpu.CUPTI13)...), "FAKECUPTI_LOG="+r.log)
	r.cmd.Stderr = os.Stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// ctl runs a command on a process and returns what it prints.
func (r *running) ctl(pid int, args ...string) (status int, stdout, stderr string) {
	r.t.Helper()
	cmd := exec.Command(filepath.Join(r.bin, "flagos-trace"), append(append([]string{"ctl"}, args...), strconv.Itoa(pid))...)
	cmd.Dir = r.dir
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		r.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}

// must runs a command that has to succeed and returns the only answer.
func (r *running) must(pid int, args ...string) answer {
	r.t.Helper()
	status, stdout, stderr := r.ctl(pid, append(args, "--json")...)
	var list []answer
	if err := json.Unmarshal([]byte(stdout), &list); err != nil || status != 0 || len(list) != 1 {
		r.t.Fatalf("%v: status %d, %v\n%s%s", args, status, err, stdout, stderr)
	}
	return list[0]
}

// ready waits until the program can be controlled and returns its answer.
func (r *running) ready() answer {
	r.t.Helper()
	for range 200 {
		status, stdout, _ := r.ctl(r.cmd.Process.Pid, "status", "--json")
		var list []answer
		if status == 0 && json.Unmarshal([]byte(stdout), &list) == nil && len(list) == 1 {
			return list[0]
		}
		time.Sleep(20 * time.Millisecond)
	}
	_, stdout, stderr := r.ctl(r.cmd.Process.Pid, "status")
	r.t.Fatalf("no control: %s%s", stdout, stderr)
	return answer{}
}

// end waits for the end and returns the only trace.
func (r *running) end() record.TraceSummary {
	r.t.Helper()
	if err := r.cmd.Wait(); err != nil {
		r.t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(r.dir, "summary.json"))
	var s record.Summary
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil || len(s.Traces) != 1 {
		r.t.Fatalf("%v: %s", err, data)
	}
	return s.Traces[0]
}

func (r *running) calls(name string) int {
	data, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.Count(string(data), name)
}

// Paused and never started, nothing is enabled and nothing recorded.
func TestStartPaused(t *testing.T) {
	r := recordAlong(t, []string{"--start-paused"}, []string{"--kernels", "4500", "--step-sleep-ms", "3"})
	s := r.ready()
	if s.Armed || s.State != spool.StatePaused || s.Window != 0 || s.Counters.BuffersRequested != 0 {
		t.Errorf("%+v", s)
	}
	tr := r.end()
	c := tr.Completeness
	if len(c.Received) != 0 || tr.Events["kernel"] != 0 || c.Verdict != timeline.Complete || !strings.Contains(strings.Join(c.Diagnoses, " "), "never started") {
		t.Errorf("%+v", c)
	}
	for _, name := range []string{"cuptiActivityEnable", "cuptiActivityRegisterCallbacks", "cuptiActivityFlushAll", "request"} {
		if n := r.calls(name); n != 0 {
			t.Errorf("%d calls of %s", n, name)
		}
	}
}

// Two windows, opened through the recorder and through the process itself.
func TestCtlWindows(t *testing.T) {
	counts := filepath.Join(t.TempDir(), "counts")
	r := recordAlong(t, []string{"--start-paused", "--keep-spool"}, []string{"--kernels", "9000", "--step-sleep-ms", "3", "--threads", "1", "--counts", counts})
	pid := r.ready().PID
	var after uint64
	for i, who := range []int{r.cmd.Process.Pid, pid} {
		if s := r.must(who, "start"); !s.Armed || s.State != spool.StateRecording || s.Window != uint64(i+1) {
			t.Errorf("start: %+v", s)
		}
		time.Sleep(300 * time.Millisecond)
		if s := r.must(who, "stop"); s.Armed || s.State != spool.StatePaused || s.Counters.BuffersDelivered == 0 {
			t.Errorf("stop: %+v", s)
		}
		if on, off := r.calls("cuptiActivityEnable("), r.calls("cuptiActivityDisable("); on == 0 || on != off {
			t.Errorf("%d kinds enabled, %d disabled", on, off)
		}
		after = r.must(who, "status").Counters.BuffersRequested
		time.Sleep(200 * time.Millisecond)
		if n := r.must(who, "status").Counters.BuffersRequested; n != after {
			t.Errorf("%d buffers asked for after the stop", n-after)
		}
	}
	tr := r.end()
	c := tr.Completeness
	launched := readCounts(t, counts).kernels()
	if n := tr.Events["kernel"]; n == 0 || n >= launched/2 {
		t.Errorf("%d kernels of %d", n, launched)
	}
	if c.Noted["windows"] != 2 || c.Verdict != timeline.Complete || len(c.Requested) == 0 {
		t.Errorf("%+v", c)
	}
}

// A snapshot makes a trace while the program runs, which goes on recording.
func TestCtlSnapshot(t *testing.T) {
	r := recordAlong(t, nil, []string{"--kernels", "9000", "--step-sleep-ms", "3", "--threads", "1"})
	r.ready()
	time.Sleep(300 * time.Millisecond)
	s := r.must(r.cmd.Process.Pid, "snapshot", "-o", "now.json")
	st, err := os.Stat(s.Spool)
	if err != nil || s.Size == 0 || st.Size() < s.Size {
		t.Errorf("%+v, %v", s, err)
	}
	now := (&session{dir: r.dir}).read(t, "now.json").Categories["kernel"]
	if now == 0 {
		t.Error("no kernels in the snapshot")
	}
	if tr := r.end(); tr.Events["kernel"] <= uint64(now) || tr.Verdict != timeline.Complete {
		t.Errorf("%d kernels, %d in the snapshot; %+v", tr.Events["kernel"], now, tr.Completeness)
	}
}

// Through the recorder all processes are meant, through one only that. Their
// sockets may have names too long for an address.
func TestCtlSeveral(t *testing.T) {
	w := fakegpu.Get(t).Workload + " --kernels 9000 --step-sleep-ms 3 --threads 1"
	deep := filepath.Join(t.TempDir(), strings.Repeat("deep", 30))
	r := recordCommand(t, []string{"--start-paused", "--spool-dir", deep}, []string{"sh", "-c", w + " & " + w + " & wait"})
	var list []answer
	all := func(command string) (armed int) {
		t.Helper()
		status, stdout, stderr := r.ctl(r.cmd.Process.Pid, command, "--json")
		if list = nil; status == 0 && json.Unmarshal([]byte(stdout), &list) != nil || status > 1 {
			t.Fatalf("%s: status %d\n%s%s", command, status, stdout, stderr)
		}
		for _, a := range list {
			if a.Armed {
				armed++
			}
		}
		return armed
	}
	for range 200 {
		if all("status"); len(list) == 2 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if len(list) != 2 {
		t.Fatalf("%+v", list)
	}
	one := list[0].PID
	if n := all("start"); n != 2 {
		t.Errorf("%d of 2 started", n)
	}
	if s := r.must(one, "stop"); s.PID != one || s.Armed {
		t.Errorf("%+v", s)
	}
	if n := all("status"); n != 1 {
		t.Errorf("%d run, of 2 one was stopped", n)
	}
	if status, _, stderr := r.ctl(r.cmd.Process.Pid, "snapshot", "-o", "now.json"); status != 0 {
		t.Errorf("status %d, %s", status, stderr)
	}
	if made, _ := filepath.Glob(filepath.Join(r.dir, "now.*.json")); len(made) != 2 {
		t.Errorf("traces: %v", made)
	}
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	_ = r.cmd.Wait()
}

func TestCtlErrors(t *testing.T) {
	r := recordAlong(t, []string{"--start-paused"}, []string{"--kernels", "9000", "--step-sleep-ms", "3"})
	pid := r.ready().PID
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	bystander := exec.Command("sleep", "60")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	defer bystander.Wait()
	defer bystander.Process.Kill()
	for _, c := range []struct {
		pid    int
		args   []string
		status int
		says   string
	}{
		{ended.Process.Pid, []string{"start"}, 1, "has ended"},
		{bystander.Process.Pid, []string{"status"}, 1, "is not traced"},
		{0, []string{"status"}, 2, "no process id"},
		{pid, []string{"status", "--timeout", "0s"}, 2, "--timeout"},
		{pid, []string{"halt"}, 2, "unknown"},
	} {
		if status, _, stderr := r.ctl(c.pid, c.args...); status != c.status || !strings.Contains(stderr, c.says) {
			t.Errorf("%v %d: status %d, %s", c.args, c.pid, status, stderr)
		}
	}
	// A stopped process does not answer.
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if status, _, stderr := r.ctl(pid, "status", "--timeout", "300ms"); status != 1 || !strings.Contains(stderr, "no answer in time") {
		t.Errorf("stopped: status %d, %s", status, stderr)
	}
	_ = syscall.Kill(pid, syscall.SIGCONT)
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	tool := otherUsersTool(t, r.bin)
	cmd := exec.Command(tool, "ctl", "stop", strconv.Itoa(pid))
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "another user") {
		t.Errorf("another user: %v %s", err, out)
	}
}

// otherUsersTool copies the tool to where another user can run it.
func otherUsersTool(t *testing.T, bin string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "flagos-trace-other-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data, err := os.ReadFile(filepath.Join(bin, "flagos-trace"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "flagos-trace"), data, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "flagos-trace")
}

// Windows by time, within what a busy machine allows.
func TestDelayAndDuration(t *testing.T) {
	gpu := fakegpu.Get(t)
	counts := filepath.Join(t.TempDir(), "counts")
	s := recordFake(t, gpu, []string{"--delay", "200ms", "--duration", "300ms"},
		gpu.Workload, "--kernels", "4500", "--step-sleep-ms", "3", "--threads", "1", "--counts", counts)
	tr := s.only(t)
	launched := readCounts(t, counts).kernels()
	if n := tr.Events["kernel"]; n == 0 || n >= launched || tr.Verdict != timeline.Complete || tr.WindowNS < 300e6 {
		t.Errorf("%d kernels of %d in %d ns, %+v", n, launched, tr.WindowNS, tr.Completeness)
	}
}

func TestMaxSize(t *testing.T) {
	gpu := fakegpu.Get(t)
	s := recordFake(t, gpu, []string{"--max-size", "4M"}, gpu.Workload, "--kernels", "18000", "--step-sleep-ms", "1")
	tr := s.only(t)
	c := tr.Completeness
	if tr.Events["kernel"] == 0 || c.Verdict != timeline.Incomplete || len(c.Missing) != 1 || c.Missing[0] != spool.LossMaxSize || c.Noted["max_size_dropped_bytes"] == 0 {
		t.Errorf("%+v", c)
	}
	if c.Spool.Bytes > 4<<20+64<<10 || c.Ended != timeline.EndExit {
		t.Errorf("%+v", c)
	}
}

// A ring holds the last of it, and says from when on it is all there.
func TestRing(t *testing.T) {
	gpu := fakegpu.Get(t)
	for ring, kernels := range map[string]string{"8M": "36000", "400ms": "9000"} {
		counts := filepath.Join(t.TempDir(), "counts")
		s := recordFake(t, gpu, []string{"--ring", ring}, gpu.Workload, "--kernels", kernels, "--step-sleep-ms", "1", "--counts", counts)
		tr := s.only(t)
		c := tr.Completeness
		launched := readCounts(t, counts).kernels()
		if n := tr.Events["kernel"]; n == 0 || n >= launched || c.Verdict != timeline.Complete || c.Noted["ring_dropped_bytes"] == 0 {
			t.Errorf("%s: %d kernels of %d, %+v", ring, n, launched, c)
		}
		if ring == "8M" && c.Spool.Bytes > 8<<20+64<<10 {
			t.Errorf("%d bytes are left", c.Spool.Bytes)
		}
	}
}

func TestParseLimits(t *testing.T) {
	for _, c := range []struct {
		maxSize, ring string
		want          record.Limits
		bad           bool
	}{
		{"", "", record.Limits{}, false},
		{"512M", "", record.Limits{MaxSize: 512 << 20}, false},
		{"2GiB", "", record.Limits{MaxSize: 2 << 30}, false},
		{"10000000", "", record.Limits{MaxSize: 10000000}, false},
		{"", "5m", record.Limits{RingTime: 5 * time.Minute}, false},
		{"", "50M", record.Limits{RingBytes: 50 << 20}, false},
		{"", "5M", record.Limits{}, true},
		{"1", "", record.Limits{}, true},
		{"-5M", "", record.Limits{}, true},
		{"9999999T", "", record.Limits{}, true},
		{"M", "", record.Limits{}, true},
		{"", "soon", record.Limits{}, true},
		{"", "-5s", record.Limits{}, true},
		{"50M", "50M", record.Limits{}, true},
	} {
		var got record.Limits
		err := parseLimits(&got, c.maxSize, c.ring)
		if (err != nil) != c.bad || err == nil && got != c.want {
			t.Errorf("%q %q: %+v %v", c.maxSize, c.ring, got, err)
		}
	}
}
