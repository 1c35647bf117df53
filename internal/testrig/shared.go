package testrig

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// SharedVariable names the folder of Shared.
const SharedVariable = "FLAGOS_TRACE_SHARED"

// Shared returns the path of a file or folder among further inputs that are too
// large for the repository: traces of many producers and tables of truth. They are
// in the folder that SharedVariable names, or else in one called shared beside the
// checkout. A test that needs what is not there is skipped.
func Shared(t testing.TB, name string) string {
	t.Helper()
	path, ok := FindShared(name)
	if !ok {
		t.Skipf("no %s; name the folder it is in with %s", name, SharedVariable)
	}
	return path
}

// FindShared is Shared for a test that can do without.
func FindShared(name string) (string, bool) {
	dir := os.Getenv(SharedVariable)
	if dir == "" {
		_, file, _, _ := runtime.Caller(0)
		dir = filepath.Join(filepath.Dir(file), "..", "..", "..", "shared")
	}
	path := filepath.Join(dir, filepath.FromSlash(name))
	_, err := os.Stat(path)
	return path, err == nil
}
