package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/flagos-ai/flagos-trace"

// pkg is a package as `go list -json` describes it.
type pkg struct {
	ImportPath string
	Dir        string
	Name       string
	Doc        string
	GoFiles    []string
	CgoFiles   []string
	Imports    []string
	Deps       []string
	Module     *struct{ Path string }
	Error      *struct{ Err string }
}

// short returns the import path below the module.
func (p *pkg) short() string { return short(p.ImportPath) }

func short(path string) string {
	return strings.TrimPrefix(strings.TrimPrefix(path, module), "/")
}

func (p *pkg) files() []string { return append(append([]string{}, p.GoFiles...), p.CgoFiles...) }

// root is the folder of the module.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

var listing = sync.OnceValues(func() ([]*pkg, error) {
	cmd := exec.Command("go", "list", "-e", "-json", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var all []*pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(pkg)
		err := dec.Decode(p)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if p.Error != nil {
			return nil, errors.New(p.ImportPath + ": " + p.Error.Err)
		}
		all = append(all, p)
	}
})

// packages lists the module's packages.
func packages(t *testing.T) []*pkg {
	t.Helper()
	all, err := listing()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if len(all) == 0 {
		t.Fatal("go list shows no package")
	}
	return all
}
