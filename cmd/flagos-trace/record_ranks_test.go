package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// launch starts two ranks of $RANKS, as torchrun does.
var launch = []string{"python3", "-m", "torch.distributed.run", "--nproc-per-node=2"}

// rankProgram uses the device before there are process groups, and has them destroyed
// before the end; rank 0 starts a process that uses the device more than itself.
const rankProgram = `
import os, subprocess, sys, torch
x = torch.ones(2, device="cuda")
torch.distributed.init_process_group("nccl")
for _ in range(3):
    torch.mm(x, x)
    torch.distributed.all_reduce(x)
if os.environ["RANK"] == "0":
    worker = 'import torch\nx = torch.ones(2, device="cuda")\nfor _ in range(40): torch.mm(x, x)'
    subprocess.check_call([sys.executable, "-c", worker])
torch.distributed.destroy_process_group()
print("rank", os.environ["RANK"])
`

// TestLauncherAndRanks: a launcher that uses the device, two ranks, and a process of
// one of them each have a trace, and those of the ranks alone say which.
func TestLauncherAndRanks(t *testing.T) {
	gpu := fakegpu.Get(t)
	_ = testrig.Programs(t)
	env := append(fakeTorch(t, gpu), "FAKETORCH_LAUNCHER_USES=1")
	program := filepath.Join(t.TempDir(), "ranks.py")
	if err := os.WriteFile(program, []byte(rankProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	s := recordQuirk(t, gpu, fakegpu.CUPTI13, env, nil, append(slices.Clone(launch), program)...)
	if lines := strings.Fields(s.stdout); s.status != 0 || s.stderr != "" || len(lines) != 4 {
		t.Fatalf("status %d, %q, %q", s.status, s.stdout, s.stderr)
	}
	got := map[string]uint64{}
	for _, tr := range s.summary.Traces {
		who := "other"
		switch {
		case tr.Rank != nil:
			who = fmt.Sprintf("rank %d", *tr.Rank)
		case tr.HelperOf != nil:
			who = fmt.Sprintf("helper of %d", *tr.HelperOf)
		case tr.Launcher:
			who = "launcher"
		}
		got[who] = tr.Events["kernel"]
		want := map[string]string{"rank 0": "trace_rank0.json.gz", "rank 1": "trace_rank1.json.gz", "launcher": "trace.json.gz"}[who]
		if want == "" {
			want = fmt.Sprintf("trace.%d.json.gz", tr.PID)
		}
		if tr.File != want || tr.Verdict != timeline.Complete || tr.EndedNS == 0 {
			t.Errorf("%s: %s, verdict %s, ended at %d", who, tr.File, tr.Verdict, tr.EndedNS)
		}
		about := distributed(t, filepath.Join(s.dir, tr.File))
		if tr.Rank == nil {
			if about != "" {
				t.Errorf("%s has the distributedInfo %s", who, about)
			}
			continue
		}
		var info struct {
			Backend string
			Rank    int
			World   int              `json:"world_size"`
			Groups  []map[string]any `json:"pg_config"`
		}
		if err := json.Unmarshal([]byte(about), &info); err != nil || info.Backend != "nccl" || info.Rank != *tr.Rank || info.World != 2 || len(info.Groups) != 1 {
			t.Errorf("%s: %s, %v", who, about, err)
		}
	}
	// Two operators a tensor, one each of the others, two of which are in a collective.
	ranks := got["rank 0"]
	if len(got) != 4 || ranks == 0 || got["rank 1"] != ranks || got["helper of 0"] <= ranks || got["launcher"] == 0 {
		t.Errorf("kernels: %v", got)
	}
}

// readTrace reads a trace back.
func readTrace(t *testing.T, name string) *timeline.Trace {
	t.Helper()
	docs, err := chrome.ReadFile(name, chrome.ReadOptions{})
	if err != nil || len(docs) != 1 {
		t.Fatal(len(docs), err)
	}
	return docs[0].Trace
}

// distributed returns the distributedInfo of a trace, "" if it has none.
func distributed(t *testing.T, name string) string {
	t.Helper()
	for _, p := range readTrace(t, name).Metadata {
		if p.Key == "distributedInfo" {
			return string(p.Raw)
		}
	}
	return ""
}

// dyingProgram: rank 1 is killed in the middle, which ends rank 0, too.
const dyingProgram = `
import os, signal, sys, time, torch
x = torch.ones(2, device="cuda")
begin = time.time()
while True:
    torch.mm(x, x)
    time.sleep(0.002)
    if os.environ["RANK"] == "1" and time.time() > begin + 1:
        os.write(1, b"%d\n" % time.time_ns())
        os.kill(os.getpid(), signal.SIGKILL)
`

// TestRankKilled: the traces of a rank that was killed and of the one that was ended
// for it are there, up to the last 200 ms, and say which died when.
func TestRankKilled(t *testing.T) {
	gpu := fakegpu.Get(t)
	bin := testrig.Programs(t)
	env := append(append(os.Environ(), gpu.Env(fakegpu.CUPTI13)...), fakeTorch(t, gpu)...)
	program := filepath.Join(t.TempDir(), "dying.py")
	if err := os.WriteFile(program, []byte(dyingProgram), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, merged := range []bool{false, true} {
		dir := t.TempDir()
		args := []string{"record", "--summary", "summary.json"}
		if merged {
			args = append(args, "--merge")
		}
		cmd := exec.Command(filepath.Join(bin, "flagos-trace"), append(append(append(args, "--"), launch...), program)...)
		cmd.Dir, cmd.Env = dir, env
		var out, said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &said
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("%v\n%s", err, said.Bytes())
		}
		var killed int64
		if _, err := fmt.Sscan(out.String(), &killed); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, "summary.json"))
		var s record.Summary
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		if err != nil {
			t.Fatal(err)
		}
		of := map[int]record.TraceSummary{}
		for _, tr := range s.Traces {
			if tr.Rank != nil {
				of[*tr.Rank] = tr
			}
		}
		if len(of) != 2 || len(s.Traces) != 3 || slices.IndexFunc(s.Traces, func(tr record.TraceSummary) bool { return tr.Launcher }) < 0 {
			t.Fatalf("traces: %s", data)
		}
		dead, other := of[1], of[0]
		// Seen at once, unless this machine is busy.
		if late := dead.EndedNS - killed; late < 0 || late > int64(5*time.Second) || other.EndedNS < dead.EndedNS {
			t.Errorf("rank 1 ended %d ns after it was killed, rank 0 %d ns after rank 1", late, other.EndedNS-dead.EndedNS)
		}
		if c := dead.Completeness; c.Signal != "SIGKILL" || c.Ended != timeline.EndCut || dead.Verdict != timeline.Unknown {
			t.Errorf("rank 1: %+v", c)
		}
		if !strings.Contains(said.String(), fmt.Sprintf("process %d, rank 1: killed by SIGKILL at ", dead.PID)) {
			t.Errorf("said:\n%s", said.Bytes())
		}
		tr := readTrace(t, filepath.Join(dir, dead.File))
		var last int64
		for i := range tr.Events.Len() {
			if e := tr.Events.At(uint32(i)); e.Kind == timeline.Kernel && (!merged || e.End <= killed) {
				last = max(last, e.End)
			}
		}
		if last < killed-int64(200*time.Millisecond) {
			t.Errorf("merged %v: the last kernel ended %d ns before the kill", merged, killed-last)
		}
		if !merged {
			continue
		}
		var labels []string
		for _, p := range tr.Completeness.Processes {
			labels = append(labels, p.Label)
		}
		if len(labels) != 3 || labels[2] != "launcher" || !strings.HasPrefix(labels[1], "rank 1, killed by SIGKILL at ") || !strings.HasPrefix(labels[0], "rank 0") {
			t.Errorf("labels: %q", labels)
		}
	}
}

