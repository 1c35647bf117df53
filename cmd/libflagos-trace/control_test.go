package main_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/spool"
)

// ask sends a command to the only process that listens in dir.
func ask(dir, command string) (r spool.Reply, ok bool) {
	list, _ := filepath.Glob(filepath.Join(dir, "*"+spool.SocketExt))
	if len(list) != 1 {
		return r, false
	}
	c, err := net.DialTimeout("unix", list[0], time.Second)
	if err != nil {
		return r, false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write([]byte(`{"command":"` + command + "\"}\n"))
	line, err := bufio.NewReader(c).ReadBytes('\n')
	return r, err == nil && json.Unmarshal(line, &r) == nil
}

// Paused, a program ends as without the agent, and nothing was asked of the
// library.
func TestPausedEnds(t *testing.T) {
	for _, args := range [][]string{{"--exit-code", "3"}, {"--abort"}, {"--signal", "15"}, {"--_exit"}} {
		args = append(args, "--print")
		plain := trial{cupti: fakegpu.CUPTI13, args: args, stdin: "in\n", notrac: true}.run(t)
		o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_PAUSED=1"}, args: args, stdin: "in\n"}.run(t)
		if o.code != plain.code || o.stdout != plain.stdout || o.stderr != plain.stderr {
			t.Errorf("%v: %d %q %q, untraced: %d %q %q", args, o.code, o.stdout, o.stderr, plain.code, plain.stdout, plain.stderr)
		}
		s := o.spool(t)
		if !s.header.Paused || s.buffers != 0 || s.counters.BuffersRequested != 0 || len(s.diagnoses) > 0 {
			t.Errorf("%v: %+v %+v %q", args, s.header, s.counters, s.diagnoses)
		}
		for _, call := range []string{"cuptiActivityEnable", "cuptiActivityRegisterCallbacks", "cuptiActivityFlushAll", "request"} {
			if strings.Contains(o.log, call) {
				t.Errorf("%v: %s was called", args, call)
			}
		}
	}
}

// While paused no thread of the agent but the one that listens runs.
func TestPausedSleeps(t *testing.T) {
	var before, after int64
	trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_PAUSED=1"}, args: []string{"--sleep", "50"}, during: func(pid int, dir string) {
		defer syscall.Kill(pid, syscall.SIGKILL)
		for range 200 {
			time.Sleep(20 * time.Millisecond)
			if r, ok := ask(dir, "status"); ok {
				before = r.Counters.AgentCPUNS
				break
			}
		}
		time.Sleep(500 * time.Millisecond)
		first, _ := ask(dir, "status")
		time.Sleep(1500 * time.Millisecond)
		last, ok := ask(dir, "status")
		if !ok || last.Armed {
			t.Errorf("%+v", last)
		}
		before, after = first.Counters.AgentCPUNS, last.Counters.AgentCPUNS
	}}.run(t)
	if before != after {
		t.Errorf("the sleeping threads used %d ns", after-before)
	}
}

// A ring is readable whenever the process is killed, and has the last of it.
func TestRingKilled(t *testing.T) {
	for _, after := range []time.Duration{700 * time.Millisecond, 903 * time.Millisecond, 1107 * time.Millisecond} {
		o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_RING_BYTES=3000000"}, args: []string{"--kernels", "900000", "--step-sleep-ms", "1"},
			during: func(pid int, dir string) {
				for range 200 {
					time.Sleep(20 * time.Millisecond)
					if list, _ := filepath.Glob(dir + "/*.spool"); len(list) == 1 {
						break
					}
				}
				time.Sleep(after)
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}}.run(t)
		list := o.spools(t)
		if len(list) != 1 {
			t.Fatalf("spools: %v", list)
		}
		files, err := spool.Segments(list[0])
		if err != nil || len(files) < 2 {
			t.Fatalf("segments: %v %v; %+v %q", files, err, read(t, list[0]).counters, read(t, list[0]).diagnoses)
		}
		kernels, number := 0, -1
		for _, name := range files {
			s := read(t, name)
			if s.damage.Frames != 0 || number >= 0 && s.header.Segment != number+1 {
				t.Errorf("%s: %+v %+v", name, s.header, s.damage)
			}
			number = s.header.Segment
			kernels += s.kinds[10]
			if s.named() != s.kinds[10] {
				t.Errorf("%s: %d kernels, %d named", name, s.kinds[10], s.named())
			}
			if st, err := os.Stat(name); err != nil || st.Size() > 3000000 {
				t.Errorf("%s: %v %v", name, st.Size(), err)
			}
		}
		if kernels == 0 || o.code != 128+9 {
			t.Errorf("%d kernels, exit %d", kernels, o.code)
		}
	}
}

// Commands that come while the process ends hold up nothing.
func TestControlDuringExit(t *testing.T) {
	stop := make(chan struct{})
	o := trial{cupti: fakegpu.CUPTI13, args: []string{"--kernels", "900", "--step-sleep-ms", "1", "--exit-code", "7"}, during: func(_ int, dir string) {
		for range 3 {
			go func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
						ask(dir, []string{spool.CommandStart, spool.CommandStatus, spool.CommandSnapshot, spool.CommandStop}[i%4])
					}
				}
			}()
		}
	}}.run(t)
	close(stop)
	if o.code != 7 || o.took > 8*time.Second {
		t.Errorf("exit %d after %v", o.code, o.took)
	}
	if s := o.spool(t); s.end == nil || s.end.Reason != "exit" {
		t.Errorf("end %+v, %q", s.end, s.diagnoses)
	}
	if list, _ := filepath.Glob(o.dir + "/*.sock"); len(list) != 0 {
		t.Errorf("left: %v", list)
	}
}

// A program that closes what it does not know, or whose main thread goes, ends as
// it would have, also while the agent sleeps.
func TestPausedGuest(t *testing.T) {
	prog := compile(t, "guest", "-pthread", "-ldl")
	for _, paused := range []string{"0", "1"} {
		for mode, code := range map[string]int{"main_gone": 0, "closed": 6} {
			o := trial{cupti: fakegpu.CUPTI13, env: []string{"FLAGOS_TRACE_PAUSED=" + paused, "FAKECUPTI_LOG="}, prog: prog, args: []string{mode}}.run(t)
			if got := strings.TrimSpace(o.stdout); got != "done" || o.code != code || o.stderr != "" || o.took > 20*time.Second {
				t.Errorf("%s, paused %s: %q, exit %d, stderr %q, after %v", mode, paused, got, o.code, o.stderr, o.took)
			}
		}
	}
}
