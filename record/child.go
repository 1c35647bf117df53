package record

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ended says how the program ended.
type ended struct {
	pid        int
	code       int    // exit status, meaningful without signal
	signal     string // "SIGKILL"; "" if it exited
	status     int    // what a shell would say: code, or 128+signal
	start, end time.Time
	// killed says why the recorder killed the program; "" if it did not.
	killed string
}

// runChild starts the program, tells started its id, passes signals on while it
// lives, and waits for its end. With an error the status says why it was not
// started.
func runChild(o *Options, env []string, sigs *signals, started func(pid int)) (ended, error) {
	var e ended
	path, err := lookPath(o.Command[0], lookup(env, "PATH"))
	if err != nil {
		e.status = startStatus(err)
		return e, fmt.Errorf("cannot run the command: %w", err)
	}
	attr := &os.ProcAttr{Env: env, Files: []*os.File{orFile(o.Stdin, os.Stdin), orFile(o.Stdout, os.Stdout), orFile(o.Stderr, os.Stderr)}}
	e.start = time.Now()
	p, err := os.StartProcess(path, o.Command, attr)
	if errors.Is(err, unix.ENOEXEC) {
		// A script without "#!": the C library's execvp gives it to the shell.
		argv := append([]string{"/bin/sh", path}, o.Command[1:]...)
		p, err = os.StartProcess(argv[0], argv, attr)
	}
	if err != nil {
		e.status = startStatus(err)
		return e, fmt.Errorf("cannot run the command: %w", err)
	}
	e.pid = p.Pid
	started(p.Pid)
	stop := sigs.forwardTo(p, o.KillAfter)
	state, err := p.Wait()
	e.end = time.Now()
	killed := stop()
	if err != nil {
		e.status = ExitFailure
		return e, fmt.Errorf("cannot wait for process %d: %w", p.Pid, err)
	}
	ws := state.Sys().(syscall.WaitStatus)
	if ws.Signaled() {
		e.signal = unix.SignalName(ws.Signal())
		if ws.Signal() == unix.SIGKILL {
			e.killed = killed
		}
		e.status = 128 + int(ws.Signal())
	} else {
		e.code = ws.ExitStatus()
		e.status = e.code
	}
	return e, nil
}

func orFile(f, other *os.File) *os.File {
	if f != nil {
		return f
	}
	return other
}

// signals are the signals the recorder takes.
type signals struct{ ch chan os.Signal }

// listen begins to take signals. One that is ignored stays so: listening to it
// would make the program, which inherits what is ignored and not what is
// handled, die of a hangup that nohup had promised to keep away.
func listen() *signals {
	// The Go runtime has taken SIGQUIT over before main, ignored or not. Shells
	// ignore it together with SIGINT, for jobs in the background.
	if signal.Ignored(unix.SIGINT) {
		signal.Ignore(unix.SIGQUIT)
	}
	s := &signals{ch: make(chan os.Signal, 16)}
	for _, sig := range []os.Signal{unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2} {
		if !signal.Ignored(sig) {
			signal.Notify(s.ch, sig)
		}
	}
	return s
}

func (s *signals) close() { signal.Stop(s.ch) }

// forwardTo passes signals on to p until the function it returns is called.
// Signals that came before p was started are passed on, too. SIGTSTP, SIGCONT
// and the like are left alone: the terminal sends them to the whole process
// group, and recorder and program stop and go on together. The first SIGTERM or
// SIGINT, passed on or had from the terminal, starts the time killAfter (0: none)
// at whose end p is killed; stop says so.
func (s *signals) forwardTo(p *os.Process, killAfter time.Duration) (stop func() (killed string)) {
	quit, done := make(chan struct{}), make(chan struct{})
	var killed string
	go func() {
		defer close(done)
		var due <-chan time.Time
		var asked string
		for {
			select {
			case <-quit:
				return
			case <-due:
				if p.Kill() == nil {
					killed = fmt.Sprintf("it was killed by flagos-trace since it still ran %v after %s (--kill-after)", killAfter, asked)
				}
			case sig := <-s.ch:
				if n, ok := sig.(unix.Signal); ok && killAfter > 0 && due == nil && (n == unix.SIGTERM || n == unix.SIGINT) {
					asked, due = unix.SignalName(n), time.After(killAfter)
				}
				if (sig == unix.SIGINT || sig == unix.SIGQUIT) && inForeground() {
					continue
				}
				// A failure means that the program has just ended.
				_ = p.Signal(sig)
			}
		}
	}()
	return func() string { close(quit); <-done; return killed }
}

// inForeground reports whether the recorder's process group has the terminal.
// Then an interrupt came, as far as one can know, from the keyboard, and the
// program in the same group has it already.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}