// twoDevices launches on both devices and copies between them.
const twoDevices = `
#include <stddef.h>
struct dim3 { unsigned x, y, z; };
void **__cudaRegisterFatBinary(void *);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
int cudaLaunchKernel(const void *, struct dim3, struct dim3, void **, size_t, void *);
int cudaSetDevice(int), cudaGetDeviceCount(int *), cudaMalloc(void **, size_t), cudaDeviceSynchronize(void);
int cudaMemcpyPeerAsync(void *, int, const void *, int, size_t, void *);
static char stub;
int main(void)
{
	struct dim3 one = {1, 1, 1};
	void *at[2];
	int devices = 0, bad = 0;
	__cudaRegisterFunction(__cudaRegisterFatBinary(NULL), &stub, NULL, "_Z6kernelPf", -1, NULL, NULL, NULL, NULL, NULL);
	bad |= cudaGetDeviceCount(&devices) || devices != 2;
	for (int d = 0; d < 2; d++)
		bad |= cudaSetDevice(d) || cudaMalloc(&at[d], 4096);
	for (int d = 0; d < 2; d++) {
		bad |= cudaSetDevice(d);
		for (int i = 0; i <= d; i++)
			bad |= cudaLaunchKernel(&stub, one, one, NULL, 0, NULL);
		bad |= cudaMemcpyPeerAsync(at[1 - d], 1 - d, at[d], d, 1024 << d, NULL);
		bad |= cudaDeviceSynchronize();
	}
	return bad;
}
`

