package record

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// signalled starts a recorder of the signals role in its own session, with the
// terminal if one is given.
func signalled(t *testing.T, tty *os.File) (*exec.Cmd, *lines) {
	t.Helper()
	cmd := recorder(t, t.TempDir(), map[string]any{"Quiet": true}, os.Args[0])
	cmd.Env = append(cmd.Env, "CHILD_ROLE=signals")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var out io.Reader
	if tty != nil {
		cmd.Stdin = tty
		cmd.SysProcAttr.Setctty = true
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	l := readLines(t, out)
	l.want("ready")
	return cmd, l
}

// TestForwarding: a signal sent to the recorder alone reaches the program, once.
func TestForwarding(t *testing.T) {
	cmd, l := signalled(t, nil)
	for _, sig := range []unix.Signal{unix.SIGTERM, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGUSR1, unix.SIGUSR2} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		l.want(unix.SignalName(sig))
	}
	if got := status(t, cmd.Wait()); got != 0 {
		t.Errorf("%d signals came twice", got)
	}
}

// TestTerminal: an interrupt typed at the terminal reaches the program once,
// since the terminal sends it to both.
func TestTerminal(t *testing.T) {
	master, tty := pty(t)
	cmd, l := signalled(t, tty)
	go func() { _, _ = io.Copy(io.Discard, master) }() // the echo
	for _, key := range []struct {
		code string
		name string
	}{{"\x03", "SIGINT"}, {"\x1c", "SIGQUIT"}, {"\x03", "SIGINT"}} {
		if _, err := master.WriteString(key.code); err != nil {
			t.Fatal(err)
		}
		l.want(key.name)
		time.Sleep(50 * time.Millisecond) // for the second one that should not come
	}
	if err := cmd.Process.Signal(unix.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	l.want("SIGUSR2")
	if got := status(t, cmd.Wait()); got != 0 {
		t.Errorf("status %d", got)
	}
}

// TestStopAndContinue: recorder and program stop together, and go on.
func TestStopAndContinue(t *testing.T) {
	cmd, l := signalled(t, nil)
	// A group without a parent in its session may ignore SIGTSTP, so it is
	// stopped with the signal that cannot be ignored.
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(unix.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-l.c:
		t.Errorf("a stopped program printed %q", line)
	case <-time.After(100 * time.Millisecond):
	}
	if err := unix.Kill(-cmd.Process.Pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	l.want("SIGUSR1")
	if err := cmd.Process.Signal(unix.SIGUSR2); err != nil {
		t.Fatal(err)
	}
	l.want("SIGUSR2")
	if got := status(t, cmd.Wait()); got != 0 {
		t.Errorf("status %d", got)
	}
}

// TestIgnoredStaysIgnored: what nohup ignores is ignored by the program, too.
func TestIgnoredStaysIgnored(t *testing.T) {
	cmd := recorder(t, t.TempDir(), map[string]any{"Quiet": true}, "sh", "-c", "kill -HUP $$; kill -INT $$; kill -QUIT $$; echo alive")
	shell := exec.Command("sh", append([]string{"-c", `trap "" HUP INT QUIT; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)...)
	shell.Env, shell.Dir = cmd.Env, cmd.Dir
	out, err := shell.Output()
	if err != nil || string(out) != "alive\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// under has a shell prepare the ground for a command.
func under(cmd *exec.Cmd, script string) *exec.Cmd {
	shell := exec.Command("bash", append([]string{"-c", script, cmd.Path}, cmd.Args[1:]...)...)
	shell.Env, shell.Dir = cmd.Env, cmd.Dir
	return shell
}

// TestInherited: what the help text says is handed on is, and what it says is not
// is not.
func TestInherited(t *testing.T) {
	for _, c := range []struct{ name, setting, show, want string }{
		{"stop signals", `trap "" TSTP TTIN TTOU CONT`, "kill -TSTP $$; kill -TTIN $$; kill -TTOU $$; echo alive", "alive\n"},
		{"limit of open files", "ulimit -Sn 100", "ulimit -Sn", "100\n"},
		{"an open file", "exec 7<<<text", "cat <&7", "text\n"},
		{"SIGPIPE, ignored", `trap "" PIPE`, "(sleep 0.1; kill -PIPE $BASHPID; echo alive); true", ""},
		{"SIGTERM, ignored", `trap "" TERM`, "(kill -TERM $BASHPID; echo alive); true", ""},
		{"closed input", "exec <&-", "readlink /proc/$$/fd/0", "/dev/null\n"},
	} {
		cmd := under(recorder(t, t.TempDir(), map[string]any{"Quiet": true}, "bash", "-c", c.show), c.setting+`; exec "$0" "$@"`)
		out, err := cmd.Output()
		if err != nil || string(out) != c.want {
			t.Errorf("%s: %q, %v; want %q", c.name, out, err, c.want)
		}
	}
}

// pty opens a pseudo terminal.
func pty(t *testing.T) (master, tty *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetUint32(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tty.Close() })
	return master, tty
}
