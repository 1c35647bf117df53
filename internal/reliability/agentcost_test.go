package reliability

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// BenchmarkAgentCostRecord shows what a record costs the traced process, and what
// the agent keeps resident there beside its buffers.
//
// CPU time is that of all threads which the agent brings into the process, those
// of the Go runtime among them, from their start to the end of the work, and of
// the agent's functions that the vendor's library calls on its own threads and on
// the program's; where the library calls one on a thread of the agent it counts
// twice. It is divided by the records of the trace's completeness record. What the
// program's own threads pay for in the vendor's library is not in it.
//
// Memory is the most seen of the process, less what was resident of the buffers
// then, less the most seen of the same program without the agent. Of the buffers
// as much is resident as was ever in use at once, 128 MB at most.
func BenchmarkAgentCostRecord(b *testing.B) {
	for _, c := range []struct {
		name string
		step string // launches in a step; each step has copies, fills, waits and events
	}{{"training", "9"}, {"launches", "1000"}} {
		b.Run(c.name, func(b *testing.B) {
			args := []string{"--kernels", "250000", "--threads", "4", "--streams", "4", "--graphs", "0", "--step-kernels", c.step, "--sleep", "1"}
			env := []string{"FAKEGPU_KERNEL_NS=500", "FAKEGPU_TIME_PERCENT=0", "FAKEGPU_LAUNCH_LATENCY_NS=0"}
			var perRecord, beside, pool, size []float64
			for b.Loop() {
				alone := aloneResident(b, env, args)
				cost := filepath.Join(b.TempDir(), "cost")
				counts := filepath.Join(b.TempDir(), "counts")
				r := job{env: append(env, "FAKECUPTI_COST="+cost), args: append(args, "--counts", counts)}.start(b)
				s := soak{recording: r}
				s.program = s.target().PID
				resident, buffers := mostUntil(s.program, counts)
				time.Sleep(300 * time.Millisecond) // until the last buffers are written
				cpu := agentThreads(b, s.program)
				o := r.wait()
				if o.status != 0 || len(o.summary.Traces) != 1 || o.summary.Traces[0].Cost == nil {
					b.Fatalf("status %d; said:\n%s", o.status, o.stderr)
				}
				records := float64(o.summary.Traces[0].Cost.Records)
				if records < 4e6 {
					b.Fatalf("only %.0f records", records)
				}
				called := readClientCost(b, cost)
				perRecord = append(perRecord, float64(cpu+called.ns())/records)
				beside = append(beside, mb(resident-buffers-alone))
				pool = append(pool, mb(buffers))
				size = append(size, float64(o.summary.Traces[0].Cost.SpoolBytes)/records)
				b.Logf("%.0f records: threads of the agent %.1f ms, called by the library %.1f ms (%d and %d times for buffers, %d readings of the clock); its own account says %.1f ms; resident %.1f MB, buffers %.1f MB, without the agent %.1f MB",
					records, float64(cpu)/1e6, float64(called.ns())/1e6, called.Requests, called.Completes, called.Readings,
					float64(*o.summary.Traces[0].Cost.AgentCPUNS)/1e6, mb(resident), mb(buffers), mb(alone))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(perRecord), "cpu-ns/record")
			b.ReportMetric(median(size), "B/record")
			b.ReportMetric(median(beside), "MB-beside-buffers")
			b.ReportMetric(median(pool), "MB-buffers")
		})
	}
}

