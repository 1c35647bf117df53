package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/spool"
)

// Errors of Recover.
var (
	// ErrStillRecording means that what is to be recovered is not at its end.
	ErrStillRecording = errors.New("the recording still goes on")
	// ErrSeveral means that the spools are of more than one recording.
	ErrSeveral = errors.New("the spools are of several recordings")
)

// RecoverOptions are those of Recover.
type RecoverOptions struct {
	// Options say what to write. An Output of "" is that of the recording, or
	// trace.json.gz where it is not known, and then no file is replaced.
	Options
	// Force takes what there is of a recording that still goes on.
	Force bool
	// Remove removes the spools once their traces are written, and their folder if
	// nothing is left in it.
	Remove bool
}

// Recover makes the traces of a recording whose recorder is gone: of a spool
// folder, or of some of the spools in one. They have the names that Run gives
// them. The spools stay unless Remove is set, and what came of all of them is on
// disk.
func Recover(paths []string, o RecoverOptions) (*Result, error) {
	r := &Result{ExitCode: ExitFailure}
	r.Summary.Tool = version.Full()
	if o.Log == nil {
		o.Log = io.Discard
	}
	dir, spools, strict, err := orphans(paths)
	if err != nil {
		return r, err
	}
	about := readNote(dir)
	if !o.Force {
		if err := stillRecording(dir, about, spools); err != nil {
			return r, err
		}
	}
	f := &finisher{options: &o.Options, dir: dir, result: r, strict: strict}
	if o.Output == "" {
		o.NoClobber, o.Output = true, "trace.json.gz"
		if about != nil && about.Output != "" {
			o.Output = about.Output
		}
	}
	if about != nil {
		f.ended.pid = about.PID
		r.Summary.Command = about.Command
	}
	f.orphaned = true
	readRanks(spools)
	f.ranks = anyRank(o.Output, spools)
	if !o.JSON {
		tell(o.Log, dir, about, spools)
	}
	if len(spools) == 0 {
		return r, fmt.Errorf("%w in %s: no process had used a device", ErrNoSpool, line(dir))
	}
	// A name that is taken by itself need not be in the way of the names of ranks.
	if o.Output, err = checkOutput(o.Output, o.NoClobber && !anyRank(o.Output, spools)); err != nil {
		return r, err
	}
	failed := append(f.writeAll(spools), f.writeMerged())
	r.Summary.Stale = stale(o.Output, r.Summary.Traces)
	err = f.report(failed)
	r.SpoolDir = dir
	switch {
	case err != nil || !o.Remove:
	case f.running || f.unread:
		f.say(line(dir) + " is not removed: there is more in it than could be read")
	default:
		if err = removeSpools(dir, spools); err == nil {
			r.SpoolDir = ""
		}
	}
	if err == nil {
		r.ExitCode = 0
	}
	conclude(&o.Options, r, err)
	return r, err
}

// orphans lists the spools that paths, folders or files, name, and their folder.
// Those that are named themselves have to be spools: strict.
func orphans(paths []string) (dir string, spools []spoolFile, strict bool, err error) {
	seen := map[string]bool{}
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			return "", nil, false, err
		}
		in, file := path, !st.IsDir()
		if file {
			in = filepath.Dir(path)
		}
		if in, err = filepath.Abs(in); err != nil {
			return "", nil, false, err
		}
		if dir != "" && in != dir {
			return "", nil, false, fmt.Errorf("%w: %s and %s; recover one at a time", ErrSeveral, line(dir), line(in))
		}
		dir = in
		found, err := findSpools(in)
		if err != nil {
			return "", nil, false, err
		}
		if file {
			found, strict = only(found, path), true
		} else if len(found) == 0 && readNote(in) == nil {
			return "", nil, false, fmt.Errorf("%w in %s: expected files named <pid>.<start>%s; is it the folder of a recording (.flagos-trace-*)?", ErrNoSpool, line(path), spoolExt)
		}
		for _, s := range found {
			if !seen[s.path] {
				seen[s.path] = true
				spools = append(spools, s)
			}
		}
	}
	return dir, spools, strict, nil
}

// stillRecording says who still works on a recording.
func stillRecording(dir string, about *recording, spools []spoolFile) error {
	if about != nil && about.RecorderStart != 0 && running(about.Recorder, about.RecorderStart) {
		return fmt.Errorf("%w: flagos-trace, process %d, still runs and will write the trace of %s itself; use --force to take what there is", ErrStillRecording, about.Recorder, line(dir))
	}
	var alive []string
	for _, s := range spools {
		if s.alive() {
			alive = append(alive, fmt.Sprint(s.pid))
		}
	}
	if len(alive) == 0 {
		return nil
	}
	return fmt.Errorf("%w: of %s the processes %s still run; wait for them, or use --force to take what there is", ErrStillRecording, line(dir), strings.Join(alive, ", "))
}

// tell says what was found.
func tell(w io.Writer, dir string, about *recording, spools []spoolFile) {
	fmt.Fprintf(w, "flagos-trace: %s holds %s\n", line(dir), plural(uint64(len(spools)), "spools"))
	if about != nil {
		fmt.Fprintf(w, "  recorded from %s on by process %d: %s\n", time.Unix(0, about.StartNS).Format(time.DateTime), about.Recorder, line(strings.Join(about.Command, " ")))
	}
	for _, s := range spools {
		var bytes int64
		if files, err := spool.Segments(s.path); err == nil {
			for _, name := range files {
				if st, err := os.Stat(name); err == nil {
					bytes += st.Size()
				}
			}
		}
		what := fmt.Sprintf("process %d", s.pid)
		if h, ok := readHeader(s.path); ok && h.Process != "" {
			what += " " + line(h.Process)
		}
		what += s.role(", ")
		if s.alive() {
			what += ", which still runs"
		}
		fmt.Fprintf(w, "  %s: %s\n", what, size(bytes))
	}
}

// removeSpools removes spools with their segments, and what else a recording
// leaves in its folder; and the folder, unless there is something else in it.
func removeSpools(dir string, spools []spoolFile) error {
	for _, s := range spools {
		files, err := spool.Segments(s.path)
		if err != nil {
			return err
		}
		for _, name := range files {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		_ = os.Remove(strings.TrimSuffix(s.path, spoolExt) + spool.SocketExt) // of a process that is gone
		for _, name := range findHostFiles(s.path).paths() {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
	}
	if err := removeEmpty(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}
