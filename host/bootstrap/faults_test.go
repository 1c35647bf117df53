package bootstrap_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/host/bootstrap"
)

// everything is a program that comes through all of ours: windows, cuts, forks, threads, steps, its own profiler.
const everything = prelude + `
import threading
from torch.profiler import profile
a = torch.ones(2, device="cuda")
optimizer = torch.optim.SGD([a])
for step in range(6):
    with torch.profiler.record_function("step"):
        torch.mm(a, a).backward()
        optimizer.step()
    lib.hostlib_cut(); turn()
    if step == 1 and os.fork() == 0: torch.relu(torch.ones(2)); os._exit(0)
    if step == 2:
        with profile(record_shapes=True) as p: torch.relu(a)
        p.export_chrome_trace("t.json"); print(sorted(e["name"] for e in p.events()))
    if step == 3:
        with profile() as p: torch.relu(a)
        del p
    if step == 4:
        p = profile(); p.add_metadata_json("mine", "1")
        thread = threading.Thread(target=torch.relu, args=(a,)); thread.start(); thread.join()
os.wait()
lib.hostlib_window(0); turn(); lib.hostlib_window(1); turn()
print(torch.cuda.memory_allocated(), a.item())
try:
    with profile() as p: raise KeyError(1)
except KeyError as e: print(repr(e))
sys.exit(3)
`

// An error in any statement of ours is not noticed by the program. By default every few statements; all of them
// with FLAGOS_TRACE_ALL_FAULTS=1, one of them with FLAGOS_TRACE_FAULT=number in addition.
func TestFaults(t *testing.T) {
	build(t)
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain.py")
	if err := os.WriteFile(plain, bootstrap.Source(), 0o600); err != nil {
		t.Fatal(err)
	}
	site := filepath.Join(dir, "site")
	if err := os.Mkdir(site, 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(rig.python, "testdata/faults.py", plain, filepath.Join(site, bootstrap.FileName)).Output()
	if err != nil {
		if strings.Contains(string(err.(*exec.ExitError).Stderr), "unparse") {
			t.Skip("ast.unparse needs Python 3.9")
		}
		t.Fatal(err, string(err.(*exec.ExitError).Stderr))
	}
	count, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || count < 200 {
		t.Fatalf("%d statements, %v", count, err)
	}
	env := []string{"FLAGOS_TRACE_STEPS=1:4", "FLAGOS_TRACE_HOST=shapes", "FAKETORCH_RANK=1"}
	alone := run(t, program{text: everything, site: "-", env: env})
	sound := run(t, program{text: everything, site: site, env: append(env, "FAULT=-1")})
	if sound.stdout != alone.stdout || sound.stderr != alone.stderr || sound.code != alone.code || alone.code != 3 {
		t.Fatalf("without a fault: exit %d, alone %d\n%s%s\nalone: %s%s", sound.code, alone.code, sound.stdout, sound.stderr, alone.stdout, alone.stderr)
	}
	if len(sound.slices) < 6 || len(sound.reasons()) != 0 {
		t.Fatalf("%v", sound.lines)
	}
	stride := 23
	if os.Getenv("FLAGOS_TRACE_ALL_FAULTS") != "" {
		stride = 1
	}
	only, _ := strconv.Atoi(os.Getenv("FLAGOS_TRACE_FAULT"))
	for k := 0; k < count; k += stride {
		if only != 0 && k != only {
			continue
		}
		o := run(t, program{text: everything, site: site, faulty: true, env: append(env, "FAULT="+strconv.Itoa(k))})
		if o.stdout != alone.stdout || o.stderr != alone.stderr || o.code != alone.code {
			t.Errorf("fault %d: exit %d\nstdout: %s\nstderr: %s", k, o.code, o.stdout, o.stderr)
		}
	}
	t.Logf("%d statements, every %d", count, stride)
}
