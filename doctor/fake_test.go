package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// machine is a System that is made up.
type machine struct {
	files  fstest.MapFS
	env    []string
	links  map[string]string // resolved by the name as found
	denied []string          // files that may not be accessed
	free   uint64
	limits map[int]uint64
	agent  error
	at     string // folder of the agent, /opt/bin if empty

	check  Output // of probe --check
	alone  Output // of the probe by itself
	record Output // of the recorder
	python Output
	noPy   bool
	smi    map[string]string // output of nvidia-smi by its first argument

	acl Output                 // of the probe on an Ascend device
	npu *timeline.Completeness // of the recording of that

	// trace is the completeness record of a trial recording; nil leaves no summary.
	// torch is that of the recording with a library of torch, if it differs.
	trace, torch *timeline.Completeness
	ran          []string // names of the commands that were run
}

const works = "libcuda\t/usr/lib/x86_64-linux-gnu/libcuda.so.580.82.07\ndriver\t13000\nstep\tcuInit\nns\tcuInit\t2000000\n" +
	"devices\t2\ndevice\tNVIDIA H200\t9.0\ndone\tmemset 1\tmemcpy 2\nstep\tthe end of the process\n"

func complete() *timeline.Completeness {
	yes, code := true, 0
	c := &timeline.Completeness{
		Tool: "flagos-trace", Tracer: "cupti", Library: "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13", How: "toolkit", API: 130001,
		Layout: "verified", Clock: timeline.Clock{Source: timeline.ClockRealtime}, Received: map[string]uint64{"memset": 1, "memcpy": 2, "driver": 3},
		Written: map[string]uint64{"memset": 1, "memcpy": 2, "driver": 3}, Ended: timeline.EndExit, Flushed: &yes, ExitCode: &code,
	}
	c.Judge()
	return c
}

// healthy is a machine on which everything works.
func healthy() *machine {
	file := func() *fstest.MapFile { return &fstest.MapFile{Mode: 0o755} }
	node := func() *fstest.MapFile { return &fstest.MapFile{Mode: 0o666 | fs.ModeDevice | fs.ModeCharDevice} }
	return &machine{
		files: fstest.MapFS{
			"opt/bin/flagos-trace":                             file(),
			"opt/bin/flagos-trace-probe":                       file(),
			"home/me":                                          &fstest.MapFile{Mode: 0o755 | fs.ModeDir},
			"etc/ld.so.conf":                                   &fstest.MapFile{Data: []byte("# all\ninclude ld.so.conf.d/*.conf\n")},
			"etc/ld.so.conf.d/x.conf":                          &fstest.MapFile{Data: []byte("/usr/lib/x86_64-linux-gnu\n")},
			"usr/lib/x86_64-linux-gnu/libcuda.so.1":            file(),
			"usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13": file(),
			"usr/local/cuda-13/extras/CUPTI/lib64/libcupti.so": file(),
			"dev/nvidia0":                                      node(),
			"dev/nvidiactl":                                    node(),
			"dev/nvidia-uvm":                                   node(),
			"proc/version":                                     &fstest.MapFile{Data: []byte("Linux version 6.8.0 #1 SMP\n")},
			"proc/driver/nvidia/version":                       &fstest.MapFile{Data: []byte("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build\n")},
			"proc/driver/nvidia/params":                        &fstest.MapFile{Data: []byte("EnableMSI: 1\nRmProfilingAdminOnly: 1\n")},
			"proc/sys/kernel/yama/ptrace_scope":                &fstest.MapFile{Data: []byte("1\n")},
		},
		env:    []string{"HOME=/home/me"},
		links:  map[string]string{"/usr/local/cuda-13/extras/CUPTI/lib64/libcupti.so": "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13"},
		free:   100 * gib,
		check:  Output{Stdout: "loaded\tx\n"},
		alone:  Output{Stdout: works},
		record: Output{Stdout: works},
		python: Output{Stdout: "chatter of a sitecustomize\nflagos-trace-doctor " + `{"executable":"/usr/bin/python3","version":"3.12.3","prefix":"/usr","path":["/usr/lib/python3/dist-packages"],"dists":{}}` + "\n"},
		smi:    map[string]string{"-L": "GPU 0: NVIDIA H200 (UUID: GPU-1)\n", "conf-compute": "CC status: OFF\n"},
		trace:  complete(),
	}
}

func (m *machine) system(t *testing.T) *System {
	return &System{
		FS: m.files, Env: m.env, Exe: "/opt/bin/flagos-trace", Dir: "/home/me",
		FindAgent: func() (string, error) { return cmp.Or(m.at, "/opt/bin") + "/libflagos_trace.so", m.agent },
		Access: func(name string, _ uint32) error {
			if slices.Contains(m.denied, name) {
				return unix.EACCES
			}
			_, err := fs.Stat(m.files, rel(name))
			return err
		},
		Resolve: func(name string) string {
			if to, ok := m.links[name]; ok {
				return to
			}
			return name
		},
		Free: func(string) (uint64, error) { return m.free, nil },
		Limit: func(resource int) (uint64, error) {
			if n, ok := m.limits[resource]; ok {
				return n, nil
			}
			return unlimited, nil
		},
		Exec:    func(_ context.Context, c Command) (Output, error) { return m.exec(t, c) },
		TempDir: func() (string, error) { return t.TempDir(), nil },
	}
}

func (m *machine) exec(t *testing.T, c Command) (Output, error) {
	if c.Timeout <= 0 {
		t.Errorf("%s has no time limit", c.Path)
	}
	name := path.Base(c.Path)
	switch {
	case name == "python3" || name == "python":
		m.ran = append(m.ran, name)
		if m.noPy {
			return Output{}, errors.New("executable file not found in $PATH")
		}
		return m.python, nil
	case name == "nvidia-smi":
		m.ran = append(m.ran, name+" "+c.Args[0])
		return Output{Stdout: m.smi[c.Args[0]]}, nil
	case name == probeName && slices.Contains(c.Args, "--check"):
		m.ran = append(m.ran, "check")
		return m.check, nil
	case name == probeName && slices.Contains(c.Args, "--acl"):
		m.ran = append(m.ran, "probe --acl")
		return m.acl, nil
	case name == probeName:
		m.ran = append(m.ran, "probe")
		if slices.ContainsFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, "CUDA_INJECTION64_PATH=") }) {
			t.Error("the probe alone has a library injected")
		}
		return m.alone, nil
	case name == "flagos-trace" && c.Args[0] == "record":
		m.ran = append(m.ran, "record")
		trace := m.trace
		if m.torch != nil && slices.Contains(c.Args, "--load") {
			trace = m.torch
		}
		out := m.record
		if slices.Contains(c.Args, "--acl") {
			m.ran = append(m.ran, strings.Join(c.Args[slices.Index(c.Args, "--vendor"):slices.Index(c.Args, "--")], " "))
			trace, out = m.npu, m.acl
		}
		if trace == nil {
			return out, nil
		}
		s := record.Summary{Traces: []record.TraceSummary{{Completeness: trace}}}
		if n := out.Status; n < 128 {
			s.ExitCode = &n
		}
		data, err := json.Marshal(s)
		if err == nil {
			err = os.WriteFile(c.Args[slices.Index(c.Args, "--summary")+1], data, 0o644)
		}
		return out, err
	}
	t.Errorf("unexpected command %s %q", c.Path, c.Args)
	return Output{}, errors.New("unexpected")
}
