package agent

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"golang.org/x/sys/unix"
)

// socketPath waits for the agent's socket.
func socketPath(t *testing.T, dir string) string {
	t.Helper()
	list, _ := filepath.Glob(filepath.Join(dir, "*"+spool.SocketExt))
	if len(list) != 1 {
		t.Fatalf("sockets: %v", list)
	}
	return list[0]
}

// talk sends bytes and returns what comes back until the agent hangs up.
func talk(t *testing.T, path, text string) string {
	t.Helper()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	go c.Write([]byte(text)) // a long one is not read to its end
	var b strings.Builder
	buf := make([]byte, 4096)
	for {
		n, err := c.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			return b.String()
		}
	}
}

func reply(t *testing.T, path, text string) (r spool.Reply) {
	t.Helper()
	line := talk(t, path, text)
	if err := json.Unmarshal([]byte(line), &r); err != nil || !strings.HasSuffix(line, "\n") {
		t.Fatalf("%q: %q %v", text, line, err)
	}
	return r
}

func TestControl(t *testing.T) {
	b := &fakeBinding{}
	_, s, dir := start(t, b, map[string]string{EnvPaused: "1"})
	path := socketPath(t, dir)
	st, err := os.Lstat(path)
	if err != nil || st.Mode() != os.ModeSocket|0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	if calls := b.log(false); len(calls) != 0 {
		t.Errorf("paused, and %v was called", calls)
	}
	for _, c := range []struct {
		line  string
		code  string // "" is OK
		armed bool
		state string
	}{
		{`{"command":"status"}`, "", false, spool.StatePaused},
		{`{"command":"start","more":1}`, "", true, spool.StateRecording},
		{`{"command":"snapshot"}`, "", true, spool.StateRecording},
		{`{"command":"stop"}`, "", false, spool.StatePaused},
		{`{"command":"halt"}`, spool.CodeInvalid, false, spool.StatePaused},
		{`{}`, spool.CodeInvalid, false, spool.StatePaused},
		{"\x00\xff{{{", spool.CodeInvalid, false, spool.StatePaused},
		{"", spool.CodeInvalid, false, spool.StatePaused},
		{`{"command":"start"}`, "", true, spool.StateRecording},
	} {
		r := reply(t, path, c.line+"\n")
		if r.OK != (c.code == "") || r.Code != c.code || r.Armed != c.armed || r.State != c.state || r.PID != os.Getpid() || r.Size == 0 || r.Counters == nil {
			t.Errorf("%q: %+v", c.line, r)
		}
	}
	s.exit()
	if _, err := os.Lstat(path); err == nil {
		t.Error("the socket is there after the end")
	}
}

// What a client sends, or does not, costs the next one a bounded time.
func TestControlGarbage(t *testing.T) {
	_, s, dir := start(t, &fakeBinding{}, nil)
	path := socketPath(t, dir)
	if r := reply(t, path, strings.Repeat("x", 10*spool.MaxRequest)); r.OK || r.Code != spool.CodeInvalid {
		t.Errorf("long: %+v", r)
	}
	var idle []net.Conn
	for range 3 { // silent, half a line, gone at once
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	_, _ = idle[1].Write([]byte(`{"comm`))
	_, _ = idle[2].Write([]byte("{\"command\":\"status\"}\n"))
	_ = idle[2].Close()
	begin := time.Now()
	if r := reply(t, path, "{\"command\":\"status\"}\n"); !r.OK {
		t.Errorf("%+v", r)
	}
	if d := time.Since(begin); d > 3*talkTime {
		t.Errorf("after %v", d)
	}
	s.exit()
}

// A command that is under way holds up no exit.
func TestControlAtExit(t *testing.T) {
	b := &fakeBinding{}
	_, s, dir := start(t, b, map[string]string{EnvExitTimeout: "300"})
	path := socketPath(t, dir)
	b.hang.Lock() // the command does not come back
	defer b.hang.Unlock()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte("{\"command\":\"stop\"}\n"))
	time.Sleep(50 * time.Millisecond)
	begin := time.Now()
	s.exit()
	if d := time.Since(begin); d > 2*time.Second {
		t.Errorf("exit took %v", d)
	}
}

