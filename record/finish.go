package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// finisher is the part of a recording after the program's end.
type finisher struct {
	options *Options
	ended   ended
	dir     string
	result  *Result
	strict  bool // a spool that cannot be read is an error
	// sizes holds the spools that were dealt with and their sizes before that.
	sizes map[string]int64
	used  map[string]bool // names of traces that were given away
	// running: a process was still writing its spool; unread: a spool holds bytes
	// of which no trace could be made.
	running, unread bool
	// settled is set by whoever decides what becomes of the spool folder: the
	// finisher that is about to remove it, or the interrupt that keeps it.
	settled atomic.Bool
}

// settle reports whether the caller is the first to decide on the spool folder.
func (f *finisher) settle() bool { return f.settled.CompareAndSwap(false, true) }

// maxRounds bounds how often the folder is looked at again: a command may leave
// behind something that starts processes for ever.
const maxRounds = 8

// finish makes the traces, says what they hold, and removes the spool folder
// unless it is still needed.
func (f *finisher) finish() error {
	o := f.options
	var failed []error
	// Writing takes its time, in which a process that the command left behind may
	// have begun to record.
	for range maxRounds {
		spools, err := f.fresh()
		if err != nil {
			return fmt.Errorf("cannot read the spool folder: %w", err)
		}
		if len(spools) == 0 && len(f.used) > 0 {
			break
		}
		if len(spools) == 0 {
			failed = append(failed, f.writeEmpty())
		} else {
			failed = append(failed, f.writeAll(spools)...)
		}
	}
	f.result.Summary.Stale = stale(o.Output, f.result.Summary.Traces)
	f.result.Summary.LeftBehind = leftBehind(f.dir, f.sizes)
	if f.settled.Load() {
		return ErrInterrupted // nobody waits for a report any more
	}
	err := f.report(failed)
	if err != nil && len(f.sizes) > 0 {
		f.result.SpoolDir = f.dir
		return fmt.Errorf("%w\n%s", err, kept(f.dir, o.Output))
	}
	keep := o.KeepSpool || f.running || f.unread || lookup(o.Env, envDebug) == "debug"
	if keep && len(f.sizes) > 0 {
		f.keep()
		return err
	}
	if !f.settle() {
		return errors.Join(err, ErrInterrupted)
	}
	if keep {
		// Removing it fails where there is something in it, such as a log.
		if os.Remove(f.dir) != nil {
			f.result.SpoolDir = f.dir
			fmt.Fprintf(o.Log, "flagos-trace: the spool folder %s is kept\n", line(f.dir))
		}
		return err
	}
	more, removal := f.remove()
	if more {
		f.keep()
	}
	return errors.Join(err, removal)
}

// fresh lists the spools that were not dealt with yet.
func (f *finisher) fresh() ([]spoolFile, error) {
	spools, err := findSpools(f.dir)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(spools, func(s spoolFile) bool {
		_, known := f.sizes[s.path]
		return known
	}), nil
}

// keep says that the spool folder stays.
func (f *finisher) keep() {
	f.result.SpoolDir = f.dir
	fmt.Fprintf(f.options.Log, "flagos-trace: %s\n", kept(f.dir, f.options.Output))
}

// remove removes the spool folder, but no spool that came or grew since it was
// dealt with, and reports whether there is one. Nothing is removed by the
// folder's name alone, which would take what has just come with it.
func (f *finisher) remove() (more bool, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		path := filepath.Join(f.dir, e.Name())
		size, known := f.sizes[path]
		st, err := os.Lstat(path)
		if err == nil && strings.HasSuffix(path, spoolExt) && st.Mode().IsRegular() && (!known || st.Size() != size) {
			more = true
			continue
		}
		if err := os.RemoveAll(path); err != nil {
			return more, err
		}
	}
	if more {
		return true, nil
	}
	if err = os.Remove(f.dir); errors.Is(err, unix.ENOTEMPTY) {
		return true, nil
	}
	return false, err
}

