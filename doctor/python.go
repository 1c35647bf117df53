package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
)

// python is what an interpreter says of itself and its packages.
type python struct {
	command string // how it was asked for
	why     string // why nothing is known, "" if something is

	Executable string            `json:"executable"`
	Version    string            `json:"version"`
	Prefix     string            `json:"prefix"`
	Path       []string          `json:"path"`  // folders of modules
	Packages   map[string]string `json:"dists"` // versions by name, of those that matter here
	TorchDir   string            `json:"torch_dir"`
	// TorchCUDA is the CUDA version that torch was built for, "" for none; absent
	// if its metadata do not say. TorchHIP is the same for HIP.
	TorchCUDA *string `json:"torch_cuda"`
	TorchHIP  *string `json:"torch_hip"`
}

// pythonScript prints the above as JSON. It imports nothing but the standard
// library: importing torch takes seconds and initialises things. The working
// folder is taken off the path first, so that no file in it stands in for a
// module.
const pythonScript = `
import sys
sys.path = [p for p in sys.path if p]
import json, os, re
out = dict(executable=sys.executable, version="%d.%d.%d" % sys.version_info[:3], prefix=sys.prefix, path=sys.path, dists={})
try:
    from importlib import metadata
except ImportError:
    metadata = None
for name in ("torch", "triton", "torch_npu", "torch_musa", "nvidia-cuda-cupti", "nvidia-cuda-cupti-cu12", "nvidia-cuda-cupti-cu11"):
    try:
        d = metadata.distribution(name)
        out["dists"][name] = d.version
        if name == "torch":
            file = str(d.locate_file(os.path.join("torch", "version.py")))
            out["torch_dir"] = os.path.dirname(file)
            with open(file) as f:
                text = f.read()
            for key in ("cuda", "hip"):
                m = re.search(r"^%s\b[^=\n]*=\s*(None|(['\"])(.*?)\2)" % key, text, re.M)
                if m:
                    out["torch_" + key] = m.group(3) or ""
    except Exception:
        pass
print("flagos-trace-doctor " + json.dumps(out))
`

func (e *exam) askPython(ctx context.Context) {
	names := []string{"python3", "python"}
	if e.o.Python != "" {
		names = []string{e.o.Python}
	}
	p := &e.python
	for _, name := range names {
		*p = python{command: name}
		out, err := e.s.Exec(ctx, Command{Path: name, Args: []string{"-c", pythonScript}, Env: e.s.without("CUDA_INJECTION64_PATH"), Timeout: commandTimeout})
		switch {
		case err != nil:
			p.why = "cannot be run: " + err.Error()
			continue
		case out.TimedOut:
			p.why = fmt.Sprintf("did not answer within %v", commandTimeout)
		case out.Signal != "" || out.Status != 0:
			p.why = fmt.Sprintf("failed: %s", lastLine(out.Stderr))
		default:
			p.parse(out.Stdout)
		}
		return
	}
}

func (p *python) parse(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if data, ok := strings.CutPrefix(line, "flagos-trace-doctor "); ok {
			if err := json.Unmarshal([]byte(data), p); err != nil {
				p.why = "gave an answer that cannot be read: " + err.Error()
			}
			return
		}
	}
	p.why = "gave no answer"
}

// lastLine returns the last line of a text, where Python puts the error.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// torchCUPTI returns the libcupti that torch brings along, "" if none was found.
func (e *exam) torchCUPTI() string {
	p := &e.python
	if p.Packages["torch"] == "" || p.TorchCUDA == nil || *p.TorchCUDA == "" {
		return ""
	}
	major, _, _ := strings.Cut(*p.TorchCUDA, ".")
	f := finder{s: e.s}
	if p.TorchDir != "" {
		site := quote(path.Dir(p.TorchDir))
		f.add("torch", quote(p.TorchDir)+"/lib/libcupti*.so*",
			site+"/nvidia/cu"+major+"/lib/libcupti.so."+major+"*", site+"/nvidia/cuda_cupti/lib/libcupti.so."+major+"*")
	}
	for _, dir := range p.Path {
		f.add("torch", quote(dir)+"/nvidia/cu"+major+"/lib/libcupti.so."+major+"*", quote(dir)+"/nvidia/cuda_cupti/lib/libcupti.so."+major+"*")
	}
	f.add("torch", quote(p.Prefix)+"/lib/libcupti.so."+major+"*")
	if len(f.list) == 0 {
		return ""
	}
	return f.list[0].As
}

// quote makes a path into a pattern that matches it alone.
func quote(name string) string {
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(name)
}

func checkPython(e *exam) []Finding {
	p := &e.python
	switch {
	case p.why == "":
		return one("python", OK, fmt.Sprintf("Python %s, %s", p.Version, p.Executable), "")
	case e.o.Python != "":
		return one("python", Warn, p.command+" "+p.why, "name the interpreter that runs the program in --python")
	}
	return one("python", Skip, p.command+" "+p.why+": programs in other languages do not need it", "")
}

func checkTorch(e *exam) []Finding {
	p := &e.python
	v := p.Packages["torch"]
	if p.why != "" {
		return one("python.torch", Skip, "not looked for without Python", "")
	}
	if v == "" {
		return one("python.torch", Skip, "torch is not installed for "+p.Executable, "")
	}
	switch {
	case p.TorchCUDA != nil && *p.TorchCUDA != "":
		seen := fmt.Sprintf("torch %s, built for CUDA %s", v, *p.TorchCUDA)
		if lib := e.torchCUPTI(); lib != "" {
			return one("python.torch", OK, seen+", with "+lib, "")
		}
		return one("python.torch", OK, seen+"; no libcupti of its own was found beside it", "")
	case p.TorchHIP != nil && *p.TorchHIP != "":
		seen := fmt.Sprintf("torch %s, built for HIP %s", v, *p.TorchHIP)
		if libraries, _ := e.find(vendorOf("dcu")); len(libraries) > 0 {
			return one("python.torch", OK, seen+", which is recorded with --vendor dcu where it is DTK's", "")
		}
		return one("python.torch", Warn, seen+", and no libroctracer64 was found, through which HIP programs are recorded",
			"on a Hygon DCU install DTK with its roctracer; AMD's newer rocprofiler-sdk is not used by flagos-trace")
	case p.TorchCUDA == nil:
		return one("python.torch", Skip, fmt.Sprintf("torch %s; for which device it is built does not stand in its metadata", v), "")
	case p.Packages["torch_npu"] != "" || p.Packages["torch_musa"] != "":
		seen := fmt.Sprintf("torch %s, its device support comes from a plugin", v)
		if m := p.Packages["torch_musa"]; m != "" {
			seen += ", torch_musa " + m + "; its profiler takes MUPTI for itself: what it is on for is not in the recording"
		}
		return one("python.torch", OK, seen, "")
	case e.hasNVIDIA():
		return one("python.torch", Warn, fmt.Sprintf("torch %s is built without CUDA: programs that use it leave the GPU alone", v), "install a CUDA build of torch for "+p.Executable)
	}
	return one("python.torch", OK, fmt.Sprintf("torch %s, built without CUDA", v), "")
}
