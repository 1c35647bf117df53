package shape

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// canonical are the names of categories that every vendor has one of: torch-cuda's.
var canonical = [timeline.NumKinds]string{
	timeline.Kernel: "kernel", timeline.Memcpy: "gpu_memcpy", timeline.MemcpyPeer: "gpu_memcpy", timeline.Memset: "gpu_memset",
	timeline.Runtime: "cuda_runtime", timeline.Driver: "cuda_driver", timeline.Sync: "cuda_sync", timeline.Overhead: "overhead",
	timeline.DeviceAnnotation: "gpu_user_annotation",
}

// Canonical is the name that categories of one meaning have in a shape.
func Canonical(category string) string {
	if k, ok := chrome.DefaultRules().Kind(category); ok && canonical[k] != "" {
		return canonical[k]
	}
	if category == "Operator" {
		return "cpu_op"
	}
	return category
}

// flowKind is the name of arrows of one meaning.
func flowKind(rules *chrome.Rules, name, category string) string {
	if rules.IsDeviceFlow(name) || rules.IsDeviceFlow(category) {
		return DeviceFlow
	}
	switch {
	case name == "forward_backward" || category == "forward_backward":
		return "fwdbwd"
	case category != "":
		return category
	}
	return Pattern(name)
}

// DeviceFlow is the kind of the arrows from API calls to device work.
const DeviceFlow = "ac2g"

// Pattern is a name with each number in it written #.
func Pattern(name string) string {
	var b strings.Builder
	digits := false
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c-'0' <= 9 {
			if !digits {
				b.WriteByte('#')
			}
			digits = true
			continue
		}
		digits = false
		b.WriteByte(c)
	}
	return strings.TrimSpace(b.String())
}

// Placeholders are names that stand for API calls whose name was not found out.
// Source: Torch-FL's contract test.
var Placeholders = []string{"cudaRuntime", "mcRuntime", "musaRuntime", "topsRuntime", "AscendRuntime", "hipRuntime", "Unknown", "unknown", "INVALID", ""}

// nameMarks are what a name says by itself.
type nameMarks uint8

const (
	markKnown nameMarks = 1 << iota
	markMangled
	markScoped // has ::
	markPlaceholder
)

func marksOf(name string) nameMarks {
	m := markKnown
	if strings.Contains(name, "_ZN") || strings.HasPrefix(name, "_Z") && len(name) > 2 && name[2]-'0' <= 9 {
		m |= markMangled
	}
	if strings.Contains(name, "::") {
		m |= markScoped
	}
	for _, p := range Placeholders {
		if name == p {
			m |= markPlaceholder
		}
	}
	return m
}

// kernelName is a kernel's name without its template arguments and parameters, so
// that it is the same for other types and shapes.
func kernelName(name string) string {
	s := strings.TrimPrefix(name, "void ")
	if i := strings.IndexAny(s, "<("); i > 0 {
		// "(anonymous namespace)::" stands inside names.
		if s[i] == '(' && strings.HasPrefix(s[i:], "(anonymous namespace)") {
			j := i + len("(anonymous namespace)")
			if k := strings.IndexAny(s[j:], "<("); k >= 0 {
				return s[:j+k]
			}
			return s
		}
		return s[:i]
	}
	return s
}
