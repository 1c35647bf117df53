package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/record"
	"github.com/flagos-ai/flagos-trace/timeline"
)

const (
	probeName = "flagos-trace-probe"
	// probeSeconds is when the probe ends itself; what is left of its traces is
	// then read. probeTimeout is when it is ended, and the recorder with it.
	probeSeconds   = 10
	probeTimeout   = 14 * time.Second
	commandTimeout = 10 * time.Second
)

// Exit statuses of the probe. Source: probe.c.
const (
	probeUsage     = 2
	probeNoDriver  = 3
	probeCall      = 4
	probeNotLoaded = 5
)

// callError is a call of the driver that failed in the probe.
type callError struct {
	Call string // "" if the driver lacks the function Name
	Code int
	Name string
	Text string
}

func (c *callError) String() string {
	if c.Call == "" {
		return "the driver's library has no function " + c.Name
	}
	text := fmt.Sprintf("%s returned %d", c.Call, c.Code)
	if c.Name != "" {
		text += " " + c.Name
	}
	if c.Text != "" {
		text += " (" + c.Text + ")"
	}
	return text
}

// use is a run of the probe on the device.
type use struct {
	Out     Output
	Err     error // it could not be run
	Step    string
	Libcuda string // the driver library, without symbolic links
	ACL     string // Ascend's runtime
	Driver  int    // cuDriverGetVersion: 13000; 0 if unknown
	Devices int
	Device  string // name and compute capability of the first
	InitNS  int64  // cuInit took, 0 if unknown
	Done    bool
	// NoDriver is the loader's reason for not loading the driver, NotLoaded that
	// for another library.
	NoDriver, NotLoaded string
	Call                *callError
}

// parseUse reads what the probe printed. Lines it does not know are left out.
func parseUse(out Output) *use {
	u := &use{Out: out}
	for line := range strings.SplitSeq(out.Stdout, "\n") {
		f := strings.Split(line, "\t")
		field := func(i int) string {
			if i < len(f) {
				return f[i]
			}
			return ""
		}
		number := func(i int) int64 {
			n, _ := strconv.ParseInt(field(i), 10, 64) // 0 is unknown
			return n
		}
		switch f[0] {
		case "step":
			u.Step = field(1)
		case "libcuda":
			u.Libcuda = field(1)
		case "acl":
			u.ACL = field(1)
		case "driver":
			u.Driver = int(number(1))
		case "devices":
			u.Devices = int(number(1))
		case "device":
			if u.Device = field(1); len(f) > 2 {
				u.Device += fmt.Sprintf(" (compute capability %s)", field(2))
			}
		case "ns":
			if field(1) == "cuInit" {
				u.InitNS = number(2)
			}
		case "nodriver":
			u.NoDriver = field(1)
		case "unloadable":
			u.NotLoaded = field(2)
		case "missing":
			u.Call = &callError{Name: field(1)}
		case "error":
			u.Call = &callError{Call: field(1), Code: int(number(2)), Name: field(3), Text: field(4)}
		case "done":
			u.Done = true
		}
	}
	return u
}

// hung reports whether a run was ended for taking too long.
func (u *use) hung() bool { return u.Out.TimedOut || u.Out.Signal == "SIGALRM" }

// works reports whether the probe did all it should.
func (u *use) works() bool { return u.Err == nil && u.Done && u.Out.Status == 0 && u.Out.Signal == "" }

// check is an attempt to load a library.
type check struct {
	ok  bool
	why string
}

