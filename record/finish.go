package record

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

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
	// began is when the recording did; zero where it was not seen.
	began time.Time
	ranks bool // there are ranks of a distributed program
	// orphaned: the recorder is gone, so how the program ended was not seen.
	orphaned bool
	// For Options.Merge: the traces so far, and one with nothing in it for the
	// case that there is no other.
	merging bool
	parts   []part
	spare   *part
	// sizes holds the spools that were dealt with and their sizes before that.
	sizes map[string]int64
	used  map[string]bool       // names of traces that were given away
	known []spoolFile           // those that were dealt with
	ends  map[string]processEnd // of processes, by "<pid>.<start>", where they were seen
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
	for round := range maxRounds {
		spools, err := f.fresh()
		if err != nil {
			return fmt.Errorf("cannot read the spool folder: %w", err)
		}
		if round == 0 && f.ended.signal != "" {
			letDie(spools)
		}
		if len(spools) == 0 && f.sizes != nil {
			break
		}
		if len(spools) == 0 {
			failed = append(failed, f.writeEmpty())
		} else {
			failed = append(failed, f.writeAll(spools)...)
		}
	}
	if f.settled.Load() {
		return ErrInterrupted // nobody waits for a report any more
	}
	failed = append(failed, f.writeMerged())
	f.result.Summary.Stale = stale(o.Output, f.result.Summary.Traces)
	f.result.Summary.LeftBehind = leftBehind(f.dir, f.sizes)
	if f.settled.Load() {
		return ErrInterrupted // nobody waits for a report any more
	}
	err := f.report(failed)
	if err != nil && len(f.sizes) > 0 {
		f.result.SpoolDir = f.dir
		return errors.Join(err, errors.New(kept(f.dir, o.Output)))
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
		if removeEmpty(f.dir) != nil {
			f.result.SpoolDir = f.dir
			f.say("the spool folder " + line(f.dir) + " is kept")
		}
		return err
	}
	more, removal := f.remove()
	if more {
		f.keep()
	}
	return errors.Join(err, removal)
}

// letDie waits a moment for processes that what killed the command has killed,
// too: the last of them may take a little longer, and their data is then whole.
func letDie(spools []spoolFile) {
	for until := time.Now().Add(settle); slices.ContainsFunc(spools, spoolFile.alive) && time.Now().Before(until); {
		time.Sleep(5 * time.Millisecond)
	}
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
	f.say(kept(f.dir, f.options.Output))
}

