package bootstrap_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/host/bootstrap"
)

// others are the interpreters of this machine, by the name asked for. They are asked for once: what stands in PATH may
// be a script that takes its time.
var others = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	names := []string{"python2.7"}
	for minor := 6; minor <= 15; minor++ {
		names = append(names, fmt.Sprintf("python3.%d", minor))
	}
	for _, name := range names {
		if out, err := exec.Command(name, "-c", "import sys; print(sys.executable)").Output(); err == nil {
			found[name] = strings.TrimSpace(string(out))
		}
	}
	return found
})

// pythons returns the interpreters of this machine that the file has to work on, the default one first.
func pythons(t *testing.T) []string {
	build(t)
	found := []string{rig.python}
	for minor := 8; minor <= 15; minor++ {
		if name := others()[fmt.Sprintf("python3.%d", minor)]; name != "" && !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

func TestSourceIsPython38(t *testing.T) {
	build(t)
	name := filepath.Join(t.TempDir(), "source.py")
	if err := os.WriteFile(name, bootstrap.Source(), 0o600); err != nil {
		t.Fatal(err)
	}
	// Code of the second part has the line numbers of the whole file.
	check := `
import ast, sys
text = open(sys.argv[1]).read()
tree = ast.parse(text, feature_version=(3, 8))
found = {n.targets[0].id: n.value.value for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id in ("_LATER", "_LATER_LINE")}
later = ast.parse("\n" * found["_LATER_LINE"] + found["_LATER"], feature_version=(3, 8))
lines = text.split("\n")
for node in later.body:
    if isinstance(node, ast.FunctionDef):
        assert lines[node.lineno - 1].startswith("def " + node.name), (node.name, node.lineno)
allowed = {"os", "sys", "atexit", "sitecustomize"}
heavy = {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names} - allowed
assert not heavy, heavy
print(len(lines), len(later.body))
`
	if out, err := exec.Command(rig.python, "-c", check, name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, python := range pythons(t) {
		if out, err := exec.Command(python, "-m", "py_compile", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", python, err, out)
		}
	}
}

func TestEveryPython(t *testing.T) {
	for _, python := range pythons(t) {
		o := run(t, program{python: python, env: []string{"FLAGOS_TRACE_STEPS=1:3"}, text: everything})
		alone := run(t, program{python: python, site: "-", text: everything})
		if o.stdout != alone.stdout || o.code != 3 || o.stderr != alone.stderr || len(o.slices) < 6 || len(o.reasons()) != 0 {
			t.Errorf("%s: exit %d\n%s\n%s\n%v", python, o.code, o.stdout, o.stderr, o.lines)
		}
	}
}

// Interpreters that the second part is not written for run as without us.
func TestOldPythons(t *testing.T) {
	build(t)
	for _, name := range []string{"python2.7", "python3.6", "python3.7"} {
		python := others()[name]
		if python == "" {
			continue
		}
		o := run(t, program{python: python, path: []string{t.TempDir()}, text: `
import sys, json
try: import nothing_of_the_kind
except ImportError: print("none")
if sys.version_info >= (3, 7): import torch
`})
		o.fine(t, "none\n")
		if got := o.reasons(); (name == "python3.7") != (len(got) == 1 && strings.HasPrefix(got[0], "python_unsupported: ")) {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A finder in front of ours may load torch in its own way.
func TestForeignLoader(t *testing.T) {
	const hook = `
import sys, importlib.util
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != "torch": return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        class Loader(type(spec.loader)): pass
        spec.loader = Loader(name, spec.origin)
        return spec
sys.meta_path.insert(0, Finder())
import torch
`
	o := run(t, program{text: hook + "import wave\na = torch.ones(2, device='cuda')\ntorch.mm(a, a)\n"})
	o.fine(t, "")
	if o.count("aten::mm", false) != 1 || len(o.reasons()) > 0 {
		t.Errorf("%v", o.lines)
	}
	o = run(t, program{text: hook + "torch.ones(2, device='cuda')\n"})
	o.fine(t, "")
	if got := o.reasons(); len(got) != 1 || !strings.HasPrefix(got[0], "import_missed: ") || len(o.of("python")) != 1 {
		t.Errorf("%v", o.lines)
	}
}

// What a program sees of its start is what it sees without us.
func TestStartIsUnchanged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		if text != "" {
			if err := os.WriteFile(filepath.Join(folder, bootstrap.FileName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	const show = `
import sys, os
module = sys.modules.get("sitecustomize")
print([p for p in sys.path], module and module.__file__, module and module.__spec__.origin, getattr(module, "mine", None))
print(sorted(n for n in sys.modules if "flagos" in n), [type(f).__name__ for f in sys.meta_path if type(f).__name__ != "_Finder"])
print([n for n in ("json", "re", "ctypes", "threading", "tempfile", "inspect") if n in sys.modules])
`
	for _, c := range []struct {
		name string
		args []string
		path []string
		code int
		text string
	}{
		{name: "plain", text: show},
		{name: "-I", args: []string{"-I"}, text: show},
		{name: "-S", args: []string{"-S"}, text: "import sys; print(sys.flags.no_site, 'sitecustomize' in sys.modules)"},
		{name: "-E", args: []string{"-E"}, text: show},
		{name: "-s", args: []string{"-s"}, text: show},
		{name: "works", path: []string{write("works", "import sys\nmine = (__name__, __file__)\nprint('theirs', __name__ in sys.modules)\n")}, text: show},
		{name: "fails", path: []string{write("fails", "print('theirs')\nraise ValueError('theirs')\n")}, text: show},
		{name: "lacks a module", path: []string{write("lacks", "import nothing_of_the_kind\n")}, text: show},
		{name: "not Python", path: []string{write("wrong", "this is not Python\n")}, text: show},
		{name: "exits", path: []string{write("exits", "import os\nos._exit(9)\n")}, code: 9, text: show},
		{name: "a folder in front", path: []string{write("empty", "")}, text: show},
		{name: "no torch", text: "try: import torch_of_the_kind\nexcept ImportError as e: print(e)\n" + show},
		{name: "torch fails", text: "import os\nos.environ['FAKETORCH_FAIL'] = '1'\nimport torch", code: 1},
		{name: "torch fails, is caught, works", text: `
import os, sys, traceback
os.environ["FAKETORCH_FAIL"] = "1"
try: import torch
except ImportError as e:
    trace = e.__traceback__
    while trace: print(trace.tb_frame.f_code.co_name); trace = trace.tb_next
    print(e, e.name, e.path, "torch" in sys.modules)
del os.environ["FAKETORCH_FAIL"]
import torch
print(torch.__version__)
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			alone := run(t, program{text: c.text, args: c.args, path: c.path, site: "-"})
			o := run(t, program{text: c.text, args: c.args, path: c.path})
			clean := func(s string) string {
				s = strings.ReplaceAll(s, filepath.Dir(o.dir), "WORK")
				return strings.ReplaceAll(s, filepath.Dir(alone.dir), "WORK")
			}
			if clean(o.stdout) != clean(alone.stdout) || clean(o.stderr) != clean(alone.stderr) || o.code != alone.code || o.code != c.code {
				t.Errorf("exit %d\n%s%s\nalone: exit %d\n%s%s", o.code, clean(o.stdout), clean(o.stderr), alone.code, clean(alone.stdout), clean(alone.stderr))
			}
		})
	}
}

func TestFailedImportIsSaid(t *testing.T) {
	o := run(t, program{text: "try: import torch\nexcept ImportError: print(1)", env: []string{"FAKETORCH_FAIL=1"}})
	o.fine(t, "1\n")
	if got := strings.Join(o.reasons(), ";"); !strings.HasPrefix(got, "import_failed: ImportError: libfake.so.1") {
		t.Errorf("%s", got)
	}
}

func TestImportOfTorch(t *testing.T) {
	for _, c := range []struct{ name, text string }{
		{"as it is", "import torch"},
		{"submodule first", "import torch.nn"},
		{"from", "from torch.nn import Module"},
		{"in a thread", "import threading\nt = threading.Thread(target=__import__, args=('torch',)); t.start(); t.join()"},
		{"in several threads", "import threading\nts = [threading.Thread(target=__import__, args=('torch.optim',)) for _ in range(8)]\nfor t in ts: t.start()\nfor t in ts: t.join()"},
		{"find_spec before", "import importlib.util\nassert importlib.util.find_spec('torch').name == 'torch'\nimportlib.util.find_spec('torch')\nimport torch"},
		{"importlib", "import importlib\nimportlib.import_module('torch')"},
		{"lazily", "import importlib.util, sys\nspec = importlib.util.find_spec('torch')\nloader = importlib.util.LazyLoader(spec.loader)\nspec.loader = loader\nm = importlib.util.module_from_spec(spec)\nsys.modules['torch'] = m\nloader.exec_module(m)\nm.ones\nspec.loader = m.__loader__"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := c.text + `
import sys, pickle, importlib
import torch
import torch.nn
print(type(torch.__loader__).__name__, sorted(vars(torch.__loader__)), torch.__spec__.loader is torch.__loader__)
print(pickle.loads(pickle.dumps(torch.ones)) is torch.ones, len([f for f in sys.meta_path if type(f).__name__ == "_Finder"]))
loader = torch.__loader__
importlib.reload(torch.nn)
a = torch.ones(2, device="cuda"); torch.mm(a, a)
`
			alone := run(t, program{text: text, site: "-"})
			o := run(t, program{text: text})
			o.fine(t, alone.stdout)
			if o.count("aten::mm", false) != 1 {
				t.Errorf("%v", o.lines)
			}
		})
	}
}

// What a process pays that never imports torch; printed, for it depends on the machine.
func TestCostWithoutTorch(t *testing.T) {
	build(t)
	const rounds = 7
	var with, without []time.Duration
	once := func(site string) time.Duration {
		cmd := exec.Command(rig.python, "-c", "pass")
		cmd.Env = append(os.Environ(), "FLAGOS_TRACE_DIR="+t.TempDir(), "PYTHONPATH="+site)
		begin := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil || len(out) != 0 {
			t.Fatalf("%v: %s", err, out)
		}
		return time.Since(begin)
	}
	once(rig.site)
	for range rounds {
		without = append(without, once("/none"))
		with = append(with, once(rig.site))
	}
	for _, d := range [][]time.Duration{with, without} {
		sort.Slice(d, func(i, j int) bool { return d[i] < d[j] })
	}
	out, err := exec.Command(rig.python, "-c", `
import os, sys, time
os.environ["FLAGOS_TRACE_DIR"] = "/tmp"
text = open(sys.argv[1]).read()
begin = time.perf_counter()
code = compile(text, sys.argv[1], "exec")
middle = time.perf_counter()
try: exec(code, {"__name__": "x", "__file__": sys.argv[1]})
except ImportError: pass
print("compiling %.2f ms, running %.2f ms" % ((middle - begin) * 1e3, (time.perf_counter() - middle) * 1e3))
`, filepath.Join(rig.site, bootstrap.FileName)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("medians of %d starts: %v with, %v without; %s", rounds, with[rounds/2], without[rounds/2], strings.TrimSpace(string(out)))
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "python")
	if err := bootstrap.Write(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != bootstrap.FileName {
		t.Errorf("%v, %v", entries, err)
	}
	if err := bootstrap.Write("/dev/null/x"); err == nil {
		t.Error("no error")
	}
	for _, c := range [][2]string{{"", "/d"}, {"/a:/b", "/d:/a:/b"}, {":/b", "/d::/b"}} {
		if got := bootstrap.PythonPath("/d", c[0]); got != c[1] {
			t.Errorf("PythonPath(%q) = %q", c[0], got)
		}
	}
}
