package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
)

func TestExitStatus(t *testing.T) {
	dir := t.TempDir()
	script := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name    string
		command []string
		want    int
	}{
		{"success", []string{"true"}, 0},
		{"failure", []string{"sh", "-c", "exit 3"}, 3},
		{"high status", []string{"sh", "-c", "exit 255"}, 255},
		{"terminated", []string{"sh", "-c", "kill -TERM $$"}, 128 + 15},
		{"killed", []string{"sh", "-c", "kill -KILL $$"}, 128 + 9},
		{"not in PATH", []string{"no-such-program-anywhere"}, ExitNotFound},
		{"no such file", []string{"./nowhere/prog"}, ExitNotFound},
		{"empty name", []string{""}, ExitNotFound},
		{"a folder", []string{"/"}, ExitNotRunnable},
		{"not executable", []string{script("plain", "x", 0o644)}, ExitNotRunnable},
		{"missing interpreter", []string{script("lost", "#!/no/such/interpreter\n", 0o755)}, ExitNotFound},
		{"script without #!", []string{script("bare", "exit 7\n", 0o755)}, 7},
		{"no command", nil, ExitFailure},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := t.TempDir()
			cmd := recorder(t, out, nil, c.command...)
			text, err := cmd.CombinedOutput()
			if got := status(t, err); got != c.want {
				t.Errorf("status %d, want %d\n%s", got, c.want, text)
			}
			// Whatever happened, no spool folder is left.
			for _, name := range names(t, out) {
				if name != "trace.json.gz" {
					t.Errorf("%s is left over", name)
				}
			}
		})
	}
}

// names lists a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// TestStreams: the program's input and output are the same bytes as without a
// recorder.
func TestStreams(t *testing.T) {
	in := bytes.Repeat([]byte("line\x00\xff\r\n"), 20000)
	cmd := recorder(t, t.TempDir(), map[string]any{"Quiet": true}, "sh", "-c", "cat; printf 'err\\0\\377' >&2; exit 5")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &errs
	if got := status(t, cmd.Run()); got != 5 {
		t.Errorf("status %d", got)
	}
	if !bytes.Equal(out.Bytes(), in) {
		t.Errorf("stdout: %d bytes, want the %d of stdin", out.Len(), len(in))
	}
	if errs.String() != "err\x00\xff" {
		t.Errorf("stderr: %q", errs.String())
	}
}

// TestSpeaksOnStderr: what the recorder says leaves stdout alone.
func TestSpeaksOnStderr(t *testing.T) {
	dir := t.TempDir()
	cmd := recorder(t, dir, nil, "echo", "hello")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatal(err, errs.String())
	}
	if out.String() != "hello\n" {
		t.Errorf("stdout: %q", out.String())
	}
	for _, want := range []string{"echo exited with 0", "trace.json.gz", "so nothing was recorded", "another user"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr lacks %q:\n%s", want, errs.String())
		}
	}
}