// say tells people something; scripts find it in the summary.
func (f *finisher) say(text string) {
	if !f.options.JSON {
		fmt.Fprintf(f.options.Log, "flagos-trace: %s\n", text)
	}
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
		if f.merging = f.options.Merge; f.merging {
			f.result.Summary.NotMerged = tooLarge(spools, availableMemory())
			f.merging = f.result.Summary.NotMerged == ""
		}
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
	if !f.strict { // a file asked for by name has the name asked for
		readRanks(spools, f.known...)
		f.known = append(f.known, spools...)
		f.ranks = f.ranks || anyRank(f.options.Output, spools)
	}
	if f.merging {
		for i, s := range spools {
			if err := f.writeSpool(s, f.options.Output, running[i]); err != nil {
				failed = append(failed, err)
			}
		}
		return failed
	}
	for i, name := range outputs(f.options.Output, spools, f.ended.pid, f.used) {
		if err := f.writeSpool(spools[i], name, running[i]); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

func (f *finisher) writeSpool(s spoolFile, name string, running bool) error {
	c := CollectOptions{API: f.options.API, KinetoRows: f.options.Compat, Alive: running, NotRank: s.helper || s.launcher}
	// Only the program's own end was seen, not that of its children.
	if s.pid == f.ended.pid && s.pid != 0 && !running && !f.orphaned {
		c.Signal = f.ended.signal
		if c.Signal == "" {
			c.ExitCode = &f.ended.code
		}
	}
	end, seen := f.endOf(s)
	if !seen && (c.Signal != "" || c.ExitCode != nil) {
		end, seen = processEnd{ns: f.ended.end.UnixNano()}, true
	}
	if seen && c.Signal == "" && c.ExitCode == nil {
		c.Signal = end.signal
		if end.code != 0 {
			c.ExitCode = &end.code
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
	if running && rec.Ended == timeline.EndCut {
		rec.Ended = timeline.EndRunning
		rec.Judge()
	}
	if f.ended.killed != "" && s.pid == f.ended.pid {
		rec.Diagnoses = append(rec.Diagnoses, fmt.Sprintf("process %d: %s", s.pid, f.ended.killed))
	}
	if f.chained() && len(rec.Received) == 0 && t.Events.Len() == 0 {
		rec.Diagnoses = append(rec.Diagnoses, "nothing was received: a chained library may have taken the records (--chain), "+
			"since two users of one profiling library may disturb each other")
		// However the process ended, no recording did: nobody knows what there was.
		rec.Ended = ""
		rec.Judge()
	}
	s.ended, s.death = end.ns, death(s, rec, end, seen)
	nothing := idle(t)
	if s.death != "" && (!nothing || s.hasRank) { // a rank that died early is told of
		rec.Diagnoses = append(rec.Diagnoses, fmt.Sprintf("process %d%s: %s", s.pid, s.role(", "), s.death))
	}
	if s.helper && !nothing {
		rec.Diagnoses = append(rec.Diagnoses, fmt.Sprintf("process %d has the number of rank %d from the environment and is not that rank", s.pid, s.rank))
	}
	if f.merging {
		f.add(t, s)
		return nil
	}
	// A launcher of ranks may only have counted the devices.
	if (name != f.options.Output || f.ranks) && idle(t) {
		f.result.Summary.Idle = append(f.result.Summary.Idle, Idle{PID: s.pid, Process: t.Process.Name})
		return nil
	}
	return f.write(t, name, s)
}

// chained reports whether another library was loaded beside the agent.
func (f *finisher) chained() bool {
	held := lookup(f.options.Env, envInject)
	return f.options.Chain && held != "" && held != "none"
}

// write writes one process's trace.
func (f *finisher) write(t *timeline.Trace, name string, spool spoolFile) error {
	s := part{t, spool}.summary()
	file, err := f.writeTo(name, t, fmt.Sprintf("process %d", spool.pid))
	if err != nil {
		return err
	}
	s.File, s.Bytes, s.InvalidText = file.File, file.Bytes, file.InvalidText
	f.result.Summary.Traces = append(f.result.Summary.Traces, s)
	return nil
}

// writeTo writes a trace of what is called whose. Where another recording has put
// its trace there since this one began, the name gets the id of the process, and
// that of the recorder if need be.
func (f *finisher) writeTo(name string, t *timeline.Trace, whose string) (*MergedFile, error) {
	names := []string{name}
	if !f.began.IsZero() && !f.options.NoClobber && !outfile.IsStream(name) {
		id := strconv.Itoa(cmp.Or(t.Process.PID, f.ended.pid))
		names = append(names, insert(name, id), insert(insert(name, id), strconv.Itoa(os.Getpid())))
	}
	var file *MergedFile
	err := error(outfile.ErrTaken)
	for i := 0; i < len(names) && errors.Is(err, outfile.ErrTaken); i++ {
		// Looked at before, too: writing takes its time.
		if i+1 < len(names) && outfile.Taken(names[i], f.began) {
			continue
		}
		if file, err = f.writeAs(names[i], t, whose); err == nil && i > 0 {
			f.say(line(name) + " is by now that of another recording; see " + line(names[i]))
		}
	}
	return file, err
}

// writeAs writes a trace under this very name.
func (f *finisher) writeAs(name string, t *timeline.Trace, whose string) (*MergedFile, error) {
	if f.options.NoClobber && !outfile.IsStream(name) {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: %s; the trace of %s is not written", ErrExists, name, whose)
		}
	}
	format := chrome.Options{Since: f.began, RuntimeCategory: f.options.RuntimeCategory}
	if f.options.Compat {
		format.Compat = chrome.CompatKineto
	}
	stats, err := chrome.WriteFile(name, t, format)
	if err != nil {
		return nil, fmt.Errorf("cannot write the trace of %s: %w", whose, err)
	}
	file := &MergedFile{File: name, InvalidText: stats.InvalidText}
	if st, err := os.Stat(name); err == nil {
		file.Bytes = st.Size()
	}
	return file, nil
}
