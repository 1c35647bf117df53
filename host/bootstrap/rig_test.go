package bootstrap_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/host/bootstrap"
	"github.com/flagos-ai/flagos-trace/internal/faketorch"
)

// rig is what the tests share: the stand-ins, made once.
var rig struct {
	once   sync.Once
	err    error
	dir    string // of everything below
	lib    string // the library's stand-in
	python string
	site   string // folder of the start-up file
	torch  string // folder of the stand-in for torch
}

func TestMain(m *testing.M) {
	code := m.Run()
	if rig.dir != "" {
		os.RemoveAll(rig.dir)
	}
	os.Exit(code)
}

// build makes the rig, or skips the test where there is no Python or compiler.
func build(t testing.TB) {
	t.Helper()
	rig.once.Do(func() {
		python, err := exec.LookPath("python3")
		if err != nil {
			rig.err = err
			return
		}
		gcc, err := exec.LookPath("gcc")
		if err != nil {
			rig.err = err
			return
		}
		out, err := exec.Command(python, "-c", "import sys; print(sys.executable); sys.exit(sys.version_info < (3, 8))").Output()
		if err != nil {
			rig.err = errors.New("python3 is older than 3.8")
			return
		}
		rig.python = strings.TrimSpace(string(out)) // what a shim leads to: a shim is a shell script and takes its time
		if rig.dir, rig.err = os.MkdirTemp("", "bootstrap"); rig.err != nil {
			return
		}
		rig.lib = filepath.Join(rig.dir, "libhost.so")
		if out, err := exec.Command(gcc, "-shared", "-fPIC", "-Wall", "-Werror", "-O1", "-D_GNU_SOURCE", "-o", rig.lib, "testdata/hostlib.c", "-ldl").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %s", err, out))
		}
		rig.site, rig.torch = filepath.Join(rig.dir, "python"), filepath.Join(rig.dir, "lib")
		if err := errors.Join(bootstrap.Write(rig.site), faketorch.Install(rig.torch)); err != nil {
			panic(err)
		}
	})
	if rig.err != nil {
		t.Skip(rig.err)
	}
}

// program is a run of a Python program with the start-up file.
type program struct {
	text   string   // Python source
	env    []string // more environment
	args   []string // for the interpreter, before the file's name
	site   string   // folder of the start-up file; "-" for none
	path   []string // more folders for PYTHONPATH
	python string
	faulty bool // ours is made to fail: what it leaves need not be whole
}

// outcome is what came of it.
type outcome struct {
	stdout, stderr string
	code           int
	dir            string   // the recording's folder
	calls          []string // of the library
	lines          []map[string]any
	slices         map[int]*slice
	files          []string
}

type slice struct {
	host     *host.Host
	document map[string]any
	names    []string
}

