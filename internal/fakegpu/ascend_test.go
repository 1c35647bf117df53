package fakegpu

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A client that calls the activity library of Ascend directly.
func TestMSPTI(t *testing.T) {
	p := Get(t)
	exe := filepath.Join(t.TempDir(), "msptiapi")
	if out, err := exec.Command("gcc", "-D_GNU_SOURCE", "-o", exe, "testdata/msptiapi.c", "-ldl", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, c := range []struct {
		arg string
		env []string
	}{{"plain", nil}, {"preloaded", []string{"LD_PRELOAD=" + p.MSPTILibrary(MSPTINow)}}} {
		cmd := exec.Command(exe, c.arg)
		cmd.Env = append(append(cleanEnv(), p.AscendEnv(MSPTINow)...), c.env...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", c.arg, err, out)
		}
	}
}

// The workload does what it says, with the library's log as a witness, and without it.
func TestAscendWorkload(t *testing.T) {
	p := Get(t)
	for _, m := range []MSPTI{MSPTINow, NoMSPTI} {
		counts := filepath.Join(t.TempDir(), "counts.json")
		cmd := exec.Command(p.Ascend(), "--kernels", "20", "--threads", "3", "--graphs", "2", "--counts", counts, "--exit-code", "6")
		cmd.Env = append(cleanEnv(), p.AscendEnv(m)...)
		if err := cmd.Run(); cmd.ProcessState.ExitCode() != 6 {
			t.Fatal(err)
		}
		data, err := os.ReadFile(counts)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int{}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if got["launches"] != 60 || got["graph_kernels"] != 24 || got["memcpys"] != 18 || got["memsets"] != 9 || got["collectives"] != 9 {
			t.Errorf("%v", got)
		}
	}
	// Switches that cannot be read are refused.
	for _, s := range []string{"FAKEMSPTI_LAYOUT=shifted", "FAKEMSPTI_MAX_KIND=few"} {
		cmd := exec.Command(p.Ascend())
		cmd.Env = append(append(cleanEnv(), p.AscendEnv(MSPTINow)...), "LD_PRELOAD="+p.MSPTILibrary(MSPTINow), s)
		name, _, _ := strings.Cut(s, "=")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), name) {
			t.Errorf("%s: %v %s", s, err, out)
		}
	}
}
