package faketorch_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/faketorch"
)

// The stand-in keeps the contract that the real package is checked against.
func TestContract(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := faketorch.Install(dir); err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.13.1", "2.4.0", "2.11.0", "2.14.0"} {
		cmd := exec.Command(python, filepath.Join(dir, "contract", "contract.py"))
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "FAKETORCH_VERSION="+version)
		out, err := cmd.CombinedOutput()
		if err != nil || strings.Contains(string(out), "FAIL") || strings.Count(string(out), "\nOK ") < 15 {
			t.Errorf("%s: %v\n%s", version, err, out)
		}
	}
}

// What crashes the real package crashes this one.
func TestCrashes(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	if err := faketorch.Install(dir); err != nil {
		t.Fatal(err)
	}
	const prelude = `
import torch
from torch.autograd import *
from torch.autograd import _prepare_profiler, _enable_profiler, _disable_profiler
from torch._C._profiler import _ExperimentalConfig
def begin():
    c = ProfilerConfig(ProfilerState.KINETO, False, False, False, False, False, _ExperimentalConfig(), "")
    _prepare_profiler(c, {ProfilerActivity.CPU}); _enable_profiler(c, {ProfilerActivity.CPU})
`
	for name, text := range map[string]string{
		"a range across two sessions": "begin()\nwith torch.profiler.record_function('x'):\n    _disable_profiler(); begin()\n",
		"a result without a trace":    "_disable_profiler().save('/dev/null')\n",
	} {
		cmd := exec.Command(python, "-c", prelude+text)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
		cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != 139 {
			t.Errorf("%s: exit %d", name, code)
		}
	}
}
