package strictyaml

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

type word string

type inner struct {
	A int  `yaml:"a"`
	W word `yaml:"w"`
}

type outer struct {
	inner `yaml:",inline"`
	List  []struct{ Name string } `yaml:"list"`
	By    map[string]inner        `yaml:"by"`
	On    *bool                   `yaml:"on"`
	Time  time.Duration           `yaml:"time"`
	Words []word                  `yaml:"words"`
	//lint:ignore U1000 that it is here is what is tested
	hidden int
}

// TestWords: what is wrong is told in words of the document.
func TestWords(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\nw: x\nlist: [{name: n}]\nby: {k: {a: 2}}\non: true\ntime: 3ms\nwords: [x]\n", ""},
		{"", "it is empty"},
		{"# nothing\n", "it is empty"},
		{"a: 1\n---\na: 2\n", "there is more than one document in it"},
		{"b: 1\n", `line 1: there is no key "b" here; there are a, w, list, by, on, time, words`},
		{"hidden: 1\n", `line 1: there is no key "hidden" here; there are a, w, list, by, on, time, words`},
		{"\nlist:\n  - {name: n}\n  - {nam: n}\n", `line 4: there is no key "nam" here; there are name`},
		{"by: {k: {c: 2}}\n", `line 1: there is no key "c" here; there are a, w`},
		{`"x\n::error::y": 1`, `line 1: there is no key "x\n::error::y" here; there are`},
		{"b: 1\nc: 2\n", `line 1: there is no key "b" here; there are a, w, list, by, on, time, words; line 2: there is no key "c" here`},
		{"a: x\n", "line 1: `x` is not what belongs here, a whole number"},
		{"on: x\n", "line 1: `x` is not what belongs here, true or false"},
		{"time: 3\n", "line 1: `3` is not what belongs here, a time such as 1.5ms"},
		{"w: [x]\n", "line 1: a list is not what belongs here, text"},
		{"words: {x: y}\n", "line 1: a group of keys is not what belongs here, a list"},
		{"list: x\n", "line 1: `x` is not what belongs here, a list"},
		{"by: [x]\n", "line 1: a list is not what belongs here, keys with values"},
		{"by: {k: [x]}\n", "line 1: a list is not what belongs here, keys with values"},
		{"- x\n", "line 1: a list is not what belongs here, keys with values"},
		{"a: 1\na: 2\n", `line 2: mapping key "a" already defined at line 1`},
		{"a: [\n", "line 1: did not find expected node content"},
		{"a: *moon\n", "unknown anchor 'moon' referenced"},
		{"\x00", "control characters are not allowed"},
		{strings.Repeat("[", 20000), "exceeded max depth of 10000"},
	} {
		var v outer
		err := Read([]byte(c.text), &v)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%.80q: %s\nwant %s", c.text, got, c.want)
		}
		if strings.Contains(got, "strictyaml.") || strings.Contains(got, "struct {") || strings.Contains(got, "\n") {
			t.Errorf("%.80q: %s", c.text, got)
		}
		if errors.Is(err, ErrEmpty) != strings.HasSuffix(c.want, "empty") {
			t.Errorf("%.80q: %v", c.text, err)
		}
	}
}

// TestMany: of many mistakes the first are told, and each once.
func TestMany(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		b.WriteString("x" + strings.Repeat("y", i) + ": 1\n")
	}
	var v outer
	if err := Read([]byte(b.String()), &v); err == nil || strings.Count(err.Error(), "line ") != most || !strings.HasSuffix(err.Error(), "; and more") {
		t.Error(err)
	}
	if err := Read([]byte("words: [[x], [x], [x]]\n"), &v); err == nil || strings.Count(err.Error(), "line ") != 1 {
		t.Error(err)
	}
}

func TestText(t *testing.T) {
	dir := t.TempDir()
	small := filepath.Join(dir, "small")
	if err := os.WriteFile(small, []byte("a: 1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Text(small); err != nil || string(text) != "a: 1" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Text("/dev/zero"); err == nil || !strings.Contains(err.Error(), "longer than 4 MiB") {
		t.Error(err)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none"), ""} {
		if _, err := Text(path); err == nil {
			t.Errorf("%q is read", path)
		}
	}
}

// TestBomb: aliases that grow beyond measure are refused, in little time and memory.
func TestBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("by: {k: &a0 {w: x}}\nwords:\n")
	last := "x"
	for i := range 12 {
		name := string(rune('b' + i))
		b.WriteString(" - &" + name + " [" + strings.TrimSuffix(strings.Repeat(last+",", 10), ",") + "]\n")
		last = "*" + name
	}
	var v struct {
		By    map[string]inner
		Words []any
	}
	if err := Read([]byte(b.String()), &v); err == nil || !strings.Contains(err.Error(), "excessive aliasing") {
		t.Errorf("%.200v", err)
	}
	if err := Read([]byte("words: &x [*x]\n"), &v); err == nil || !strings.Contains(err.Error(), "anchor 'x' value contains itself") {
		t.Errorf("%.200v", err)
	}
}
