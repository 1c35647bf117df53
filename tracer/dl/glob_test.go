package dl

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestGlob(t *testing.T) {
	dir := t.TempDir()
	for _, p := range []string{"cuda-13.0/lib", "cuda-12.8/lib", "other"} {
		if err := os.MkdirAll(filepath.Join(dir, p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, p, "libcupti.so.13"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, pattern := range []string{
		dir + "/cuda-*/lib/libcupti.so*", dir + "/cuda-13*/lib/libcupti.so.13*", dir + "/other/libcupti.so.13",
		dir + "/other/libcupti.so.1[23]", dir + "/none*/x", dir + "/other/none", dir + "/*/*",
	} {
		want, err := filepath.Glob(pattern)
		if got := Glob(pattern); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", pattern, got, want)
		}
	}
}
