package doctor

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/record"
)

// System is the machine as the checks see it. Paths are absolute.
type System struct {
	FS  fs.FS    // the root of the file system
	Env []string // the environment, as "NAME=value"
	Exe string   // flagos-trace itself
	Dir string   // the working folder

	// FindAgent returns the library that would be injected.
	FindAgent func() (string, error)
	// Access is access(2).
	Access func(path string, mode uint32) error
	// Resolve returns a path without symbolic links, or the path itself.
	Resolve func(path string) string
	// Free returns the bytes that this user can still write in a folder.
	Free func(dir string) (uint64, error)
	// Limit returns the soft limit of a resource, one of the RLIMIT constants.
	Limit func(resource int) (uint64, error)
	// Exec runs a command to its end or for as long as it may take. An error means
	// that it could not be started.
	Exec func(context.Context, Command) (Output, error)
	// TempDir makes a private folder.
	TempDir func() (string, error)
}

// Command is a command to run.
type Command struct {
	Path    string // with a slash, or a name to be looked for in PATH
	Args    []string
	Env     []string
	Timeout time.Duration
}

// Output is what a command said and how it ended.
type Output struct {
	Stdout, Stderr string
	Status         int
	Signal         string // "SIGALRM"; "" if it exited
	TimedOut       bool   // it was ended because its time was up
}

// ThisSystem returns the machine this process runs on.
func ThisSystem() (*System, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	env := os.Environ()
	return &System{
		FS: os.DirFS("/"), Env: env, Exe: exe, Dir: dir,
		FindAgent: func() (string, error) { return record.FindAgent(env, exe) },
		Access:    unix.Access,
		Resolve: func(path string) string {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				return real
			}
			return path
		},
		Free: func(dir string) (uint64, error) {
			var st unix.Statfs_t
			if err := unix.Statfs(dir, &st); err != nil {
				return 0, err
			}
			return st.Bavail * uint64(st.Bsize), nil
		},
		Limit:   softLimit,
		Exec:    execute,
		TempDir: func() (string, error) { return os.MkdirTemp("", "flagos-trace-doctor-*") },
	}, nil
}

// softLimit returns the limit that a program started from here has. That of open
// files is asked of such a program: Go raises its own, and gives the old one on.
func softLimit(resource int) (uint64, error) {
	if resource != unix.RLIMIT_NOFILE {
		var l unix.Rlimit
		err := unix.Getrlimit(resource, &l)
		return l.Cur, err
	}
	out, err := exec.Command("/bin/sh", "-c", "ulimit -S -n").Output()
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(out))
	if text == "unlimited" {
		return unlimited, nil
	}
	return strconv.ParseUint(text, 10, 64)
}

// grace is how long a killed command may take to be gone. One that hangs in the
// kernel never is.
const grace = 2 * time.Second

// execute runs a command in a process group of its own, so that all of it can be
// ended.
func execute(ctx context.Context, c Command) (Output, error) {
	var stdout, stderr bytes.Buffer
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = c.Env, &stdout, &stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	cmd.WaitDelay = grace
	if err := cmd.Start(); err != nil {
		return Output{}, err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(c.Timeout + 2*grace):
		return Output{TimedOut: true}, nil // its buffers may still be written to
	}
	o := Output{Stdout: stdout.String(), Stderr: stderr.String(), TimedOut: errors.Is(ctx.Err(), context.DeadlineExceeded)}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		o.Signal = unix.SignalName(ws.Signal())
	}
	o.Status = cmd.ProcessState.ExitCode()
	return o, nil
}