// TestEnvironment shows what the program sees.
func TestEnvironment(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name    string
		set     []string
		options map[string]any
		want    []string // lines of env
		lack    []string // keys
	}{
		{"defaults", nil, nil, []string{"FLAGOS_TRACE_API=kineto", "FLAGOS_TRACE_SYNC=0", envInject + "=" + agentStub(t)}, []string{envChain}},
		{"levels", nil, map[string]any{"API": "all", "Sync": true}, []string{"FLAGOS_TRACE_API=all", "FLAGOS_TRACE_SYNC=1"}, nil},
		{"user's own", []string{"FLAGOS_CUPTI_LIBRARY=/x", "FLAGOS_TRACE_EXIT_TIMEOUT_MS=7"}, nil,
			[]string{"FLAGOS_CUPTI_LIBRARY=/x", "FLAGOS_TRACE_EXIT_TIMEOUT_MS=7"}, nil},
		{"none is free", []string{envInject + "=none"}, nil, []string{envInject + "=" + agentStub(t)}, []string{envChain}},
		{"empty is free", []string{envInject + "="}, nil, []string{envInject + "=" + agentStub(t)}, []string{envChain}},
		{"stale chain", []string{envChain + "=/old.so"}, nil, nil, []string{envChain}},
		{"chain", []string{envInject + "=" + agentStub(t)}, map[string]any{"Chain": true},
			[]string{envInject + "=" + agentStub(t), envChain + "=" + agentStub(t)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := recorder(t, dir, c.options, "env")
			cmd.Env = append(cmd.Env, c.set...)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			env := strings.Split(string(out), "\n")
			for _, w := range c.want {
				if !slices.Contains(env, w) {
					t.Errorf("the environment lacks %s", w)
				}
			}
			for _, key := range c.lack {
				if v := lookup(env, key); v != "" {
					t.Errorf("%s=%s", key, v)
				}
			}
			for i, kv := range env {
				key, _, _ := strings.Cut(kv, "=")
				for _, other := range env[:i] {
					if key != "" && strings.HasPrefix(other, key+"=") {
						t.Errorf("%s is set twice", key)
					}
				}
			}
			if d := lookup(env, envDir); !filepath.IsAbs(d) || filepath.Dir(d) != dir {
				t.Errorf("%s=%s is not a folder in %s", envDir, d, dir)
			}
		})
	}
}

// TestRefusals: what cannot end well is refused before the program starts.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	closed := filepath.Join(dir, "closed")
	notAgent := filepath.Join(dir, "not-an-agent.so")
	existing := filepath.Join(dir, "existing.json.gz")
	for _, f := range []string{notAgent, existing} {
		if err := os.WriteFile(f, []byte("old"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		set     []string
		options map[string]any
		want    []string
	}{
		{"held", []string{envInject + "=/their.so"}, nil, []string{"/their.so", "--chain", "Unset it"}},
		{"nested", []string{envInject + "=/x/" + agentName, envDir + "=/y"}, map[string]any{"Chain": true}, []string{"under flagos-trace record already"}},
		{"chain to nothing", []string{envInject + "=/no/such.so"}, map[string]any{"Chain": true}, []string{envInject, "/no/such.so"}},
		{"missing agent", []string{envAgent + "=/no/such.so"}, nil, []string{envAgent, "/no/such.so", "no such file"}},
		{"wrong agent", []string{envAgent + "=" + notAgent}, nil, []string{envAgent, notAgent}},
		{"agent nowhere", []string{envAgent + "="}, nil, []string{"looked for", filepath.Join("lib", agentName), envAgent}},
		{"no folder", nil, map[string]any{"Output": filepath.Join(dir, "nowhere", "t.json")}, []string{"nowhere", "create the folder"}},
		{"output is a folder", nil, map[string]any{"Output": closed}, []string{closed, "is a folder"}},
		{"existing", nil, map[string]any{"Output": existing, "NoClobber": true}, []string{existing, "exists already"}},
		{"spool folder", nil, map[string]any{"SpoolDir": filepath.Join(existing, "below")}, []string{"spool folder", "not a directory"}},
		{"closed folder", nil, map[string]any{"Output": filepath.Join(closed, "t.json")}, []string{closed, "permission denied"}},
		{"summary's folder", nil, map[string]any{"SummaryFile": filepath.Join(dir, "nowhere", "s.json")}, []string{"nowhere"}},
		{"long name", nil, map[string]any{"Output": filepath.Join(dir, strings.Repeat("n", 245))}, []string{"too long"}},
		{"API level", nil, map[string]any{"API": "some"}, []string{`"some"`, "minimal"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "closed folder" && os.Geteuid() == 0 {
				t.Skip("root may write anywhere")
			}
			cmd := recorder(t, dir, c.options, "sh", "-c", "echo started")
			cmd.Env = append(cmd.Env, c.set...)
			// Duplicates are dropped in favour of the last by os/exec.
			text, err := cmd.CombinedOutput()
			if got := status(t, err); got != ExitFailure {
				t.Errorf("status %d, want %d", got, ExitFailure)
			}
			for _, w := range c.want {
				if !strings.Contains(string(text), w) {
					t.Errorf("the message lacks %q:\n%s", w, text)
				}
			}
			if strings.Contains(string(text), "started") {
				t.Error("the program was started")
			}
		})
	}
	if data, _ := os.ReadFile(existing); string(data) != "old" {
		t.Error("the existing trace was touched")
	}
}

// record runs the spools role with pids and returns the summary and what was said.
func recordSpools(t *testing.T, dir string, options map[string]any, wantStatus int, pids ...string) (Summary, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "summary.json")
	options["SummaryFile"] = file
	cmd := recorder(t, dir, options, append([]string{os.Args[0]}, pids...)...)
	cmd.Env = append(cmd.Env, "CHILD_ROLE=spools")
	text, err := cmd.CombinedOutput()
	if got := status(t, err); got != wantStatus {
		t.Fatalf("status %d, want %d\n%s", got, wantStatus, text)
	}
	var s Summary
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, string(text)
}