// A name that is there is neither followed nor replaced.
func TestPlantedNames(t *testing.T) {
	p := process{pid: os.Getpid(), start: "7"}
	for _, c := range []struct {
		name  string
		plant func(path, target string) error
	}{
		{"link to a file", func(path, target string) error { return os.Symlink(target, path) }},
		{"link to nothing", func(path, target string) error { return os.Symlink(target+".none", path) }},
		{"file", func(path, _ string) error { return os.WriteFile(path, []byte("mine"), 0o600) }},
		{"folder", func(path, _ string) error { return os.Mkdir(path, 0o700) }},
	} {
		dir := t.TempDir()
		target := filepath.Join(t.TempDir(), "target")
		if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, spool.SocketName(p.pid, p.start))
		if err := c.plant(path, target); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		l, err := listen(dir, p)
		if err == nil {
			t.Errorf("%s: a socket was made", c.name)
		}
		l.remove()
		after, err := os.Lstat(path)
		if err != nil || !os.SameFile(before, after) {
			t.Errorf("%s: it was replaced: %v", c.name, err)
		}
		if b, err := os.ReadFile(target); string(b) != "mine" {
			t.Errorf("%s: the target has %q, %v", c.name, b, err)
		}
		if _, err := os.Lstat(target + ".none"); err == nil {
			t.Errorf("%s: the link was followed", c.name)
		}
	}
}

// A socket of the process itself, as one before an exec leaves it, is replaced;
// its name may be longer than an address; and folders of others get none.
func TestListen(t *testing.T) {
	p := process{pid: os.Getpid(), start: "7"}
	long := filepath.Join(t.TempDir(), strings.Repeat("d", 120))
	open := filepath.Join(t.TempDir(), "open")
	for _, dir := range []string{long, open} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	first, err := listen(long, p)
	if err != nil {
		t.Fatal(err)
	}
	second, err := listen(long, p)
	if err != nil {
		t.Fatal(err)
	}
	first.remove() // no longer its name
	if _, err := os.Lstat(second.path); err != nil {
		t.Error(err)
	}
	second.remove()
	if _, err := os.Lstat(second.path); err == nil {
		t.Error("still there")
	}
	_, _ = first.fd.Close(), second.fd.Close()
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := listen(open, p); err == nil || !strings.Contains(err.Error(), "others can write") {
		t.Errorf("open folder: %v", err)
	}
	old := unix.Umask(0o777)
	l, err := listen(long, p)
	unix.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(l.path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("umask 0777: %v %v", st.Mode(), err)
	}
	l.remove()
	_ = l.fd.Close()
}

// Another user gets nothing, whatever the mode of the socket.
func TestOtherUser(t *testing.T) {
	if path := os.Getenv("AGENT_OTHER_USER"); path != "" {
		c, err := net.Dial("unix", path)
		if err != nil {
			fmt.Println("refused")
			return
		}
		_, _ = c.Write([]byte("{\"command\":\"stop\"}\n"))
		b := make([]byte, 100)
		n, _ := c.Read(b)
		fmt.Printf("connected, %d bytes\n", n)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can be another user")
	}
	dir, err := os.MkdirTemp("", "agent-other-*")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &fakeBinding{}
	a, s, _ := start(t, b, map[string]string{EnvDir: dir})
	defer s.exit()
	path := socketPath(t, dir)
	self := filepath.Join(dir, "test")
	data, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(self, data, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		mode os.FileMode
		want string
	}{{0o600, "refused"}, {0o666, "connected, 0 bytes"}} {
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(self, "-test.run=^TestOtherUser$")
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "AGENT_OTHER_USER="+path)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("mode %o: %v %s", c.mode, err, out)
		}
	}
	if !a.armed.Load() {
		t.Error("another user stopped the recording")
	}
}

// Whatever is asked for, there is an answer that fits its bound.
func FuzzRequest(f *testing.F) {
	for _, s := range []string{`{"command":"status"}`, `{"command":"start"}`, `{"command":7}`, `[`, "", `{"command":"` + strings.Repeat("x", 5000)} {
		f.Add([]byte(s))
	}
	a := New(newFakeShim(), env(nil), "test", nil)
	f.Fuzz(func(t *testing.T, line []byte) {
		var q spool.Request
		_ = json.Unmarshal(line, &q)
		r := a.command(q)
		b, err := json.Marshal(r)
		if err != nil || len(b) >= spool.MaxReply || r.OK != (q.Command == spool.CommandStatus) || r.OK == (r.Code != "") {
			t.Errorf("%q: %s %v", line, b, err)
		}
	})
}
