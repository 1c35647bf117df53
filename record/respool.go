package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/flagos-ai/flagos-trace/internal/version"
)

// ErrNoSpool means that a folder holds no spool.
var ErrNoSpool = errors.New("no spool")

// FromSpool makes traces of spools that exist already: those of a folder, or a
// single file. It writes, names and summarizes them as Run does and leaves the
// spools where they are. Of the options it uses those on what to write; an
// API level of "" takes what was recorded.
func FromSpool(path string, o Options) (*Result, error) {
	r := &Result{ExitCode: ExitFailure}
	r.Summary.Tool = version.Full()
	if o.Log == nil {
		o.Log = io.Discard
	}
	st, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	dir := path
	if !st.IsDir() {
		dir = filepath.Dir(path)
	}
	spools, err := findSpools(dir)
	if err != nil {
		return r, err
	}
	if !st.IsDir() {
		spools = only(spools, path)
	}
	if len(spools) == 0 {
		return r, fmt.Errorf("%w in %s: expected files named <pid>.<start>%s", ErrNoSpool, path, spoolExt)
	}
	if o.Output, err = checkOutput(o.Output, o.NoClobber); err != nil {
		return r, err
	}
	// A file that was asked for by name has to be a spool.
	f := &finisher{options: &o, dir: dir, result: r, strict: !st.IsDir()}
	failed := append(f.writeAll(spools), f.writeMerged())
	r.Summary.Stale = stale(o.Output, r.Summary.Traces)
	if err = f.report(failed); err == nil {
		r.ExitCode = 0
	}
	conclude(&o, r, err)
	return r, err
}

// only keeps the spool that is the given file; a file of another name counts as
// one whose process is not known.
func only(spools []spoolFile, path string) []spoolFile {
	for _, s := range spools {
		if filepath.Base(s.path) == filepath.Base(path) {
			return []spoolFile{s}
		}
	}
	return []spoolFile{{path: path}}
}
