package doctor

import (
	"context"
	"path/filepath"

	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/record"
)

// Options say what to examine. The zero value is a recording into the working
// folder.
type Options struct {
	// Output is the file a recording would be written to; "" is
	// "trace.json.gz".
	Output string
	// Chain is what --chain means to record.
	Chain bool
	// NoProbe leaves out everything that uses the device.
	NoProbe bool
	// Python is the interpreter to ask about its packages; "" is python3.
	Python string
}

// exam is an examination under way: the facts that checks judge.
type exam struct {
	s *System
	o Options

	agent    string
	agentErr error
	probe    string // the probe program, "" if it is not there
	load     *check // of the agent, by the probe; nil if it was not tried

	python python
	cupti  []copyOf
	smi    string // what nvidia-smi -L says
	cc     string // what nvidia-smi conf-compute -f says

	alone      *use // the probe without the recorder; nil if it was not run
	recordings []recording

	npuAlone *use       // the probe on an Ascend device; nil if it was not run
	npu      *recording // of that
}

// group is checks that are shown together.
type group struct {
	name   string
	checks []func(*exam) []Finding
}

var groups = []group{
	{"recorder", []func(*exam) []Finding{checkAgent, checkPreloaded, checkProbe, checkOutput}},
	{"environment", []func(*exam) []Finding{checkInjection, checkNVTX, checkPreload, checkOverrides, checkAccelerator, checkContainer, checkPtrace, checkWSL}},
	{"device", []func(*exam) []Finding{checkDriver, checkNodes, checkVisible, checkMPS, checkMIG, checkCounters, checkConfidential}},
	{"libraries", []func(*exam) []Finding{checkCUPTI, checkVendors}},
	{"ascend", []func(*exam) []Finding{checkAscend}},
	{"limits", []func(*exam) []Finding{checkLimits, checkDisk}},
	{"python", []func(*exam) []Finding{checkPython, checkTorch}},
	{"probe", []func(*exam) []Finding{checkAlone, checkRecordings}},
}

// Examine looks at the machine and says what it found. The error is ctx's.
func Examine(ctx context.Context, s *System, o Options) (*Report, error) {
	if o.Output == "" {
		o.Output = "trace.json.gz"
	}
	o.Output = s.abs(o.Output)
	e := &exam{s: s, o: o}
	e.gather(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Report{Tool: version.Full(), Findings: []Finding{}}
	for _, g := range groups {
		for _, check := range g.checks {
			for _, f := range check(e) {
				f.Group = g.name
				r.Findings = append(r.Findings, f)
			}
		}
	}
	proven := false
	if e.npu != nil {
		e.recordings = append(e.recordings, *e.npu)
	}
	for _, rec := range e.recordings {
		c := rec.completeness()
		proven = proven || c != nil
		r.Recordings = append(r.Recordings, Recording{Program: rec.program, Completeness: c})
	}
	r.judge(proven)
	return r, nil
}

// gather collects the facts that take commands, and what later facts need.
func (e *exam) gather(ctx context.Context) {
	e.agent, e.agentErr = e.s.FindAgent()
	bin := filepath.Dir(e.s.Exe)
	for _, name := range []string{filepath.Join(bin, probeName), filepath.Join(filepath.Dir(bin), "lib", probeName)} {
		if e.s.exists(name) {
			e.probe = name
			break
		}
	}
	e.askPython(ctx)
	e.cupti = e.findCUPTI()
	if e.s.exists("/dev/nvidiactl") || e.s.exists("/proc/driver/nvidia/version") || e.s.exists("/dev/dxg") {
		e.smi = e.say(ctx, "nvidia-smi", "-L")
		e.cc = e.say(ctx, "nvidia-smi", "conf-compute", "-f")
	}
	if e.probe == "" {
		return
	}
	if e.agentErr == nil {
		for _, part := range []string{e.agent, record.AgentRuntime(e.agent)} {
			if e.load = e.tryLoad(ctx, part); !e.load.ok {
				break
			}
		}
	}
	if !e.o.NoProbe {
		e.runProbes(ctx)
		e.runAscend(ctx)
	}
}

// say returns what a command prints, "" if it cannot be run or fails.
func (e *exam) say(ctx context.Context, path string, args ...string) string {
	out, err := e.s.Exec(ctx, Command{Path: path, Args: args, Env: e.s.Env, Timeout: commandTimeout})
	if err != nil || out.TimedOut || out.Status != 0 || out.Signal != "" {
		return ""
	}
	return out.Stdout
}

// one is a list of one finding.
func one(id string, status Status, seen, fix string) []Finding {
	return []Finding{{ID: id, Status: status, Seen: seen, Fix: fix}}
}