func TestOneSpool(t *testing.T) {
	dir := t.TempDir()
	s, said := recordSpools(t, dir, map[string]any{}, 0, "own")
	if got := names(t, dir); !slices.Equal(got, []string{"trace.json.gz"}) {
		t.Errorf("files: %v", got)
	}
	if len(s.Traces) != 1 || s.Traces[0].Process != "traced" || s.Traces[0].WindowNS != 1e9 {
		t.Fatalf("summary: %+v", s.Traces)
	}
	c := s.Traces[0].Completeness
	if c == nil || c.Ended != "exit" || c.ExitCode == nil || *c.ExitCode != 0 || c.API != 130001 {
		t.Errorf("completeness: %+v", c)
	}
	if !strings.Contains(said, "nothing is known to be missing") {
		t.Errorf("said:\n%s", said)
	}
}

func TestSeveralSpools(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "trace.4.json.gz")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, _ := recordSpools(t, dir, map[string]any{}, 0, "3", "4", "own")
	if len(s.Traces) != 3 {
		t.Fatalf("%d traces", len(s.Traces))
	}
	for _, tr := range s.Traces {
		if tr.Bytes == 0 {
			t.Errorf("%s is empty", tr.File)
		}
		// The recorder saw the end of its child alone.
		if tr.PID < 10 && tr.Completeness.ExitCode != nil {
			t.Errorf("process %d has an exit code that nobody saw", tr.PID)
		}
	}
	got := names(t, dir)
	if !slices.Equal(got, []string{"trace.3.json.gz", "trace.4.json.gz", "trace.json.gz"}) {
		t.Errorf("files: %v", got)
	}
	if data, _ := os.ReadFile(old); string(data) == "old" {
		t.Error("the earlier trace was not replaced")
	}
}

