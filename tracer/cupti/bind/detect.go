package bind

import (
	"path"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// Detect reports how near NVIDIA's devices are.
func Detect(getenv func(string) string) tracer.Presence {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil
	}
	named := getenv(envLibrary) != "" || strings.HasPrefix(path.Base(getenv(tracer.EnvLibrary)), "libcupti")
	for _, prefix := range []string{"libcuda.so", "libcudart", "libcupti"} {
		named = named || len(maps.Files(prefix)) > 0
	}
	if named {
		return tracer.InProcess
	}
	v, _ := tracer.VendorOf(Name)
	for _, n := range v.Nodes {
		if unix.Access(n, unix.F_OK) == nil {
			return tracer.OnMachine
		}
	}
	return tracer.Absent
}
