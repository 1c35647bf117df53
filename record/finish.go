package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/version"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// finisher is the part of a recording after the program's end.
type finisher struct {
	options *Options
	ended   ended
	dir     string
	result  *Result
	running bool // a process was still writing its spool
	// settled is set by whoever decides what becomes of the spool folder: the
	// finisher that is about to remove it, or the interrupt that keeps it.
	settled atomic.Bool
}

// settle reports whether the caller is the first to decide on the spool folder.
func (f *finisher) settle() bool { return f.settled.CompareAndSwap(false, true) }

// finish makes the traces, says what they hold, and removes the spool folder
// unless it is still needed.
func (f *finisher) finish() error {
	o := f.options
	spools, err := findSpools(f.dir)
	if err != nil {
		return fmt.Errorf("cannot read the spool folder: %w", err)
	}
	var failed []error
	if len(spools) == 0 {
		failed = []error{f.writeEmpty()}
	} else {
		failed = f.writeAll(spools)
	}
	if f.settled.Load() {
		return ErrInterrupted // nobody waits for a report any more
	}
	if err = f.report(failed); err != nil && len(spools) > 0 {
		f.result.SpoolDir = f.dir
		return fmt.Errorf("%w\n%s", err, kept(f.dir, o.Output))
	}
	keep := o.KeepSpool || f.running || lookup(o.Env, envDebug) == "debug"
	if keep && len(spools) > 0 {
		f.result.SpoolDir = f.dir
		fmt.Fprintf(o.Log, "flagos-trace: %s\n", kept(f.dir, o.Output))
		return err
	}
	if !f.settle() {
		return errors.Join(err, ErrInterrupted)
	}
	if keep {
		// Removing it fails where there is something in it, such as a log.
		if os.Remove(f.dir) != nil {
			f.result.SpoolDir = f.dir
			fmt.Fprintf(o.Log, "flagos-trace: the spool folder %s is kept\n", f.dir)
		}
		return err
	}
	return errors.Join(err, os.RemoveAll(f.dir))
}

// writeAll writes a trace of each spool and returns what failed.
func (f *finisher) writeAll(spools []spoolFile) (failed []error) {
	// All are looked at before the first is read, which may take its time.
	running := make([]bool, len(spools))
	for i, s := range spools {
		running[i] = s.alive()
		f.running = f.running || running[i]
	}
	for i, name := range outputs(f.options.Output, spools, f.ended.pid) {
		if err := f.writeSpool(spools[i], name, running[i]); err != nil {
			failed = append(failed, err)
		}
	}
	f.result.Summary.Stale = stale(f.options.Output, f.result.Summary.Traces)
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
	if s.pid == f.ended.pid && !running {
		c.Signal = f.ended.signal
		if c.Signal == "" {
			c.ExitCode = &f.ended.code
		}
	}
	t, err := CollectSpool(s.path, c)
	if err != nil {
		return fmt.Errorf("process %d left no readable spool: %w", s.pid, err)
	}
	if running && t.Completeness != nil {
		t.Completeness.Diagnoses = append(t.Completeness.Diagnoses,
			fmt.Sprintf("process %d was still running when the command ended: its trace stops there", s.pid))
	}
	if name != f.options.Output && idle(t) {
		f.result.Summary.Idle = append(f.result.Summary.Idle, Idle{PID: s.pid, Process: t.Process.Name})
		return nil
	}
	return f.write(t, name, s.pid)
}

// idle reports whether a process asked for the device and then left it alone:
// there is nothing to see and nothing was lost.
func idle(t *timeline.Trace) bool {
	c := t.Completeness
	return t.Events.Len() == 0 && len(c.Diagnoses) == 0 && !c.Lost()
}

// writeEmpty writes the trace of a program that left no spool.
func (f *finisher) writeEmpty() error {
	host, _ := os.Hostname() // absent if unknown
	t := &timeline.Trace{
		Process: timeline.Process{PID: f.ended.pid, Name: filepath.Base(f.options.Command[0]), Host: host},
		Window:  timeline.Window{Start: f.ended.start.UnixNano(), End: f.ended.end.UnixNano()},
		Completeness: &timeline.Completeness{
			Tool:     version.Full(),
			Tracer:   "none",
			Received: map[string]uint64{},
			Written:  map[string]uint64{},
			Signal:   f.ended.signal,
			Diagnoses: []string{"no process initialised a device driver that loads the agent, so nothing was recorded. " +
				"A program that does use a device may have lost " + envInject + " from its environment (sudo, env -i, a container), or its vendor's driver does not know it"},
		},
	}
	if f.ended.signal == "" {
		t.Completeness.ExitCode = &f.ended.code
	}
	t.Completeness.Judge()
	return f.write(t, f.options.Output, f.ended.pid)
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
	if _, err := chrome.WriteFile(name, t, format); err != nil {
		return fmt.Errorf("cannot write the trace of process %d: %w", pid, err)
	}
	s := Summarize(t)
	s.File, s.PID = name, pid
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