// TestTwoDevices: what a process does on each of its devices is on that device's
// rows, and a copy between two names both.
func TestTwoDevices(t *testing.T) {
	gpu := fakegpu.Get(t)
	_ = testrig.Programs(t)
	dir := t.TempDir()
	source, program := filepath.Join(dir, "two.c"), filepath.Join(dir, "two")
	if err := os.WriteFile(source, []byte(twoDevices), 0o644); err != nil {
		t.Fatal(err)
	}
	libs := filepath.Join(gpu.Dir, "lib")
	if out, err := exec.Command("gcc", "-o", program, source, "-L"+libs, "-Wl,-rpath-link,"+libs, "-l:libcudart.so.13", "-l:libcuda.so.1").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	s := recordQuirk(t, gpu, fakegpu.CUPTI13, []string{"FAKEGPU_DEVICES=2"}, nil, program)
	tr := s.only(t)
	if s.status != 0 || tr.Verdict != timeline.Complete || tr.Events["kernel"] != 3 || len(tr.Devices) != 2 {
		t.Fatalf("status %d, %+v", s.status, tr)
	}
	var doc struct {
		Devices []struct{ ID int } `json:"deviceProperties"`
		Events  []struct {
			Cat, Name, Ph string
			PID, TID      json.RawMessage
			Args          map[string]any
		} `json:"traceEvents"`
	}
	if err := json.NewDecoder(s.text(t, tr.File)).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range doc.Events {
		if e.Cat != "kernel" && e.Cat != "gpu_memcpy" || e.Ph != "X" {
			continue
		}
		// A copy between devices has three of them instead of one, as Kineto writes it.
		if from, ok := e.Args["inDevice"]; ok {
			e.Args["device"] = from
		}
		if string(e.PID) != fmt.Sprint(e.Args["device"]) || string(e.TID) != fmt.Sprint(e.Args["stream"]) {
			t.Errorf("%s of device %v is on the row %s/%s", e.Name, e.Args["device"], e.PID, e.TID)
		}
		got = append(got, fmt.Sprint(e.Name, " ", e.Args["device"], e.Args["fromDevice"], e.Args["toDevice"], e.Args["bytes"]))
	}
	slices.Sort(got)
	want := []string{
		"Memcpy PtoP (Device -> Device) 0 0 1 1024", "Memcpy PtoP (Device -> Device) 1 1 0 2048",
		"kernel(float*) 0 <nil> <nil> <nil>", "kernel(float*) 1 <nil> <nil> <nil>", "kernel(float*) 1 <nil> <nil> <nil>",
	}
	if !slices.Equal(got, want) || len(doc.Devices) != 2 {
		t.Errorf("%q, %d devices", got, len(doc.Devices))
	}
}
