package gate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNames: of two checks with one name both lines are told.
func TestNames(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"structure:\n  - {name: a}\n  - {name: b}\n  - {base: x, name: a}\n", `line 3 (structure) and line 5 (structure) are both called "a"`},
		{"structure:\n  - {name: a}\n  - {name: b}\nvalidate: {name: b}\n", `line 5 (validate) and line 4 (structure) are both called "b"`},
		{"structure: [{}, {scope: device}]\n", `line 2 (structure) and line 2 (structure) are both called "structure against torch-cuda"`},
		{"performance:\n- base: a\n- base: b\n", `line 3 (performance) and line 4 (performance) are both called "performance"`},
		{"structure: [{name: performance}]\nperformance: [{base: a}]\n", `line 2 (structure) and line 3 (performance) are both called "performance"`},
		{"structure: &x\n  - {name: a}\nperformance: [{name: a, base: x}]\n", `line 3 (structure) and line 4 (performance)`},
		{"structure: [{}, {scope: device, name: device}, {base: x}]\nvalidate:\noccupancy: {min: 1}\nperformance: [{base: a}]\n", ""},
	} {
		_, err := Parse([]byte("version: 1\n" + c.text))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v\nwant %s", c.text, err, c.want)
		}
	}
}

// TestFiles: what patterns come to: files, each once, and no folders.
func TestFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1]*")
	for _, name := range []string{"folder.json/x", "one.json", "two.json", "t[1].json", "t1.txt"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("one.json", filepath.Join(dir, "zlink.json")); err != nil {
		t.Fatal(err)
	}
	c := Config{dir: dir}
	for _, x := range []struct {
		patterns Patterns
		want     []string // beside the configuration
		err      string
	}{
		{Patterns{"one.json"}, []string{"one.json"}, ""},
		{Patterns{"*o*.json"}, []string{"one.json", "two.json"}, ""},
		{Patterns{"two.json", "*.json", "./one.json"}, []string{"two.json", "one.json", "t[1].json"}, ""},
		{Patterns{filepath.Join("..", "a*", "one.json")}, []string{"one.json"}, ""},
		{Patterns{"t[1].json"}, []string{"t[1].json"}, ""},
		{Patterns{"t[1].txt"}, []string{"t1.txt"}, ""},
		{Patterns{"none.json"}, []string{"none.json"}, ""},
		{Patterns{"*.moon"}, nil, "no file matches"},
		{Patterns{"folder*"}, nil, "no file matches"},
		{Patterns{"[.json"}, nil, "syntax error in pattern"},
		{Patterns{"-"}, nil, "standard input"},
		{Patterns{""}, nil, "is empty"},
		{nil, nil, ""},
	} {
		got, err := c.files(x.patterns)
		for i := range got {
			got[i], _ = filepath.Rel(dir, got[i])
		}
		if !slices.Equal(got, x.want) || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
			t.Errorf("%q: %q, %v", x.patterns, got, err)
		}
	}
}

// TestInputs: every file that a configuration names is among what it reads.
func TestInputs(t *testing.T) {
	dir := t.TempDir()
	const text = "version: 1\nnew: new.json\nvalidate: {exceptions: e1.yaml}\nstructure: [{base: base.json, capabilities: c.yaml, exceptions: e2.yaml, new: own.json}]\n" +
		"performance: [{base: [p1.json, nothing*, p2.json], match_rules: m.yaml}]\noccupancy: {ratchet: r.json}\n"
	path := filepath.Join(dir, "gate.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"gate.yaml", "new.json", "e1.yaml", "base.json", "c.yaml", "e2.yaml", "own.json", "p1.json", "p2.json", "m.yaml", "r.json"}
	got := c.Inputs(nil)
	for _, name := range want {
		if !slices.Contains(got, filepath.Join(dir, name)) {
			t.Errorf("%s is not among %q", name, got)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
	if got := c.Inputs([]string{"x.json"}); got[0] != "x.json" || slices.Contains(got, filepath.Join(dir, "new.json")) {
		t.Errorf("%q", got)
	}
}
