package main_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

var built struct {
	sync.Once
	dir string
	err error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// library builds the two libraries once, and returns the path of the one to inject.
func library(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the shared libraries")
	}
	built.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "libflagos-trace"); built.err == nil {
			built.err = testrig.BuildAgent(built.dir)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "libflagos_trace.so")
}

// compile builds a C file of testdata.
func compile(t testing.TB, name string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), name)
	args := append([]string{"-O1", "-Wall", "-Wextra", "-Werror", "-o", out, "testdata/" + name + ".c"}, flags...)
	if msg, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, msg)
	}
	return out
}

// outcome is what a traced program did and left.
type outcome struct {
	dir    string // of the spools
	code   int    // exit status, or 128 + signal
	stdout string
	stderr string
	took   time.Duration
	log    string // calls of the look-alike library
}

// trial is a program to run traced.
type trial struct {
	cupti  fakegpu.CUPTI
	env    []string
	args   []string
	prog   string // the look-alike workload if empty
	lib    string // the library to inject, if not the one that was built
	spool  string // folder of the spools, if not one of its own
	gpu    string // folder of the look-alike libraries, if not the usual one
	wrap   []string
	stdin  string
	notrac bool // without the agent
	during func(pid int, dir string)
}

func (tr trial) run(t testing.TB) outcome {
	t.Helper()
	p := fakegpu.Get(t)
	if tr.gpu != "" {
		var err error
		if p, err = fakegpu.Build(tr.gpu); err != nil {
			t.Fatal(err)
		}
	}
	lib := library(t)
	if tr.lib != "" {
		lib = tr.lib
	}
	dir := t.TempDir()
	if tr.spool != "" {
		dir = tr.spool
	}
	logFile := filepath.Join(t.TempDir(), "calls")
	prog := tr.prog
	if prog == "" {
		prog = p.Workload
	}
	argv := append(append(append([]string{}, tr.wrap...), prog), tr.args...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), p.Env(tr.cupti)...)
	if !tr.notrac {
		cmd.Env = append(cmd.Env, "CUDA_INJECTION64_PATH="+lib, "FLAGOS_TRACE_DIR="+dir)
	}
	cmd.Env = append(append(cmd.Env, "FAKECUPTI_LOG="+logFile), tr.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &stdout, &stderr, strings.NewReader(tr.stdin)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if tr.during != nil {
		tr.during(cmd.Process.Pid, dir)
	}
	err := cmd.Wait()
	o := outcome{dir: dir, stdout: stdout.String(), stderr: stderr.String(), took: time.Since(begin)}
	var ee *exec.ExitError
	if errors.As(err, &ee) {
		if o.code = ee.ExitCode(); o.code < 0 {
			o.code = 128 + int(waitStatus(ee).Signal())
		}
	} else if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(logFile)
	o.log = string(b)
	if strings.Contains(o.log, "cuptiSubscribe") || strings.Contains(o.log, "cuptiFinalize") {
		t.Errorf("the agent subscribed or finalized:\n%s", o.log)
	}
	if tr.cupti != fakegpu.NoCUPTI && strings.Contains(o.stderr, "fakegpu:") {
		t.Errorf("look-alike: %s", o.stderr)
	}
	return o
}

// content is what a spool holds.
type content struct {
	header    spool.Header
	kinds     map[uint32]int // records by vendor kind
	strides   map[uint32]uint32
	names     map[uint64]string
	callbacks int
	diagnoses []string
	losses    []string // codes
	devices   []tracer.Device
	binding   tracer.BindingInfo
	clocks    []spool.Clock
	threads   map[int]string
	counters  spool.Counters
	windows   []spool.Window
	end       *spool.End
	buffers   int
	offsets   int
	forced    int
	kernels   map[uint64]int // kernel records by name pointer
	damage    spool.Damage
	torn      int64
}