// TestNoClobberLate: a name that is known only at the end is not overwritten
// either, and nothing recorded is lost.
func TestNoClobberLate(t *testing.T) {
	dir := t.TempDir()
	old := filepath.Join(dir, "trace.4.json.gz")
	if err := os.WriteFile(old, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	s, said := recordSpools(t, dir, map[string]any{"NoClobber": true}, ExitFailure, "3", "4")
	if data, _ := os.ReadFile(old); string(data) != "old" {
		t.Error("the earlier trace was replaced")
	}
	if len(s.Traces) != 1 || len(s.Failures) != 1 {
		t.Errorf("summary: %+v", s)
	}
	kept, err := filepath.Glob(filepath.Join(dir, ".flagos-trace-*", "4.1000.spool"))
	if err != nil || len(kept) != 1 || !strings.Contains(said, filepath.Dir(kept[0])) {
		t.Fatalf("kept %v; said:\n%s", kept, said)
	}

	again := Options{Output: filepath.Join(dir, "again.json")}
	r, err := FromSpool(filepath.Dir(kept[0]), again)
	if err != nil || r.ExitCode != 0 || len(r.Summary.Traces) != 2 {
		t.Errorf("from the folder: %+v, %v", r, err)
	}
	r, err = FromSpool(kept[0], again)
	if err != nil || len(r.Summary.Traces) != 1 || r.Summary.Traces[0].PID != 4 {
		t.Errorf("from the file: %+v, %v", r, err)
	}
	if _, err := FromSpool(dir, again); err == nil {
		t.Error("a folder without spools is taken")
	}
}

// TestBrokenSpool: what cannot be read costs neither the program's status nor the
// traces of others; it is told of, and kept where there is something in it.
func TestBrokenSpool(t *testing.T) {
	for _, c := range []struct {
		name, make string
		kept       bool
		want       []string
	}{
		{"foreign", "echo a text of some length, and no spool > $D/17.1.spool", true, []string{"INCOMPLETE", "process 17 left no readable spool", "not a spool file"}},
		{"empty", ": > $D/17.1.spool", false, []string{"unknown whether", "process 17 ended before it had recorded anything"}},
		{"cut in its preface", "printf 'FL' > $D/17.1.spool", true, []string{"INCOMPLETE", "process 17 left no readable spool", "2 B at the end"}},
	} {
		for _, status9 := range []int{0, 9} {
			dir := t.TempDir()
			cmd := recorder(t, dir, nil, "sh", "-c", fmt.Sprintf("D=$FLAGOS_TRACE_DIR; %s; exit %d", c.make, status9))
			text, err := cmd.CombinedOutput()
			if got := status(t, err); got != status9 {
				t.Errorf("%s: status %d, want %d\n%s", c.name, got, status9, text)
			}
			for _, w := range c.want {
				if !strings.Contains(string(text), w) {
					t.Errorf("%s: said nothing of %q:\n%s", c.name, w, text)
				}
			}
			kept, _ := filepath.Glob(filepath.Join(dir, ".flagos-trace-*", "17.1.spool"))
			if (len(kept) == 1) != c.kept || c.kept && !strings.Contains(string(text), filepath.Dir(kept[0])) {
				t.Errorf("%s: kept %v; said:\n%s", c.name, kept, text)
			}
			if left := names(t, dir); !c.kept && !slices.Equal(left, []string{"trace.json.gz"}) {
				t.Errorf("%s: left over: %v", c.name, left)
			}
			if !c.kept {
				continue
			}
			// Asked for by name it has to be a spool.
			if _, err := FromSpool(kept[0], Options{Output: filepath.Join(dir, "again.json")}); err == nil {
				t.Errorf("%s: import takes it", c.name)
			}
		}
	}
}

func TestKeepSpool(t *testing.T) {
	for _, c := range []struct {
		name    string
		options map[string]any
		set     string
	}{
		{"asked for", map[string]any{"KeepSpool": true}, ""},
		{"debug", nil, envDebug + "=debug"},
	} {
		dir, spools := t.TempDir(), t.TempDir()
		if c.options == nil {
			c.options = map[string]any{}
		}
		c.options["SpoolDir"] = spools
		cmd := recorder(t, dir, c.options, os.Args[0], "own")
		cmd.Env = append(cmd.Env, "CHILD_ROLE=spools", c.set)
		text, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		kept, _ := filepath.Glob(filepath.Join(spools, "flagos-trace-*", "*.spool"))
		if len(kept) != 1 || !strings.Contains(string(text), filepath.Dir(kept[0])) {
			t.Errorf("%s: kept %v; said:\n%s", c.name, kept, text)
		}
		if st, err := os.Stat(filepath.Dir(kept[0])); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: the spool folder is not private: %v %v", c.name, st.Mode(), err)
		}
	}
}

// TestTorn: what is damaged is told of.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	w, err := spool.Create(filepath.Join(dir, "5.1.spool"), spool.Header{PID: 5, Process: "p", Options: spool.Header{}.Options})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	r, err := FromSpool(dir, Options{Output: filepath.Join(dir, "t.json"), Log: &said})
	if err != nil {
		t.Fatal(err)
	}
	if c := r.Summary.Traces[0].Completeness; c.Ended != "cut" {
		t.Errorf("ended: %q", c.Ended)
	}
	if !strings.Contains(said.String(), "may be missing") || strings.Contains(said.String(), "nothing is known to be missing") {
		t.Errorf("said:\n%s", said.String())
	}
}
