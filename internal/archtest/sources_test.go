package archtest

import (
	"bytes"
	"go/format"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFormatted(t *testing.T) {
	dir := root(t)
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); path != dir && (name == "bin" || name == "testdata" || name[0] == '.') {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, err := format.Source(src)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		} else if !bytes.Equal(src, want) {
			t.Errorf("%s is not formatted: run gofmt -w", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDocumented(t *testing.T) {
	for _, p := range packages(t) {
		files := p.files()
		if len(files) == 0 {
			continue // tests only
		}
		if p.Doc == "" {
			t.Errorf("package %s has no package comment", p.short())
		}
		// A command may say all in its main file.
		if p.Name != "main" && !slices.Contains(files, "doc.go") {
			t.Errorf("package %s has no doc.go", p.short())
		}
	}
}

// TestGenerated runs the generator of the record layouts into a folder of its
// own and compares.
func TestGenerated(t *testing.T) {
	dir, out := root(t), t.TempDir()
	cmd := exec.Command("go", "run", "./internal/gen/cuptilayout", "-abi", "tracer/cupti/abi", "-out", out)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	made, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) == 0 {
		t.Fatal("the generator wrote nothing")
	}
	for _, e := range made {
		want, err := os.ReadFile(filepath.Join(out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(dir, "tracer/cupti", e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("tracer/cupti/%s is stale: run go generate ./...", e.Name())
		}
		if !strings.HasPrefix(string(got), "// Code generated") {
			t.Errorf("tracer/cupti/%s does not say that it is generated", e.Name())
		}
	}
}