// spools lists the spools of a run.
func (o outcome) spools(t testing.TB) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(o.dir, "*.spool"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// spool reads the only spool of a run.
func (o outcome) spool(t testing.TB) content {
	t.Helper()
	list := o.spools(t)
	if len(list) != 1 {
		t.Fatalf("%d spools, want 1: %v (exit %d, stderr %q)", len(list), list, o.code, o.stderr)
	}
	return read(t, list[0])
}

func read(t testing.TB, path string) content {
	t.Helper()
	r, err := spool.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	c := content{kinds: map[uint32]int{}, strides: map[uint32]uint32{}, names: map[uint64]string{}, threads: map[int]string{}, kernels: map[uint64]int{}}
	var offs []uint32
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c.end != nil {
			t.Errorf("frame of type %d behind the end", f.Type)
		}
		switch f.Type {
		case spool.TypeHeader:
			c.header, err = f.Header()
		case spool.TypeNames:
			err = f.Names(func(p uint64, n []byte) { c.names[p] = string(n) })
		case spool.TypeCallbackName:
			c.callbacks++
		case spool.TypeStride:
			k, n, e := f.Stride()
			c.strides[k], err = n, e
		case spool.TypeOffsets:
			offs, err = f.Offsets(nil)
			c.offsets++
		case spool.TypeBuffer:
			b, e := f.Buffer()
			err = e
			c.buffer(t, b, offs)
			offs = nil
		case spool.TypeDiagnosis:
			s, e := f.Diagnosis()
			c.diagnoses, err = append(c.diagnoses, s), e
		case spool.TypeLoss:
			l, e := f.Loss()
			c.losses, err = append(c.losses, l.Code), e
		case spool.TypeDevices:
			c.devices, err = f.Devices()
		case spool.TypeBinding:
			c.binding, err = f.Binding()
		case spool.TypeClock:
			k, e := f.Clock()
			c.clocks, err = append(c.clocks, k), e
		case spool.TypeThread:
			th, e := f.Thread()
			c.threads[th.TID], err = th.Name, e
		case spool.TypeCounters:
			c.counters, err = f.Counters()
		case spool.TypeWindow:
			w, e := f.Window()
			c.windows, err = append(c.windows, w), e
		case spool.TypeEnd:
			e, e2 := f.End()
			c.end, err = &e, e2
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c.torn, _ = r.Torn()
	c.damage = r.Damage()
	return c
}

// buffer counts the records of a buffer by the strides that stand before it.
func (c *content) buffer(t testing.TB, b spool.Buffer, offs []uint32) {
	c.buffers++
	if b.Forced {
		c.forced++
	}
	see := func(rec []byte) {
		kind := binary.LittleEndian.Uint32(rec)
		c.kinds[kind]++
		if kind == 10 {
			c.kernels[binary.LittleEndian.Uint64(rec[104:])]++
		}
	}
	if offs != nil {
		for _, o := range offs {
			see(b.Data[o:])
		}
		return
	}
	for p := b.Data; len(p) > 0; {
		n := c.strides[binary.LittleEndian.Uint32(p)]
		if n == 0 || int(n) > len(p) {
			t.Errorf("no stride for kind %d, %d bytes left", binary.LittleEndian.Uint32(p), len(p))
			return
		}
		see(p)
		p = p[n:]
	}
}

func (c content) diagnosed(text string) bool {
	return strings.Contains(strings.Join(c.diagnoses, "\n"), text)
}

// named counts the kernels whose name was told.
func (c content) named() (n int) {
	for p, k := range c.kernels {
		if c.names[p] != "" {
			n += k
		}
	}
	return n
}

// counts is what the look-alike workload says it did.
type counts struct {
	Launches      int `json:"launches"`
	GraphLaunches int `json:"graph_launches"`
	GraphKernels  int `json:"graph_kernels"`
	Memcpys       int `json:"memcpys"`
	Memsets       int `json:"memsets"`
	Externals     int `json:"externals"`
}

func readCounts(t testing.TB, path string) (c counts) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c
}
