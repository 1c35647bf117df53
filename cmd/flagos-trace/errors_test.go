package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestErrorText: only errors that were joined have lines of their own.
func TestErrorText(t *testing.T) {
	bad := &fs.PathError{Op: "open", Path: "x\n::error::pwned\u009b\u202e\xff", Err: fs.ErrNotExist}
	const plain = `open x\n::error::pwned\u009b\u202e\xff: file does not exist`
	types := yaml.Unmarshal([]byte("a: b\nc: d\n"), &struct{ A, C int }{})
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("all is well"), "all is well"},
		{bad, plain},
		{fmt.Errorf("trace: %w; see\nthere", bad), "trace: " + plain + `; see\nthere`},
		{errors.Join(errors.New("one"), bad), "one\n" + plain},
		{fmt.Errorf("twice:\t%w", errors.Join(bad, errors.New("two"))), `twice:\t` + plain + "\ntwo"},
		{fmt.Errorf("%w: %w", bad, errors.Join(bad, errors.New("two"))), plain + ": " + plain + "\ntwo"},
		{fmt.Errorf("f: %w", types), "f: yaml: line 1: cannot unmarshal !!str `b` into int; line 2: cannot unmarshal !!str `d` into int"},
		{&failure{exitUsage, errors.Join(bad, bad)}, plain + "\n" + plain},
	} {
		if got := errorText(c.err); got != c.want {
			t.Errorf("%v:\n%q, want\n%q", c.err, got, c.want)
		}
	}
}

// TestNamesInErrors: whatever the command, a name has no line of its own.
func TestNamesInErrors(t *testing.T) {
	const name = "no\n::error::pwned\u009b\u202e.json"
	dir := t.TempDir()
	for _, args := range [][]string{
		{"diff", name, name}, {"diff", "--perf", name, name}, {"diff", "--baseline", name, name}, {"diff", "--exceptions", name, pair + "basic.kineto.json.gz"},
		{"diff", "-o", name, name, name}, {"gate", "--config", name}, {"gate", "-" + name}, {"baseline", "show", name}, {"baseline", "list", name},
		{"baseline", "create", name, "-o", dir + "/x"}, {"baseline", "create", pair + "basic.kineto.json.gz", "-o", dir + "/none\n::error::x/x"}, {"baseline", name},
		{"cat", name, "-o", dir + "/x"}, {"cut", name, "--from", "start", "-o", dir + "/x"}, {"merge", name, "-o", dir + "/x"}, {"summary", name}, {"validate", name},
		{"check", name}, {"repair", name, "-o", dir + "/x"}, {"report", name, "-o", dir + "/x"}, {"export", name, "-o", dir + "/x.parquet"}, {"pprof", name, "-o", dir + "/x"},
		{"ranks", name}, {"occupancy", "--trace", name}, {"import", "spool", name, "-o", dir + "/x"}, {"open", name}, {name}, {"ctl", "status", name},
	} {
		var out, errs bytes.Buffer
		if status := run(args, &out, &errs); status == exitOK {
			t.Errorf("%q: %s", args, out.String())
		}
		for _, text := range []string{out.String(), errs.String()} {
			if strings.Contains(text, "\n::error") || strings.ContainsAny(text, "\u009b\u202e") {
				t.Errorf("%q:\n%q", args, text)
			}
		}
	}
}