// writeAll writes a trace of each spool and returns what failed.
func (f *finisher) writeAll(spools []spoolFile) (failed []error) {
	if f.used == nil {
		f.used, f.sizes = map[string]bool{}, map[string]int64{}
	}
	// All are looked at before the first is read, which may take its time.
	running := make([]bool, len(spools))
	for i, s := range spools {
		running[i] = s.alive()
		f.running = f.running || running[i]
		if st, err := os.Stat(s.path); err == nil {
			f.sizes[s.path] = st.Size()
		} else {
			f.sizes[s.path] = -1
		}
	}
	for i, name := range outputs(f.options.Output, spools, f.ended.pid, f.used) {
		if err := f.writeSpool(spools[i], name, running[i]); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// report prints and writes the summary and returns all that failed.
func (f *finisher) report(failed []error) error {
	err := errors.Join(failed...)
	sum := &f.result.Summary
	for _, e := range failed {
		if e != nil {
			sum.Failures = append(sum.Failures, e.Error())
		}
	}
	_ = sum.Print(f.options.Log, f.options.Width) // where stderr is gone there is nobody to tell
	if f.options.SummaryFile != "" {
		err = errors.Join(err, writeSummary(f.options.SummaryFile, sum))
	}
	return err
}

func (f *finisher) writeSpool(s spoolFile, name string, running bool) error {
	c := CollectOptions{API: f.options.API, KinetoRows: f.options.Compat}
	// Only the program's own end was seen, not that of its children.
	if s.pid == f.ended.pid && s.pid != 0 && !running {
		c.Signal = f.ended.signal
		if c.Signal == "" {
			c.ExitCode = &f.ended.code
		}
	}
	t, err := CollectSpool(s.path, c)
	if err != nil && !f.strict {
		if t = f.unreadable(s, c, err); t != nil {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("process %d left no readable spool: %w", s.pid, err)
	}
	rec := t.Completeness
	if running {
		rec.Diagnoses = append(rec.Diagnoses,
			fmt.Sprintf("process %d was still running when the command ended: its trace stops there", s.pid))
	}
	if f.chained() && len(rec.Received) == 0 && t.Events.Len() == 0 {
		rec.Diagnoses = append(rec.Diagnoses, "nothing was received: a chained library may have taken the records (--chain), "+
			"since two users of one profiling library may disturb each other")
		// However the process ended, no recording did: nobody knows what there was.
		rec.Ended = ""
		rec.Judge()
	}
	if name != f.options.Output && idle(t) {
		f.result.Summary.Idle = append(f.result.Summary.Idle, Idle{PID: s.pid, Process: t.Process.Name})
		return nil
	}
	return f.write(t, name, s.pid)
}

// chained reports whether another library was loaded beside the agent.
func (f *finisher) chained() bool {
	held := lookup(f.options.Env, envInject)
	return f.options.Chain && held != "" && held != "none"
}

func (f *finisher) write(t *timeline.Trace, name string, pid int) error {
	if f.options.NoClobber && !outfile.IsStream(name) {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %s; the trace of process %d is not written", ErrExists, name, pid)
		}
	}
	format := chrome.Options{}
	if f.options.Compat {
		format.Compat = chrome.CompatKineto
	}
	stats, err := chrome.WriteFile(name, t, format)
	if err != nil {
		return fmt.Errorf("cannot write the trace of process %d: %w", pid, err)
	}
	s := Summarize(t)
	s.File, s.PID, s.InvalidText = name, pid, stats.InvalidText
	if st, err := os.Stat(name); err == nil {
		s.Bytes = st.Size()
	}
	f.result.Summary.Traces = append(f.result.Summary.Traces, s)
	return nil
}

// writeSummary writes the summary beside its place and moves it there.
func writeSummary(name string, s *Summary) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	f, err := outfile.Create(name)
	if err == nil {
		defer f.Abort()
		if _, err = f.Write(append(data, '\n')); err == nil {
			err = f.Commit()
		}
	}
	if err != nil {
		return fmt.Errorf("cannot write the summary: %w", err)
	}
	return nil
}