// run runs a program. The recording's folder is always set: what must not be written must not be there.
func run(t testing.TB, p program) outcome {
	t.Helper()
	build(t)
	work := t.TempDir()
	o := outcome{dir: filepath.Join(work, "spool"), slices: map[int]*slice{}}
	if err := os.Mkdir(o.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(work, "program.py")
	if err := os.WriteFile(script, []byte(p.text), 0o600); err != nil {
		t.Fatal(err)
	}
	python, site := rig.python, rig.site
	if p.python != "" {
		python = p.python
	}
	if p.site != "" {
		site = p.site
	}
	path := append(append([]string{}, p.path...), rig.torch)
	if site != "-" {
		path = append([]string{site}, path...)
	}
	log := filepath.Join(work, "calls")
	cmd := exec.Command(python, append(append([]string{}, p.args...), script)...)
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "PYTHONPATH="+strings.Join(path, ":"), "FLAGOS_TRACE_DIR="+o.dir,
		"FLAGOS_TRACE_LIBRARY="+rig.lib, "FAKETORCH_DEVICE="+rig.lib, "HOSTLIB_LOG="+log, "HOSTLIB="+rig.lib, "PYTHONHASHSEED=0")
	cmd.Env = append(cmd.Env, p.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	timer := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	o.stdout, o.stderr, o.code = stdout.String(), strings.ReplaceAll(stderr.String(), work, "WORK"), cmd.ProcessState.ExitCode()
	if b, err := os.ReadFile(log); err == nil {
		o.calls = strings.Split(strings.TrimSpace(string(b)), "\n")
	}
	o.read(t, p.faulty)
	return o
}

// read reads what is in the recording's folder, and checks what holds for all recordings.
func (o *outcome) read(t testing.TB, faulty bool) {
	t.Helper()
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		o.files = append(o.files, e.Name())
		info, _ := e.Info()
		if info.Mode().Perm() != 0o600 && !faulty {
			t.Errorf("%s has mode %v", e.Name(), info.Mode())
		}
		name := filepath.Join(o.dir, e.Name())
		if strings.HasSuffix(name, ".host.jsonl") {
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			for s := bufio.NewScanner(f); s.Scan(); {
				var line map[string]any
				if err := json.Unmarshal(s.Bytes(), &line); err != nil && !faulty {
					t.Fatalf("%s: %v: %s", name, err, s.Text())
				}
				line["base"] = strings.TrimSuffix(e.Name(), ".host.jsonl")
				o.lines = append(o.lines, line)
			}
			f.Close()
		}
	}
	for _, line := range o.lines {
		if line["what"] != "close" {
			continue
		}
		n := int(line["n"].(float64))
		if line["file"] != fmt.Sprintf("%s.host-%d.json", line["base"], n) {
			t.Errorf("slice %d lies in %v", n, line["file"])
		}
		name := filepath.Join(o.dir, line["file"].(string))
		b, err := os.ReadFile(name)
		if err != nil && faulty {
			continue
		} else if err != nil {
			t.Errorf("a slice that was closed is not there: %v", err)
			continue
		}
		s := &slice{}
		if err := json.Unmarshal(b, &s.document); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if s.host, err = host.ReadKinetoFile(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, e := range s.document["traceEvents"].([]any) {
			e := e.(map[string]any)
			if c := e["cat"]; c == "cpu_op" || c == "user_annotation" {
				s.names = append(s.names, e["name"].(string))
			}
		}
		sort.Strings(s.names)
		if !faulty && line["program"] != true && s.document["lost"] != false || s.document["prepared"] != true {
			t.Errorf("slice %d: kineto lost it (%v) or was not prepared (%v)", n, s.document["lost"], s.document["prepared"])
		}
		o.slices[n] = s
	}
}

// of returns the lines of one kind.
func (o *outcome) of(what string) []map[string]any {
	var found []map[string]any
	for _, line := range o.lines {
		if line["what"] == what {
			found = append(found, line)
		}
	}
	return found
}

// reasons returns the codes of what is missing.
func (o *outcome) reasons() []string {
	var codes []string
	for _, line := range o.of("reason") {
		codes = append(codes, line["code"].(string)+": "+line["text"].(string))
	}
	return codes
}

// count says how often an operator or range is in the slices of ours (false) or of the program's (true).
func (o *outcome) count(name string, program bool) int {
	n := 0
	for _, line := range o.of("close") {
		if p, _ := line["program"].(bool); p != program {
			continue
		}
		if s := o.slices[int(line["n"].(float64))]; s != nil {
			for _, each := range s.names {
				if each == name {
					n++
				}
			}
		}
	}
	return n
}

// own returns the library's record of who sessions belong to, as a string of 0 and 1.
func (o *outcome) own() string {
	var b strings.Builder
	for _, call := range o.calls {
		if v, ok := strings.CutPrefix(call, "own "); ok {
			b.WriteString(v)
		}
	}
	return b.String()
}

// fine checks that the program ran as it does alone, with nothing of ours to be seen.
func (o *outcome) fine(t testing.TB, stdout string) {
	t.Helper()
	if o.code != 0 || o.stderr != "" || o.stdout != stdout {
		t.Fatalf("exit %d\nstdout: %s\nwant:   %s\nstderr: %s\nlines: %v", o.code, o.stdout, stdout, o.stderr, o.lines)
	}
}
