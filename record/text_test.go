package record

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
	"unicode"

	"github.com/flagos-ai/flagos-trace/timeline"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		in    string
		lines bool
		want  string
	}{
		{"plain \"text\" \\ 'x'", false, "plain \"text\" \\ 'x'"},
		{"größe 大小 \u202f", false, "größe 大小 \u202f"},
		{"\x1b[31mred\a\x00\x7f", false, `\x1b[31mred\a\x00\x7f`},
		{"a\nb\tc\r", false, `a\nb\tc\r`},
		{"a\nb\tc\r", true, "a\nb" + `\tc\r`},
		{"\u009b2J", false, `\u009b2J`},       // CSI of the C1 set
		{"\x9b2J \xff", false, `\x9b2J \xff`}, // the same to terminals of 8 bits
		{"\ufffd", false, "\ufffd"},
	} {
		if got := Printable(c.in, c.lines); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

// TestShellWord: the shell gives back what was quoted.
func TestShellWord(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	for _, path := range []string{"a/b-1.json.gz", "a b.json", "it's", "$HOME", "`x`", "*", "~", "", "-o", "a\nb", "\x1b[1m0\\'\xff", "größe"} {
		out, err := exec.Command(bash, "-c", "printf %s "+shellWord(path)).Output()
		if path == "-o" { // printf's own options
			out, err = exec.Command(bash, "-c", "printf %s -- "+shellWord(path)).Output()
			out = bytes.TrimPrefix(out, []byte("--"))
		}
		if err != nil || string(out) != path {
			t.Errorf("%q: quoted %s, read %q, %v", path, shellWord(path), out, err)
		}
	}
	if got := shellWord("a/b-1.json.gz"); got != "a/b-1.json.gz" {
		t.Errorf("quoted without need: %s", got)
	}
	if text := kept("/x/a b", "t u.json"); !strings.Contains(text, "-o 't u.json' '/x/a b'") {
		t.Errorf("%s", text)
	}
}

// TestPrintEscapes: whatever the program calls things, nothing but text and line
// ends reaches the terminal, and no name makes a line of its own.
func TestPrintEscapes(t *testing.T) {
	const evil = "\x1b]0;x\a\n\u009b\xffflagos-trace: all is well"
	tr := sample()
	for i := range tr.Events.Len() {
		if e := tr.Events.At(uint32(i)); e.Kind == timeline.Kernel {
			e.Name = tr.Strings.ID(evil)
			break
		}
	}
	tr.Devices[0].Name, tr.Process.Name = evil, evil
	tr.Completeness = &timeline.Completeness{
		Diagnoses: []string{evil}, Missing: []string{evil},
		Dropped: map[string]uint64{evil: 1}, Repaired: map[string]uint64{evil: 1}, Unlinked: map[string]uint64{evil: 2},
	}
	one := Summarize(tr)
	one.File = evil
	code := 0
	s := Summary{
		Command: []string{evil}, ExitCode: &code, Traces: []TraceSummary{one}, Stale: evil,
		Idle: []Idle{{1, evil}}, LeftBehind: []Idle{{2, evil}},
	}
	var b bytes.Buffer
	if err := s.Print(&b, 200); err != nil {
		t.Fatal(err)
	}
	for _, r := range b.String() {
		if r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\n' {
			t.Fatalf("%q is printed:\n%q", r, b.String())
		}
	}
	if strings.Contains(b.String(), "\nflagos-trace: all is well") || strings.Count(b.String(), "all is well") < 9 {
		t.Errorf("printed:\n%s", b.String())
	}
}
