package dl

import (
	"path"
	"slices"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"golang.org/x/sys/unix"
)

// Glob is filepath.Glob with the system calls of a guest.
func Glob(pattern string) []string {
	list := []string{"/"}
	if !path.IsAbs(pattern) {
		list = []string{"."}
	}
	for _, part := range strings.Split(strings.Trim(path.Clean(pattern), "/"), "/") {
		var next []string
		for _, dir := range list {
			if !strings.ContainsAny(part, `*?[\`) {
				if p := path.Join(dir, part); unix.Access(p, unix.F_OK) == nil {
					next = append(next, p)
				}
				continue
			}
			names, _ := guest.Names(dir)
			slices.Sort(names)
			for _, n := range names {
				if ok, _ := path.Match(part, n); ok {
					next = append(next, path.Join(dir, n))
				}
			}
		}
		list = next
	}
	return list
}
