package sarif

import (
	"net/url"
	"path/filepath"
	"testing"
)

// TestURI: names of files are references that mean the same file.
func TestURI(t *testing.T) {
	for name, want := range map[string]string{
		"-":                      "stdin",
		"new.json":               "new.json",
		"sub dir/n, x:y%20.json": "sub%20dir/n,%20x:y%2520.json",
		"a:b.json":               "./a:b.json",
		"../x#1?.json":           "../x%231%3F.json",
		"/abs/a b.json":          "file:///abs/a%20b.json",
		"x\n::error::\xff":       "x%0A::error::%FF",
		"größe\u202e.json":       "gr%C3%B6%C3%9Fe%E2%80%AE.json",
	} {
		got := URI(name)
		if name == "x\n::error::\xff" {
			want = "./" + want // a colon in the first segment would be a scheme
		}
		if got != want {
			t.Errorf("%q: %s, want %s", name, got, want)
		}
		if u, err := url.Parse(got); name != "-" && (err != nil || filepath.Clean(u.Path) != filepath.Clean(name)) {
			t.Errorf("%q: %s is %q, %v", name, got, u.Path, err)
		}
	}
}
