package record

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/host/bootstrap"
	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/internal/version"
)

// settle is how long after the program's end a signal still counts as one that
// was meant for the program.
const settle = 250 * time.Millisecond

// Run records a program. The Result is never nil and says with which status to
// exit; an error says what went wrong beside whatever the program did. After
// ErrInterrupted the process can write no more traces: it should exit.
func Run(o Options) (*Result, error) {
	r := &Result{ExitCode: ExitFailure}
	began := time.Now()
	if o.Log == nil {
		o.Log = io.Discard
	}
	if err := prepare(&o); err != nil {
		return r, err
	}
	exe, err := os.Executable()
	if err != nil {
		return r, err
	}
	agent, err := findAgent(lookup(o.Env, envAgent), exe)
	if err != nil {
		return r, err
	}
	// Checked before the folder is made; the folder's name is filled in below.
	if _, err := childEnv(o.Env, agent, "", &o); err != nil {
		return r, err
	}
	dir, err := makeSpoolDir(&o)
	if err != nil {
		return r, err
	}
	env, err := childEnv(o.Env, agent, dir, &o)
	if err != nil {
		return r, errors.Join(err, os.RemoveAll(dir))
	}
	if !o.Host.Off {
		if err := bootstrap.Write(filepath.Join(dir, pythonDir)); err != nil {
			err = fmt.Errorf("cannot prepare the recording of operators, which --no-host leaves out: %w", err)
			return r, errors.Join(err, os.RemoveAll(dir))
		}
	}
	if why := untracedVendor(&o); why != "" && !o.JSON {
		fmt.Fprintf(o.Log, "flagos-trace: %s\n", line(why))
	}
	sigs := listen()
	defer sigs.close()
	end, ends, err := watched(&o, dir, env, sigs)
	r.ExitCode = end.status
	if err != nil {
		return r, errors.Join(err, os.RemoveAll(dir))
	}
	r.Summary = Summary{
		Tool: version.Full(), Command: o.Command, Signal: end.signal,
		WallNS: end.end.Sub(end.start).Nanoseconds(), Killed: end.killed,
	}
	if end.signal == "" {
		r.Summary.ExitCode = &end.code
	}

	done := make(chan error, 1)
	f := &finisher{options: &o, ended: end, dir: dir, result: r, began: began, ends: ends}
	go func() { done <- f.finish() }()
	for {
		select {
		case err := <-done:
			if err != nil && r.ExitCode == 0 {
				r.ExitCode = ExitFailure
			}
			conclude(&o, r, err)
			return r, err
		case sig := <-sigs.ch:
			n, ok := sig.(unix.Signal)
			if !ok || n == unix.SIGUSR1 || n == unix.SIGUSR2 || time.Since(end.end) < settle {
				continue
			}
			if !f.settle() {
				continue // all is written, and the spool is on its way out
			}
			outfile.RemoveTemporaries()
			// The finisher still writes to r: hand out another.
			r := &Result{ExitCode: 128 + int(n)}
			text := keepSpools(r, dir, o.Output)
			return r, fmt.Errorf("%w by %s; %s", ErrInterrupted, unix.SignalName(n), text)
		}
	}
}

// watched runs the program, and shows how the recording stands meanwhile. It
// returns the ends of the processes that the program started, too.
func watched(o *Options, dir string, env []string, sigs *signals) (ended, map[string]processEnd, error) {
	stop := func() {}
	ends := func() map[string]processEnd { return nil }
	end, err := runChild(o, env, sigs, func(pid int) {
		note(dir, o, pid)
		progress, limits := showProgress(o.Progress, dir), keepHostLimits(dir, o)
		stop = func() { progress(); limits() }
		ends = watchEnds(dir)
	})
	stop()
	seen := ends()
	if end.killed != "" && !o.JSON {
		fmt.Fprintf(o.Log, "flagos-trace: %s: %s\n", line(o.Command[0]), end.killed)
	}
	return end, seen, err
}

// keepSpools says what an interrupt leaves in the spool folder, and removes the
// folder if that is nothing.
func keepSpools(r *Result, dir, output string) string {
	spools, err := findSpools(dir)
	if err != nil || len(spools) > 0 {
		r.SpoolDir = dir
		return kept(dir, output)
	}
	// Removing it fails where there is something in it, such as a log.
	if removeEmpty(dir) != nil {
		r.SpoolDir = dir
		return "nothing was recorded; the spool folder " + line(dir) + " is kept"
	}
	return "nothing was recorded"
}

// kept says where a spool is and what can be done with it.
func kept(dir, output string) string {
	return fmt.Sprintf("the spool is kept in %s; `flagos-trace recover -o %s %s` makes the trace of it", line(dir), shellWord(output), shellWord(dir))
}
