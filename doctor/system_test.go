package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestExecute(t *testing.T) {
	for _, c := range []struct {
		script string
		want   Output
	}{
		{"echo out; echo err >&2; exit 3", Output{Stdout: "out\n", Stderr: "err\n", Status: 3}},
		{"kill -ALRM $$", Output{Status: -1, Signal: "SIGALRM"}},
	} {
		got, err := execute(context.Background(), Command{Path: "sh", Args: []string{"-c", c.script}, Env: os.Environ(), Timeout: time.Minute})
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v", c.script, got, err)
		}
	}
	if _, err := execute(context.Background(), Command{Path: "/nowhere/x", Timeout: time.Minute}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing program: %v", err)
	}
}

// TestExecuteEnds: a command that hangs is ended, and so is what it started.
func TestExecuteEnds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	got, err := execute(context.Background(), Command{
		Path: "sh", Args: []string{"-c", `sleep 600 & echo $! > "$1"; echo started; wait`, "sh", file}, Env: os.Environ(), Timeout: 500 * time.Millisecond,
	})
	if err != nil || !got.TimedOut || got.Stdout != "started\n" {
		t.Fatalf("%+v, %v", got, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	for range 500 {
		stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
	_ = unix.Kill(pid, unix.SIGKILL)
}

// TestFileLimit: Go raises the limit of its own process, and not that of others.
func TestFileLimit(t *testing.T) {
	got, err := softLimit(unix.RLIMIT_NOFILE)
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "grep 'open files' /proc/self/limits").Output()
	if err != nil {
		t.Skip(err)
	}
	if f := strings.Fields(string(out)); f[3] != strconv.FormatUint(got, 10) && f[3] != "unlimited" {
		t.Errorf("%d, the system says %s", got, out)
	}
}

// TestPythonScript asks a real interpreter about a torch that is metadata only.
func TestPythonScript(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"torch-2.9.0+cu130.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0+cu130\n",
		"torch/__init__.py":                    "raise SystemExit('imported')\n",
		"torch/version.py":                     "from typing import Optional\n__all__ = ['cuda']\n__version__ = '2.9.0+cu130'\ndebug = False\ncuda: Optional[str] = '13.0'\nhip: Optional[str] = None\n",
		"nvidia/cu13/lib/libcupti.so.13":       "",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := ThisSystem()
	if err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.without("PYTHONPATH"), "PYTHONPATH="+dir)
	e := &exam{s: s}
	e.askPython(context.Background())
	p := e.python
	if p.why != "" || p.Version == "" || p.Packages["torch"] != "2.9.0+cu130" || p.TorchCUDA == nil || *p.TorchCUDA != "13.0" ||
		p.TorchHIP == nil || *p.TorchHIP != "" || p.TorchDir != filepath.Join(dir, "torch") {
		t.Errorf("%+v", p)
	}
	if got, want := e.torchCUPTI(), filepath.Join(dir, "nvidia/cu13/lib/libcupti.so.13"); got != want {
		t.Errorf("torch's libcupti: %q, want %q", got, want)
	}
}

func TestMajorOf(t *testing.T) {
	for name, want := range map[string]int{
		"/x/libcupti.so.13": 13, "libcupti.so.11.8": 11, "libcupti.so": 0, "libcupti.so.2025.3.1": 0, "libcupti-0a1b2c.so.12": 12, "": 0,
	} {
		if got := majorOf(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}

// FuzzParse: whatever a command prints, it is read without harm.
func FuzzParse(f *testing.F) {
	f.Add(works)
	f.Add("error\tcuInit\t100\nunloadable\nns\tcuInit\tx\nmissing")
	f.Add("flagos-trace-doctor {\"path\":[null]}")
	f.Fuzz(func(t *testing.T, text string) {
		u := parseUse(Output{Stdout: text})
		if u.Done && !strings.Contains(text, "done") {
			t.Errorf("done out of nothing: %q", text)
		}
		if u.Call != nil && u.Call.String() == "" {
			t.Errorf("no words for %+v", u.Call)
		}
		var p python
		p.parse(text)
		if p.why == "" && !strings.Contains(text, "flagos-trace-doctor ") {
			t.Errorf("an answer out of nothing: %q", text)
		}
		if data, err := json.Marshal(p); err != nil {
			t.Errorf("%s: %v", data, err)
		}
	})
}