// mostUntil returns what was resident of a process when that was most, beside
// the agent's buffers, until a file is there; bytes.
func mostUntil(pid int, file string) (resident, buffers int64) {
	for {
		if r, b := memory(pid); r-b > resident-buffers {
			resident, buffers = r, b
		}
		if _, err := os.Stat(file); err == nil {
			return resident, buffers
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// aloneResident is the most that is resident of the program without the agent.
func aloneResident(b *testing.B, env, args []string) int64 {
	gpu := fakegpu.Get(b)
	counts := filepath.Join(b.TempDir(), "counts")
	cmd := exec.Command(gpu.Workload, append(args, "--counts", counts)...)
	cmd.Env = environ(fakegpu.CUPTI13, gpu, env)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	resident, _ := mostUntil(cmd.Process.Pid, counts)
	if err := cmd.Wait(); err != nil || resident == 0 {
		b.Fatalf("%v, %d bytes resident", err, resident)
	}
	return resident
}

// agentThreads is the CPU time of all threads of a process but its main one and
// those of the vendor's library, ns. The program has no others left.
func agentThreads(tb testing.TB, pid int) (ns int64) {
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		tb.Fatal(err)
	}
	own := 0
	for _, task := range tasks {
		dir := fmt.Sprintf("/proc/%d/task/%s/", pid, task.Name())
		name, err := os.ReadFile(dir + "comm")
		if err != nil || task.Name() == strconv.Itoa(pid) || string(name) == "fakecupti\n" {
			continue
		}
		if strings.HasPrefix(string(name), "flagos-") {
			own++
		}
		text, err := os.ReadFile(dir + "schedstat")
		if f := strings.Fields(string(text)); err == nil && len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			ns += n
		}
	}
	if own < 3 || ns == 0 {
		tb.Fatalf("%d threads of the agent among %d, %d ns", own, len(tasks), ns)
	}
	return ns
}

// clientCost is what the look-alike says about the functions it called.
type clientCost struct {
	Requests   int64 `json:"requests"`
	RequestNS  int64 `json:"request_ns"`
	Completes  int64 `json:"completes"`
	CompleteNS int64 `json:"complete_ns"`
	Readings   int64 `json:"readings"`
	ReadingPS  int64 `json:"reading_ps"`
}

func (c clientCost) ns() int64 { return c.RequestNS + c.CompleteNS + c.Readings*c.ReadingPS/1000 }

func readClientCost(tb testing.TB, name string) (c clientCost) {
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil || c.Requests == 0 {
		tb.Fatalf("%s: %v, %+v", name, err, c)
	}
	return c
}

// BenchmarkAgentCostInject shows how long the agent holds up a program that comes
// to use the device: how long dlopen takes to load it, and then
// InitializeInjection, which waits for the Go runtime to start, and finds, loads
// and arms the vendor's library, here the small one of the look-alike. Each
// iteration starts a process.
func BenchmarkAgentCostInject(b *testing.B) {
	gpu := fakegpu.Get(b)
	agent := filepath.Join(testrig.Programs(b), "libflagos_trace.so")
	var load, inject, faults []float64
	run := func(env ...string) (string, float64) {
		cmd := exec.Command(gpu.Workload, "--kernels", "9", "--threads", "1", "--graphs", "0")
		cmd.Env = environ(fakegpu.CUPTI13, gpu, env)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return string(out), float64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Minflt)
	}
	_, without := run()
	for b.Loop() {
		dir := b.TempDir()
		out, n := run("CUDA_INJECTION64_PATH="+agent, "FLAGOS_TRACE_DIR="+dir, "FAKEGPU_VERBOSE=1")
		var rc int
		var loadNS, injectNS float64
		if _, err := fmt.Sscanf(out, "fakegpu: injection: InitializeInjection called, returned %d; %f ns to load, %f ns in it", &rc, &loadNS, &injectNS); err != nil || rc != 1 {
			b.Fatalf("%v: %q", err, out)
		}
		if spools, _ := filepath.Glob(filepath.Join(dir, "*.spool")); len(spools) != 1 {
			b.Fatalf("%d spools", len(spools))
		}
		load, inject, faults = append(load, loadNS/1e6), append(inject, injectNS/1e6), append(faults, n-without)
	}
	b.ReportMetric(median(load), "load-ms")
	for _, q := range []struct {
		part float64
		name string
	}{{0, "inject-ms-min"}, {0.25, "inject-ms-q1"}, {0.5, "inject-ms-median"}, {0.9, "inject-ms-p90"}, {1, "inject-ms-max"}} {
		b.ReportMetric(quantile(inject, q.part), q.name)
	}
	b.ReportMetric(median(faults), "page-faults")
}

func median(list []float64) float64 { return quantile(list, 0.5) }

// quantile returns the value that a part of the list does not exceed.
func quantile(list []float64, part float64) float64 {
	if len(list) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(list))
	return s[int(part*float64(len(s)-1)+0.5)]
}
