package bootstrap

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FileName is what the start-up file has to be called for the interpreter to import it.
const FileName = "sitecustomize.py"

var (
	//go:embed sitecustomize.py
	first []byte

	//go:embed parts/state.py
	state string
	//go:embed parts/sessions.py
	sessions string
	//go:embed parts/program.py
	program string
	//go:embed parts/steps.py
	steps string
	//go:embed parts/setup.py
	setup string
)

// Where the second part goes in the first.
const (
	slot     = "_LATER = \"\"\n"
	slotLine = "_LATER_LINE = 0\n"
)

// Source returns the start-up file: one Python file for 3.8 and newer, which
// needs nothing but the standard library. It is the same for each call.
func Source() []byte {
	later := state + sessions + program + steps + setup
	before, after, ok := bytes.Cut(first, []byte(slot))
	rest, found := bytes.CutPrefix(after, []byte(slotLine))
	if !ok || !found || strings.Contains(later, `'''`) {
		panic("bootstrap: the parts of " + FileName + " do not fit together")
	}
	var b bytes.Buffer
	b.Write(before)
	// Code of the second part reports the lines it has in the whole file.
	fmt.Fprintf(&b, "_LATER_LINE = %d\n_LATER = r'''", bytes.Count(before, []byte("\n"))+1)
	b.WriteString(later)
	b.WriteString("'''\n")
	b.Write(rest)
	return b.Bytes()
}

// Write puts the start-up file into dir, which it makes if need be, and which
// should hold nothing else: dir is to stand first in PYTHONPATH, and whatever
// lies in it can be imported.
func Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, FileName), Source(), 0o600); err != nil {
		return fmt.Errorf("bootstrap: %w", err)
	}
	return nil
}

// PythonPath returns the value of PYTHONPATH that makes Python find dir first:
// dir in front of old, the value it has had (and nothing behind it where it was
// unset or empty, for an empty entry would stand for the current folder).
func PythonPath(dir, old string) string {
	if old == "" {
		return dir
	}
	return dir + string(os.PathListSeparator) + old
}