// tryLoad loads a library in a process of its own.
func (e *exam) tryLoad(ctx context.Context, path string) *check {
	out, err := e.s.Exec(ctx, Command{
		Path: e.probe, Args: []string{"--seconds", strconv.Itoa(probeSeconds), "--check", path},
		Env: e.s.without("CUDA_INJECTION64_PATH", "FLAGOS_TRACE_DIR"), Timeout: probeTimeout,
	})
	if err != nil {
		return &check{why: err.Error()}
	}
	u := parseUse(out)
	switch {
	case u.NotLoaded != "":
		return &check{why: u.NotLoaded}
	case u.hung():
		return &check{why: "loading it takes longer than " + strconv.Itoa(probeSeconds) + " s"}
	case out.Signal != "":
		return &check{why: "loading it ends the process with " + out.Signal}
	case out.Status != 0:
		return &check{why: fmt.Sprintf("%s exits with %d: %s", probeName, out.Status, strings.TrimSpace(out.Stderr))}
	}
	return &check{ok: true}
}

// recording is a run of the probe under the recorder.
type recording struct {
	id      string   // of its findings: "probe" and "probe.torch"
	program string   // what it stands for
	load    string   // library that it loads first, "" for none
	flags   []string // of record
	args    []string // of the probe
	err     error    // there is no summary
	out     Output   // of the recorder
	use     *use
	summary *record.Summary
}

// completeness returns the record of the trace, nil if there is none.
func (r *recording) completeness() *timeline.Completeness {
	if r.summary == nil || len(r.summary.Traces) == 0 {
		return nil
	}
	return r.summary.Traces[0].Completeness
}

// runProbes runs the probe alone, and if that works, under the recorder: once as
// a program without libraries of its own, and where torch brings a libcupti, once
// more as torch would.
func (e *exam) runProbes(ctx context.Context) {
	out, err := e.s.Exec(ctx, Command{
		Path: e.probe, Args: []string{"--seconds", strconv.Itoa(probeSeconds)},
		Env: e.s.without("CUDA_INJECTION64_PATH"), Timeout: probeTimeout,
	})
	e.alone = parseUse(out)
	e.alone.Err = err
	if !e.alone.works() || e.agentErr != nil || e.load != nil && !e.load.ok {
		return
	}
	if _, taken := e.injection(); taken && !e.o.Chain {
		return
	}
	e.recordings = append(e.recordings, e.record(ctx, recording{id: "probe", program: "a program that loads neither CUDA's runtime nor CUPTI"}))
	if lib := e.torchCUPTI(); lib != "" {
		e.recordings = append(e.recordings, e.record(ctx, recording{id: "probe.torch", program: "a program that loads torch's libcupti", load: lib}))
	}
}

// errTemp means that there is no place for a trial recording.
var errTemp = errors.New("no folder for the trial recording")

// record records the probe with flagos-trace itself.
func (e *exam) record(ctx context.Context, r recording) recording {
	dir, err := e.s.TempDir()
	if err != nil {
		r.err = fmt.Errorf("%w: %w", errTemp, err)
		return r
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "summary.json")
	args := []string{"record", "-q", "-o", filepath.Join(dir, "trace.json"), "--summary", file}
	if e.o.Chain {
		args = append(args, "--chain")
	}
	args = append(append(args, r.flags...), "--", e.probe, "--seconds", strconv.Itoa(probeSeconds))
	args = append(args, r.args...)
	if r.load != "" {
		args = append(args, "--load", r.load)
	}
	r.out, err = e.s.Exec(ctx, Command{Path: e.s.Exe, Args: args, Env: e.s.Env, Timeout: probeTimeout})
	r.use = parseUse(r.out)
	if err != nil {
		r.err = err
		return r
	}
	data, err := os.ReadFile(file)
	if err == nil {
		r.summary = new(record.Summary)
		err = json.Unmarshal(data, r.summary)
	}
	switch said := strings.TrimSpace(r.out.Stderr); {
	case err == nil:
	case r.out.TimedOut:
		r.err = fmt.Errorf("it was not done after %v; the program was at %q", probeTimeout, r.use.Step)
	case said != "":
		r.err = fmt.Errorf("status %d: %s", r.out.Status, said)
	default:
		r.err = fmt.Errorf("status %d, and no summary: %w", r.out.Status, err)
	}
	if r.err != nil {
		r.summary = nil
	}
	return r
}
