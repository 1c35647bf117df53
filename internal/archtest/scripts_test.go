package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestArm64Decoders: the decoder of every vendor is tested for arm64.
func TestArm64Decoders(t *testing.T) {
	script, err := os.ReadFile(filepath.Join(root(t), "scripts", "test-arm64"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^DECODERS=\((.*)\)$`).FindSubmatch(script)
	if list == nil {
		t.Fatal("scripts/test-arm64 has no list DECODERS")
	}
	bindings, _ := filepath.Glob(filepath.Join(root(t), "tracer", "*", "bind"))
	if len(bindings) == 0 {
		t.Fatal("no tracers were found")
	}
	for _, dir := range bindings {
		if name := "tracer/" + filepath.Base(filepath.Dir(dir)); !slices.Contains(strings.Fields(string(list[1])), name) {
			t.Errorf("scripts/test-arm64: %s is not among DECODERS", name)
		}
	}
}

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
