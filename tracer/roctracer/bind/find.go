package bind

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// Detect reports how near the vendor's devices are.
func Detect(getenv func(string) string) tracer.Presence {
	maps, err := dl.Maps()
	if err != nil {
		maps = nil
	}
	if strings.HasPrefix(path.Base(getenv(tracer.EnvLibrary)), "libroctracer") {
		return tracer.InProcess
	}
	for _, m := range []string{"libroctracer", "libgalaxyhip", "libamdhip64"} {
		if len(maps.Files(m)) > 0 {
			return tracer.InProcess
		}
	}
	v, _ := tracer.VendorOf(Name)
	for _, n := range v.Nodes {
		if unix.Access(n, unix.F_OK) == nil {
			return tracer.OnMachine
		}
	}
	return tracer.Absent
}

// find looks for the library where the environment says, among what is loaded, in the
// vendor's folders, and where the loader looks.
func find(getenv func(string) string) (*dl.Library, string, error) {
	if p := getenv(tracer.EnvLibrary); p != "" {
		lib, err := dl.Open(p)
		if err != nil {
			return nil, "", fmt.Errorf("%w: %s=%s: %w", ErrNotFound, tracer.EnvLibrary, p, err)
		}
		return lib, tracer.EnvLibrary, nil
	}
	maps, err := dl.Maps()
	if err != nil {
		maps = nil
	}
	for _, p := range maps.Files("libroctracer64") {
		if lib, ok := dl.Loaded(p); ok {
			return lib, "already loaded", nil
		}
	}
	names := []string{"libroctracer64.so", "libroctracer64.so.4", "libroctracer64.so.1"}
	missing := &dl.NotFoundError{What: "roctracer"}
	try := func(name, how string) (*dl.Library, string, bool) {
		lib, err := dl.Open(name)
		if err != nil {
			missing.Tried = append(missing.Tried, dl.Attempt{Name: name, Reason: err.Error()})
		}
		return lib, how, err == nil
	}
	v, _ := tracer.VendorOf(Name)
	roots := v.Roots
	for _, h := range v.Homes {
		if r := getenv(h); r != "" {
			roots = []string{r}
			break
		}
	}
	for _, root := range roots {
		for _, folder := range v.Folders {
			for _, p := range dl.Glob(path.Join(root, folder, names[0])) {
				if lib, how, ok := try(p, root); ok {
					return lib, how, nil
				}
			}
		}
	}
	for _, n := range names {
		if lib, how, ok := try(n, "loader search"); ok {
			return lib, how, nil
		}
	}
	return nil, "", errors.Join(ErrNotFound, missing)
}
