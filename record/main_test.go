package record

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// roleVar makes the test binary a recorder or a recorded program.
const roleVar = "RECORD_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "":
		status := m.Run()
		if made.Load() {
			if lib, err := stubAgent(); err == nil {
				_ = os.RemoveAll(filepath.Dir(lib)) // it is in the temporary folder
			}
		}
		os.Exit(status)
	case "recorder":
		beRecorder()
	case "signals":
		beSignalled()
	case "spools":
		beTraced()
	}
	fmt.Fprintln(os.Stderr, "no such role")
	os.Exit(99)
}

// beRecorder runs Run with the options in the first argument, as JSON, and the
// command in the others.
func beRecorder() {
	var o struct {
		Options
		Quiet    bool
		Terminal bool // show the progress on standard error
	}
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		panic(err)
	}
	o.Command = os.Args[2:]
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, roleVar+"=") {
			o.Env = append(o.Env, kv)
		}
	}
	if role := os.Getenv("CHILD_ROLE"); role != "" {
		o.Env = append(o.Env, roleVar+"="+role)
	}
	if !o.Quiet {
		o.Log = os.Stderr
	}
	if o.Terminal {
		o.Progress = os.Stderr
	}
	// Tests send signals until the recorder has ended: one that comes after Run
	// must not cut short what is printed.
	signal.Notify(make(chan os.Signal, 1), unix.SIGTERM)
	r, err := Run(o.Options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
	}
	os.Exit(r.ExitCode)
}

// beSignalled prints the signals it gets, one a line, until "quit" comes on
// stdin or SIGUSR2 has come.
func beSignalled() {
	got := make(chan os.Signal, 16)
	signal.Notify(got, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP, unix.SIGUSR1, unix.SIGUSR2)
	fmt.Println("ready")
	for {
		select {
		case s := <-got:
			fmt.Println(unix.SignalName(s.(unix.Signal)))
			if s == unix.SIGUSR2 {
				time.Sleep(50 * time.Millisecond) // for one that should not come
				os.Exit(len(got))
			}
		case <-time.After(20 * time.Second):
			os.Exit(98)
		}
	}
}

// beTraced leaves a spool for each process id in the arguments, as traced
// processes would; "own" is its own, "77x500" that of process 77 with 500
// records, "77r3" that of rank 3 of 8, "77r3x500" both; "77x0" did nothing.
// "hold:FILE" waits until that file is there, for 20 s at most.
func beTraced() {
	for _, arg := range os.Args[1:] {
		if name, ok := strings.CutPrefix(arg, "hold:"); ok {
			for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(5 * time.Millisecond) {
				if _, err := os.Stat(name); err == nil {
					break
				}
			}
			continue
		}
		number, times, many := strings.Cut(arg, "x")
		records := 1
		var err error
		if many {
			records, err = strconv.Atoi(times)
		}
		pid := os.Getpid()
		env := map[string]string{}
		if n, rank, ok := strings.Cut(number, "r"); ok {
			number = n
			env["RANK"], env["WORLD_SIZE"] = rank, "8"
		}
		if err == nil && number != "own" {
			pid, err = strconv.Atoi(number)
		}
		if err == nil {
			err = leaveSpoolOf(os.Getenv(envDir), pid, 1000, records, env)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(97)
		}
	}
	os.Exit(0)
}

// leaveSpool writes a spool with that many records, 1 µs each.
func leaveSpool(dir string, pid int, start uint64, records int) error {
	return leaveSpoolOf(dir, pid, start, records, nil)
}

// leaveSpoolOf does so for a process with these variables in its environment.
func leaveSpoolOf(dir string, pid int, start uint64, records int, env map[string]string) error {
	w, err := spool.Create(filepath.Join(dir, fmt.Sprintf("%d.%d%s", pid, start, spoolExt)), spool.Header{
		Agent: "test", PID: pid, Process: "traced", Host: "testhost", StartNS: 1_700_000_000_000_000_000,
		Binding: tracer.BindingInfo{Tracer: "cupti", Path: "libcupti.so", How: "test", APIVersion: 130001},
		Options: tracer.Options{API: tracer.APIMinimal}, Env: env,
	})
	if err != nil {
		return err
	}
	// Overhead records, so that the process did something. Their layout is that
	// of API version 130001: kind, overhead kind, start at 24, end at 32, 56 bytes.
	record := make([]byte, 56)
	binary.LittleEndian.PutUint32(record, 17)
	const perBuffer = 10_000
	for first := 0; first < records; first += perBuffer {
		var data []byte
		for i := first; i < min(first+perBuffer, records); i++ {
			at := uint64(1_700_000_000_500_000_000 + 1000*i)
			binary.LittleEndian.PutUint64(record[24:], at)
			binary.LittleEndian.PutUint64(record[32:], at+1000)
			data = append(data, record...)
		}
		if err := w.Buffer(spool.Buffer{Sequence: uint64(first / perBuffer), Data: data}); err != nil {
			return err
		}
	}
	if err := w.End(spool.End{Reason: "exit", NS: 1_700_000_001_000_000_000, Flushed: true}); err != nil {
		return err
	}
	return w.Close()
}

// made is whether stubAgent was called.
var made atomic.Bool

var stubAgent = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "record-test-*")
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{agentName: "int " + initFunc + "(void) { return 1; }\n", runtimeName: "int " + runtimeTable + ";\n"} {
		src := filepath.Join(dir, "stub.c")
		if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
			return "", err
		}
		out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", filepath.Join(dir, name), src).CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("gcc: %w\n%s", err, out)
		}
	}
	return filepath.Join(dir, agentName), nil
})

// agentStub returns a shared library that, with another beside it, passes for the agent and does nothing.
func agentStub(t *testing.T) string {
	t.Helper()
	made.Store(true)
	lib, err := stubAgent()
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

// recorder prepares a process that records a command into dir.
func recorder(t *testing.T, dir string, options map[string]any, command ...string) *exec.Cmd {
	t.Helper()
	if options == nil {
		options = map[string]any{}
	}
	if options["Output"] == nil {
		options["Output"] = filepath.Join(dir, "trace.json.gz")
	}
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], append([]string{string(text)}, command...)...)
	cmd.Dir = dir
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "FLAGOS_") && !strings.HasPrefix(kv, envInject+"=") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, roleVar+"=recorder", envAgent+"="+agentStub(t))
	return cmd
}

// status returns the exit status of a command that ran.
func status(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	ee, ok := err.(*exec.ExitError)
	if !ok {
		t.Fatal(err)
	}
	return ee.ExitCode()
}

// lines reads the lines of a running program.
type lines struct {
	t *testing.T
	c chan string
}

func readLines(t *testing.T, r io.Reader) *lines {
	l := &lines{t, make(chan string, 64)}
	go func() {
		defer close(l.c)
		for s := bufio.NewScanner(r); s.Scan(); {
			l.c <- strings.TrimRight(s.Text(), "\r")
		}
	}()
	return l
}

// want waits for a line; "" waits for the end.
func (l *lines) want(text string) {
	l.t.Helper()
	select {
	case got := <-l.c:
		if got != text {
			l.t.Fatalf("the program printed %q, want %q", got, text)
		}
	case <-time.After(20 * time.Second):
		l.t.Fatalf("the program did not print %q in time", text)
	}
}
