package archtest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestValidateGPU has the script that validates on hardware test what in it needs
// none: its statistics and its judgement of killed programs.
func TestValidateGPU(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	if exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 8))").Run() != nil {
		t.Skip("python3 does not run, or is older than 3.8")
	}
	if out, err := exec.Command(python, filepath.Join(root(t), "scripts", "validate-gpu"), "--self-test").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
