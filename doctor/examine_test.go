package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/timeline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// want is a finding that must be there: its status, and a part of its fix, or of
// what was seen where there is no fix.
type want struct {
	status Status
	text   string
}

const py = `flagos-trace-doctor {"executable":"/v/bin/python","version":"3.12.3","prefix":"/v","path":["/v/site"],"dists":{"torch":"2.9.0"},"torch_dir":"/v/site/torch","torch_cuda":`

var file = &fstest.MapFile{Mode: 0o755}

// cases change one thing on a healthy machine.
var cases = []struct {
	name    string
	change  func(m *machine)
	options Options
	verdict Status
	want    map[string]want
}{
	{"healthy", func(*machine) {}, Options{}, OK, map[string]want{
		"agent": {OK, "loads"}, "driver": {OK, "kernel module 580.82.07"}, "library.cupti": {OK, "libcupti.so.13"}, "probe.library": {OK, "130001"},
		"probe.records": {OK, "2 memcpy"}, "probe.layout": {OK, "verified"}, "probe.clock": {OK, "REALTIME"}, "probe.losses": {OK, "nothing"}, "probe.time": {OK, "2ms"},
		"device.counters": {OK, "administrators"}, "env.ptrace": {OK, "does not matter"}, "python": {OK, "3.12.3"}}},
	{"no agent", func(m *machine) { m.agent = errors.New("the agent library was not found") }, Options{}, Fail, map[string]want{
		"agent": {Fail, "make build"}, "probe.alone": {OK, "H200"}, "probe.recording": {Skip, "no recording"}}},
	{"agent not loadable", func(m *machine) {
		m.check = Output{Status: probeNotLoaded, Stdout: "unloadable\tx\tversion GLIBC_2.99 not found\n"}
	}, Options{}, Fail, map[string]want{"agent": {Fail, "C library"}}},
	{"agent hangs", func(m *machine) { m.check = Output{Signal: "SIGALRM"} }, Options{}, Fail, map[string]want{"agent": {Fail, "make build"}}},
	{"no probe", func(m *machine) { delete(m.files, "opt/bin/flagos-trace-probe") }, Options{}, Warn, map[string]want{
		"probe.program": {Warn, "/opt/bin"}, "agent": {OK, "not tried"}, "probe.alone": {Skip, "no flagos-trace-probe"}}},
	{"probe asked to stay away", func(*machine) {}, Options{NoProbe: true}, OK, map[string]want{"probe.alone": {Skip, "--no-probe"}, "agent": {OK, "loads"}}},

	{"output folder missing", func(*machine) {}, Options{Output: "/data/x/t.json"}, Fail, map[string]want{"output": {Fail, "mkdir -p /data/x"}}},
	{"output not writable", func(m *machine) { m.denied = []string{"/home/me"} }, Options{}, Fail, map[string]want{"output": {Fail, "-o"}}},
	{"output is a folder", func(*machine) {}, Options{Output: "/home/me"}, Fail, map[string]want{"output": {Fail, "name a file"}}},
	{"disk full", func(m *machine) { m.free = 1000 }, Options{}, Fail, map[string]want{"disk": {Fail, "make room"}}},
	{"disk low", func(m *machine) { m.free = 500 * mib }, Options{}, Warn, map[string]want{"disk": {Warn, "make room"}}},

	{"injection taken", func(m *machine) {
		m.env = append(m.env, "CUDA_INJECTION64_PATH=/nsys/libToolsInjection64.so")
		m.files["nsys/libToolsInjection64.so"] = file
	}, Options{}, Fail, map[string]want{"env.injection": {Fail, "unset CUDA_INJECTION64_PATH, or"}, "probe.recording": {Skip, "see the failures"}}},
	{"injection chained", func(m *machine) {
		m.env = append(m.env, "CUDA_INJECTION64_PATH=/nsys/libToolsInjection64.so")
		m.files["nsys/libToolsInjection64.so"] = file
	}, Options{Chain: true}, Warn, map[string]want{"env.injection": {Warn, "disturb"}, "probe.records": {OK, "2 memcpy"}}},
	{"injection of nothing", func(m *machine) { m.env = append(m.env, "CUDA_INJECTION64_PATH=none") }, Options{}, OK, map[string]want{"env.injection": {OK, "free"}}},
	{"injection missing", func(m *machine) { m.env = append(m.env, "CUDA_INJECTION64_PATH=/gone.so") }, Options{Chain: true}, Fail, map[string]want{
		"env.injection": {Fail, "unset"}}},
	{"under record", func(m *machine) {
		m.env = append(m.env, "CUDA_INJECTION64_PATH=/opt/bin/libflagos_trace.so", "FLAGOS_TRACE_DIR=/tmp/x")
	}, Options{}, Fail, map[string]want{"env.injection": {Fail, "outside"}}},
	{"NVTX", func(m *machine) { m.env = append(m.env, "NVTX_INJECTION64_PATH=/gone.so") }, Options{}, Warn, map[string]want{"env.nvtx": {Warn, "unset"}}},
	{"preload missing", func(m *machine) { m.env = append(m.env, "LD_PRELOAD=libc.so.6:/gone.so") }, Options{}, Warn, map[string]want{"env.preload": {Warn, "take it out"}}},
	{"preload of a profiler", func(m *machine) { m.env = append(m.env, "LD_PRELOAD=libmupti.so") }, Options{}, Warn, map[string]want{"env.preload": {Warn, "no preloading"}}},
	{"override missing", func(m *machine) { m.env = append(m.env, "FLAGOS_CUPTI_LIBRARY=/gone.so") }, Options{}, Fail, map[string]want{
		"env.cupti_library": {Fail, "unset FLAGOS_CUPTI_LIBRARY"}}},
	{"override by name", func(m *machine) {
		m.env = append(m.env, "FLAGOS_CUPTI_LIBRARY=libcuda.so.1")
	}, Options{}, OK, map[string]want{"env.cupti_library": {OK, "no other"}}},
	{"override unused", func(m *machine) {
		m.env = append(m.env, "FLAGOS_CUPTI_LIBRARY=/a.so", "FLAGOS_TRACER_LIBRARY=/opt/bin/flagos-trace", "FLAGOS_TRACE_AGENT=/other.so")
	}, Options{}, Warn, map[string]want{"env.cupti_library": {Warn, "unset one"}, "env.agent": {Warn, "unset FLAGOS_TRACE_AGENT"}}},

	{"no GPU", func(m *machine) { m.bare() }, Options{}, Fail, map[string]want{
		"driver": {Fail, "nvidia-smi must list it"}, "library.cupti": {OK, "libcupti"}, "probe.alone": {Skip, "no driver"}}},
	{"no GPU in a container", func(m *machine) { m.bare(); m.files[".dockerenv"] = file }, Options{}, Fail, map[string]want{
		"driver": {Fail, "--gpus all"}, "env.container": {OK, ".dockerenv"}}},
	{"container without compute", func(m *machine) {
		delete(m.files, "usr/lib/x86_64-linux-gnu/libcuda.so.1")
		m.files["run/.containerenv"] = file
		m.env = append(m.env, "NVIDIA_DRIVER_CAPABILITIES=utility,video")
		m.alone = Output{Status: probeNoDriver, Stdout: "nodriver\tlibcuda.so.1: cannot open\n"}
	}, Options{}, Fail, map[string]want{"driver": {Fail, "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}}},
	{"node not permitted", func(m *machine) {
		m.denied = []string{"/dev/nvidia0"}
		m.alone = failing(100, "CUDA_ERROR_NO_DEVICE")
	}, Options{}, Fail, map[string]want{"device.nodes": {Fail, "ls -l /dev/nvidia0"}}},
	{"no uvm", func(m *machine) { delete(m.files, "dev/nvidia-uvm"); m.alone = failing(999, "CUDA_ERROR_UNKNOWN") }, Options{}, Fail, map[string]want{
		"device.nodes": {Warn, "nvidia-modprobe"}, "probe.alone": {Fail, "nvidia-uvm"}}},
	{"hidden", func(m *machine) {
		m.env = append(m.env, "CUDA_VISIBLE_DEVICES=")
		m.alone = failing(100, "CUDA_ERROR_NO_DEVICE")
	}, Options{}, Fail, map[string]want{"device.visible": {Fail, "unset"}, "probe.alone": {Fail, "unset CUDA_VISIBLE_DEVICES"}}},
	{"stub", func(m *machine) { m.alone = failing(34, "CUDA_ERROR_STUB_LIBRARY") }, Options{}, Fail, map[string]want{"probe.alone": {Fail, "stub"}}},
	{"driver mismatch", func(m *machine) {
		m.links["/usr/lib/x86_64-linux-gnu/libcuda.so.1"] = "/usr/lib/x86_64-linux-gnu/libcuda.so.550.1"
		m.alone = Output{Status: probeCall, Stdout: "error\tcuInit\t803\tCUDA_ERROR_SYSTEM_DRIVER_MISMATCH\t\n"}
	}, Options{}, Fail, map[string]want{"driver": {Warn, "reboot"}, "probe.alone": {Fail, "kernel module"}}},
	{"old driver library", func(m *machine) { m.alone = Output{Status: probeCall, Stdout: "missing\tcuDevicePrimaryCtxRetain\n"} }, Options{}, Fail, map[string]want{
		"probe.alone": {Fail, "mend the driver"}}},
	{"driver hangs", func(m *machine) { m.alone = Output{Signal: "SIGALRM", Stdout: "step\tcuInit\n"} }, Options{}, Fail, map[string]want{"probe.alone": {Fail, "dmesg"}}},
	{"driver crashes", func(m *machine) { m.alone = Output{Signal: "SIGSEGV", Status: -1, Stdout: "step\tcuInit\n"} }, Options{}, Fail, map[string]want{"probe.alone": {Fail, "dmesg"}}},
	{"MPS", func(m *machine) { m.files["tmp/nvidia-mps/control"] = file }, Options{}, Warn, map[string]want{"device.mps": {Warn, "580"}}},
	{"MIG", func(m *machine) { m.smi["-L"] += "  MIG 1g.18gb Device 0: (UUID: MIG-2)\n" }, Options{}, OK, map[string]want{"device.mig": {OK, "1 MIG slice"}}},
	{"confidential", func(m *machine) {
		m.smi["conf-compute"] = "CC status: ON\n"
		m.trace = unavailable("cupti: this user or environment may not trace the device: cuptiActivityEnable returned 41")
	}, Options{}, Fail, map[string]want{
		"device.confidential": {Warn, "devtools"}, "probe.permission": {Fail, "devtools"}}},
	{"WSL", func(m *machine) {
		m.files["proc/version"] = &fstest.MapFile{Data: []byte("Linux version 5.15.0-microsoft-standard-WSL2")}
		m.trace.Clock.Source = timeline.ClockTicks
	}, Options{}, OK, map[string]want{"env.wsl": {OK, "WSL"}, "probe.clock": {OK, "mapped"}}},

	{"several copies", func(m *machine) { m.files["usr/lib/x86_64-linux-gnu/libcupti.so.12"] = file }, Options{}, Warn, map[string]want{
		"library.cupti": {Warn, "FLAGOS_CUPTI_LIBRARY"}}},
	{"Ascend without its library", func(m *machine) {
		m.bare()
		m.files["dev/davinci0"] = &fstest.MapFile{Mode: 0o666 | fs.ModeDevice | fs.ModeCharDevice}
	}, Options{}, Fail, map[string]want{"library.ascend": {Fail, "install the vendor's profiling library"}}},
	{"DTK", func(m *machine) {
		m.bare()
		m.files["opt/dtk/lib/libroctracer64.so"] = sharedObject(here(), vendorOf("dcu").functions...)
		m.files["opt/bin/libflagos_trace_preload.so"] = file
	}, Options{}, OK, map[string]want{"library.dcu": {OK, "--vendor dcu"}}},
	{"Kunlunxin", func(m *machine) {
		m.bare()
		m.files["dev/xpu0"] = &fstest.MapFile{Mode: 0o666 | fs.ModeDevice | fs.ModeCharDevice}
	}, Options{}, Fail, map[string]want{"library.kunlunxin": {Fail, "vendor's own profiler"}}},
	{"Ascend's SDK beside a GPU", func(m *machine) { m.ascendSDK() }, Options{}, OK, map[string]want{
		"library.ascend": {OK, "libmspti.so"}}},

	{"few files", func(m *machine) { m.limits = map[int]uint64{unix.RLIMIT_NOFILE: 64} }, Options{}, Warn, map[string]want{"limit.files": {Warn, "ulimit -n"}}},
	{"small address space", func(m *machine) {
		m.limits = map[int]uint64{unix.RLIMIT_AS: gib}
		m.alone = failing(2, "CUDA_ERROR_OUT_OF_MEMORY")
	}, Options{}, Fail, map[string]want{"limit.memory": {Warn, "ulimit -v"}, "probe.alone": {Fail, "free memory"}}},
	{"address space that suffices", func(m *machine) { m.limits = map[int]uint64{unix.RLIMIT_AS: 100 * gib} }, Options{}, OK, map[string]want{
		"limit.memory": {OK, "100.0 GiB, which was enough"}}},
	{"small files", func(m *machine) { m.limits = map[int]uint64{unix.RLIMIT_FSIZE: mib} }, Options{}, Warn, map[string]want{"limit.filesize": {Warn, "ulimit -f"}}},

	{"no Python", func(m *machine) { m.noPy = true }, Options{}, OK, map[string]want{"python": {Skip, "other languages"}}},
	{"no Python where asked", func(m *machine) { m.noPy = true }, Options{Python: "/v/bin/python"}, Warn, map[string]want{"python": {Warn, "--python"}}},
	{"Python hangs", func(m *machine) { m.python = Output{TimedOut: true} }, Options{}, OK, map[string]want{"python": {Skip, "did not answer"}}},
	{"Python talks nonsense", func(m *machine) { m.python = Output{Stdout: "flagos-trace-doctor {"} }, Options{}, OK, map[string]want{"python": {Skip, "cannot be read"}}},
	{"torch without CUDA", func(m *machine) { m.python = Output{Stdout: py + `""}`} }, Options{}, Warn, map[string]want{"python.torch": {Warn, "CUDA build"}}},
	{"torch for HIP", func(m *machine) { m.python = Output{Stdout: py + `"","torch_hip":"6.2"}`} }, Options{}, Warn, map[string]want{"python.torch": {Warn, "install DTK"}}},
	{"torch of unknown build", func(m *machine) { m.python = Output{Stdout: py + `null}`} }, Options{}, OK, map[string]want{"python.torch": {Skip, "metadata"}}},
	{"torch with its libcupti", func(m *machine) {
		m.python = Output{Stdout: py + `"12.8"}`}
		m.files["v/site/nvidia/cuda_cupti/lib/libcupti.so.12"] = file
		m.files["v/site/triton/backends/nvidia/lib/cupti/libcupti.so"] = file // the same under two names
		m.files["v/site/triton/backends/nvidia/lib/cupti/libcupti.so.12"] = file
		m.trace = unavailable("cupti: libcupti not found: install the CUPTI that belongs")
		m.torch = complete()
	}, Options{}, Warn, map[string]want{"python.torch": {OK, "/v/site/nvidia/cuda_cupti/lib/libcupti.so.12"}, "probe.library": {Warn, "export FLAGOS_CUPTI_LIBRARY="}, "probe.torch.records": {OK, "2 memcpy"}, "library.cupti": {Warn, "(torch: /v/site/nvidia"}}},
	{"torch's libcupti broken", func(m *machine) {
		m.python = Output{Stdout: py + `"13.0"}`}
		m.files["v/site/nvidia/cu13/lib/libcupti.so.13"] = file
		m.torch = unavailable("cupti: libcupti is newer than the driver allows: cuptiX returned 15")
	}, Options{}, Fail, map[string]want{"probe.torch.library": {Fail, "update the driver"}, "probe.records": {OK, ""}}},

	{"no libcupti", func(m *machine) {
		maps := m.files
		delete(maps, "usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13")
		delete(maps, "usr/local/cuda-13/extras/CUPTI/lib64/libcupti.so")
		m.trace = unavailable("cupti: libcupti not found: install the CUPTI that belongs")
	}, Options{}, Fail, map[string]want{"library.cupti": {Skip, "below"}, "probe.library": {Fail, "pip install 'nvidia-cuda-cupti<13.1'"}}},
	{"layout", func(m *machine) {
		m.trace.Layout = "mismatch"
		m.trace.Diagnoses = []string{"layout mismatch: kind 10"}
	}, Options{}, Fail, map[string]want{
		"probe.layout": {Fail, "unchanged"}}},
	{"two clocks", func(m *machine) { m.trace.Clock.Source = timeline.ClockMixed }, Options{}, Warn, map[string]want{"probe.clock": {Warn, "without that profiler"}}},
	{"unknown clock", func(m *machine) { m.trace.Clock.Source = timeline.ClockUnknown }, Options{}, Warn, map[string]want{"probe.clock": {Warn, "another libcupti"}}},
	{"drops", func(m *machine) { n := uint64(3); m.trace.Buffers = &timeline.BufferCounts{RecordsDropped: &n} }, Options{}, Warn, map[string]want{"probe.losses": {Warn, "another libcupti"}}},
	{"no records", func(m *machine) { m.trace.Received = map[string]uint64{} }, Options{}, Fail, map[string]want{"probe.records": {Fail, "another libcupti"}, "probe.losses": {Skip, ""}}},
	{"some records", func(m *machine) { m.trace.Received["memcpy"] = 1 }, Options{}, Warn, map[string]want{"probe.records": {Warn, "another libcupti"}}},
	{"not flushed", func(m *machine) { no := false; m.trace.Flushed = &no }, Options{}, Warn, map[string]want{"probe.losses": {Warn, "another libcupti"}}},
	{"unknown words", func(m *machine) { m.trace.Diagnoses = []string{"words of a later version"} }, Options{}, Warn, map[string]want{"probe.diagnosis": {Warn, "every trace"}}},
	{"not injected", func(m *machine) { m.trace = &timeline.Completeness{Tracer: "none"} }, Options{}, Fail, map[string]want{"probe.recording": {Fail, "NVIDIA's own driver"}}},
	{"recorder fails", func(m *machine) { m.trace = nil; m.record = Output{Status: 125, Stderr: "no room"} }, Options{}, Fail, map[string]want{"probe.recording": {Fail, "FLAGOS_TRACE=debug"}}},
	{"recorder hangs", func(m *machine) { m.trace = nil; m.record = Output{TimedOut: true, Stdout: "step\tcuInit\n"} }, Options{}, Fail, map[string]want{"probe.recording": {Fail, "FLAGOS_TRACE=debug"}}},
	{"recorded program crashes", func(m *machine) { m.record = Output{Status: 139, Stdout: "step\tcuInit\n"} }, Options{}, Fail, map[string]want{"probe.recording": {Fail, "FLAGOS_TRACE=debug"}}},
}

func failing(code int, name string) Output {
	text, err := json.Marshal(code)
	if err != nil {
		panic(err)
	}
	return Output{Status: probeCall, Stdout: "libcuda\t/stubs/libcuda.so\nstep\tcuInit\nerror\tcuInit\t" + string(text) + "\t" + name + "\t\n"}
}

func unavailable(text string) *timeline.Completeness {
	c := &timeline.Completeness{Tracer: "cupti", Ended: timeline.EndUnavailable, Diagnoses: []string{text}, Received: map[string]uint64{}}
	c.Judge()
	return c
}

// bare takes the GPU out.
func (m *machine) bare() {
	for name := range m.files {
		if strings.HasPrefix(name, "dev/nvidia") || strings.HasPrefix(name, "proc/driver") || strings.Contains(name, "libcuda.so") {
			delete(m.files, name)
		}
	}
	m.alone = Output{Status: probeNoDriver, Stdout: "nodriver\tlibcuda.so.1: cannot open shared object file\n"}
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { runCase(t, c.change, c.options, c.verdict, c.want) })
	}
}

// runCase examines a machine that something was changed on.
func runCase(t *testing.T, change func(*machine), options Options, verdict Status, wants map[string]want) {
	t.Helper()
	m := healthy()
	change(m)
	r, err := Examine(context.Background(), m.system(t), options)
	if err != nil {
		t.Fatal(err)
	}
	if r.Verdict != verdict {
		t.Errorf("verdict %s, want %s", r.Verdict, verdict)
	}
	found := map[string]Finding{}
	for _, f := range r.Findings {
		if _, twice := found[f.ID]; twice {
			t.Errorf("%s is there twice", f.ID)
		}
		found[f.ID] = f
		if bad := f.Status == Warn || f.Status == Fail; bad != (f.Fix != "") || f.Seen == "" || f.Group == "" || f.Status.rank() < 0 {
			t.Errorf("not a whole finding: %+v", f)
		}
	}
	if strings.Contains(found["library.cupti"].Seen, "libcupti.so (Triton)") {
		t.Errorf("one copy under two names: %s", found["library.cupti"].Seen)
	}
	for id, w := range wants {
		f, ok := found[id]
		text := f.Fix
		if text == "" {
			text = f.Seen
		}
		if !ok || f.Status != w.status || !strings.Contains(text, w.text) {
			t.Errorf("%s: %+v, want %s with %q", id, f, w.status, w.text)
		}
	}
	if verdict == OK || verdict == Warn {
		for _, f := range r.Findings {
			if f.Status == Fail {
				t.Errorf("a failure: %+v", f)
			}
		}
	}
	if t.Failed() {
		var b strings.Builder
		_ = r.Print(&b, true)
		t.Log(b.String())
	}
}

// TestDeviceLeftAlone: with --no-probe nothing touches the device.
func TestDeviceLeftAlone(t *testing.T) {
	m := healthy()
	if _, err := Examine(context.Background(), m.system(t), Options{NoProbe: true}); err != nil {
		t.Fatal(err)
	}
	if slices.Contains(m.ran, "probe") || slices.Contains(m.ran, "record") {
		t.Errorf("ran %q", m.ran)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r, err := Examine(ctx, healthy().system(t), Options{}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", r, err)
	}
}

// TestGolden keeps both formats as they are.
func TestGolden(t *testing.T) {
	for name, change := range map[string]func(*machine){
		"healthy": func(*machine) {},
		"broken": func(m *machine) {
			m.env = append(m.env, "NVTX_INJECTION64_PATH=/gone.so")
			m.trace = unavailable("cupti: libcupti is newer than the driver allows: cuptiActivityRegisterCallbacks returned 15\nsecond line")
		},
	} {
		m := healthy()
		change(m)
		r, err := Examine(context.Background(), m.system(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Tool = "flagos-trace"
		var text, js bytes.Buffer
		if err := errors.Join(r.Print(&text, false), r.WriteJSON(&js)); err != nil {
			t.Fatal(err)
		}
		for ext, got := range map[string][]byte{".txt": text.Bytes(), ".json": js.Bytes()} {
			path := filepath.Join("testdata", name+ext)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs:\n%s", path, got)
			}
		}
	}
}
