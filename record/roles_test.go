package record

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// proc is a process of a made-up recording.
type proc struct {
	pid, ppid  int
	start      uint64
	rank, loc  string // RANK and LOCAL_RANK
	records    int
	at         time.Duration // when it began to record; the files are written now
	told       string        // the rank in a slice of the host side
	wantRole   string
	wantOutput string
}

// TestRoles: who is a rank, and who only has its number.
func TestRoles(t *testing.T) {
	const launch = 5 // the launcher's process id
	for name, list := range map[string][]proc{
		"torchrun": {
			{pid: launch, ppid: 1, start: 1, records: 9, wantRole: "launcher", wantOutput: "t.json"},
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 11, ppid: launch, start: 2, rank: "1", loc: "1", records: 1, wantRole: "rank 1", wantOutput: "t_rank1.json"},
		},
		"a launcher that was started with a rank, as by a job's controller": {
			{pid: launch, ppid: 1, start: 1, rank: "0", records: 9, wantRole: "launcher", wantOutput: "t.json"},
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
		},
		"a worker that used the device more than its rank": {
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 12, ppid: 10, start: 3, rank: "0", loc: "0", records: 99, wantRole: "helper of rank 0", wantOutput: "t.12.json"},
			{pid: 13, ppid: 12, start: 4, rank: "0", loc: "0", records: 99, wantRole: "helper of rank 0", wantOutput: "t.13.json"},
		},
		"a worker begun long after its rank last used the device": {
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 12, ppid: 10, start: 3, rank: "0", loc: "0", records: 99, at: time.Hour, wantRole: "helper of rank 0", wantOutput: "t.12.json"},
		},
		"a worker of a server without a spool": {
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 11, ppid: launch, start: 2, rank: "1", loc: "1", records: 1, wantRole: "rank 1", wantOutput: "t_rank1.json"},
			{pid: 13, ppid: 12, start: 4, rank: "0", loc: "0", records: 99, wantRole: "helper of rank 0", wantOutput: "t.13.json"},
		},
		"a wrapper that does nothing itself": {
			{pid: 10, ppid: launch, start: 2, rank: "0", wantRole: "rank 0", wantOutput: "t_rank0.10.json"},
			{pid: 12, ppid: 10, start: 3, rank: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
		},
		"a rank begun anew": {
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 9, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 20, ppid: launch, start: 9, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.20.json"},
		},
		"two programs side by side": {
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 11, ppid: launch, start: 2, rank: "1", loc: "1", records: 1, wantRole: "rank 1", wantOutput: "t_rank1.json"},
			{pid: 20, ppid: 6, start: 3, rank: "0", loc: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.20.json"},
			{pid: 21, ppid: 6, start: 3, rank: "1", loc: "1", records: 1, wantRole: "rank 1", wantOutput: "t_rank1.21.json"},
		},
		"two programs one after the other": {
			{pid: 10, ppid: launch, start: 2, rank: "0", loc: "0", records: 9, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 20, ppid: 6, start: 3, rank: "0", loc: "0", records: 1, at: time.Hour, wantRole: "rank 0", wantOutput: "t_rank0.20.json"},
		},
		"a program that starts its ranks itself, on the node with the number 0": {
			{pid: 9, ppid: 1, start: 1, rank: "0", records: 1, wantRole: "launcher", wantOutput: "t.9.json"},
			{pid: 10, ppid: 9, start: 2, rank: "0", told: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 11, ppid: 9, start: 2, rank: "0", told: "1", records: 1, wantRole: "rank 1", wantOutput: "t_rank1.json"},
			{pid: 12, ppid: 11, start: 3, told: "2", records: 1, wantRole: "rank 2", wantOutput: "t_rank2.json"},
		},
		"rank 0 starts the others": {
			{pid: 9, ppid: 1, start: 1, told: "0", records: 1, wantRole: "rank 0", wantOutput: "t_rank0.json"},
			{pid: 10, ppid: 9, start: 2, told: "1", records: 1, wantRole: "rank 1", wantOutput: "t_rank1.json"},
		},
		"no ranks": {
			{pid: 10, ppid: 1, start: 2, records: 1, wantOutput: "t.10.json"},
			{pid: 11, ppid: 10, start: 3, records: 1, wantOutput: "t.11.json"},
		},
	} {
		dir := t.TempDir()
		for _, p := range list {
			env := map[string]string{}
			if p.rank != "" {
				env["RANK"] = p.rank
			}
			if p.loc != "" {
				env["LOCAL_RANK"] = p.loc
			}
			leave(t, dir, p, env)
			if p.told != "" {
				text := `{"schemaVersion": 1, "deviceProperties": [], "distributedInfo": {"backend": "nccl", "rank": ` + p.told + `, "world_size": 3}, "traceEvents": [`
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.%d.host-1.json", p.pid, p.start)), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		spools, err := findSpools(dir)
		if err != nil || len(spools) != len(list) {
			t.Fatal(spools, err)
		}
		// All at once, and each as one that comes after those before it.
		readRanks(spools)
		outs := outputs("t.json", spools, launch, map[string]bool{})
		late := make([]spoolFile, 0, len(spools))
		for i, s := range spools {
			one := []spoolFile{s}
			readRanks(one, late...)
			late = append(late, one...)
			for _, p := range list {
				if p.pid != s.pid {
					continue
				}
				if got := s.role(""); got != p.wantRole || outs[i] != p.wantOutput {
					t.Errorf("%s: process %d is %q with %s, want %q with %s", name, p.pid, got, outs[i], p.wantRole, p.wantOutput)
				}
				// Of a second program one rank alone could be anything.
				if got := one[0].role(""); p.wantRole != "launcher" && name != "two programs side by side" && got != p.wantRole {
					t.Errorf("%s: process %d, dealt with alone, is %q", name, p.pid, got)
				}
			}
		}
	}
}

// leave writes the spool of a process.
func leave(t *testing.T, dir string, p proc, env map[string]string) {
	t.Helper()
	w, err := spool.Create(filepath.Join(dir, fmt.Sprintf("%d.%d%s", p.pid, p.start, spoolExt)), spool.Header{
		Agent: "test", PID: p.pid, PPID: p.ppid, Process: "traced", Host: "testhost", StartNS: time.Now().Add(p.at - time.Minute).UnixNano(),
		Binding: tracer.BindingInfo{Tracer: "cupti", Path: "libcupti.so", How: "test", APIVersion: 130001}, Env: env,
	})
	if err == nil && p.records > 0 {
		err = w.Buffer(spool.Buffer{Data: make([]byte, 56*p.records)})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRankIn(t *testing.T) {
	for text, want := range map[string]int{
		`{"distributedInfo": {"backend": "nccl", "rank": 7, "pg_config": [{"ranks": [0, 7]}]}, "traceEvents": [`: 7,
		`{"distributedInfo": {"rank": 0}}`:                      0,
		`{"traceEvents": [{"distributedInfo": {"rank": 3}}]}`:   -1,
		`{"distributedInfo": {"rank": 3, "pg_config": [{"ran`:   -1,
		`{"distributedInfo": {"rank": -3}, "traceEvents": [`:    -1,
		`{"distributedInfo": {"backend": "nccl"}, "traceEven`:   -1,
		`{"distributedInfo": {"rank": "3"}, "traceEvents": []}`: -1,
	} {
		rank, ok := rankIn([]byte(text))
		if !ok {
			rank = -1
		}
		if rank != want {
			t.Errorf("%s: %d, want %d", text, rank, want)
		}
	}
}

// TestHelperTrace: a helper's trace does not say that it is of the rank.
func TestHelperTrace(t *testing.T) {
	dir := t.TempDir()
	leave(t, dir, proc{pid: 10, start: 2, records: 1}, map[string]string{"RANK": "3"})
	for _, helper := range []bool{false, true} {
		tr, err := CollectSpool(filepath.Join(dir, "10.2"+spoolExt), CollectOptions{NotRank: helper})
		if err != nil {
			t.Fatal(err)
		}
		if hasMetadata(tr, keyDistributed) == helper {
			t.Errorf("helper %v: %v", helper, tr.Metadata)
		}
	}
}

// TestEnds: the ends of processes that are not the recorder's children are seen,
// with their signal while nobody has waited for them.
func TestEnds(t *testing.T) {
	dir := t.TempDir()
	stop := watchEnds(dir)
	// The shell waits for none of them before the last, so that they stay to be looked at.
	child := "sleep 60 & p=$!; read a b c d e f g h i j k l m n o p1 q r s t u start rest < /proc/$p/stat; : > " + dir + "/$p.$start.spool; "
	cmd, out := command(t, child+"sleep 0.7; kill -9 $p; echo $p; sleep 0.7; exit 3")
	before := time.Now()
	if err := cmd.Run(); err == nil {
		t.Fatal("the shell did not exit with 3")
	}
	ends := stop()
	if len(ends) != 1 {
		t.Fatalf("ends: %v", ends)
	}
	for name, end := range ends {
		if pid, _, _ := strings.Cut(name, "."); pid != strings.TrimSpace(out.String()) {
			t.Errorf("process %s ended, not %s", pid, out)
		}
		if end.signal != "SIGKILL" && end.signal != "" || end.ns < before.UnixNano() || end.ns > time.Now().UnixNano() {
			t.Errorf("%+v", end)
		}
	}
}

// command prepares a shell and what it prints.
func command(t *testing.T, text string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	out := new(bytes.Buffer)
	cmd := exec.Command("/bin/sh", "-c", text)
	cmd.Stdout = out
	return cmd, out
}

// TestExitOf reads how a process ended that nobody has waited for.
func TestExitOf(t *testing.T) {
	for text, want := range map[string]string{"kill -9 $$": "SIGKILL 0", "kill -TERM $$": "SIGTERM 0", "exit 3": " 3", "exit 0": " 0"} {
		cmd, _ := command(t, text)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		pid := cmd.Process.Pid
		for begin := time.Now(); time.Since(begin) < 20*time.Second; time.Sleep(time.Millisecond) {
			if f, ok := statFields(pid); ok && string(f[0]) == "Z" {
				sig, code := exitOf(fmt.Sprintf("%d.%s", pid, f[19]))
				if got := fmt.Sprintf("%s %d", sig, code); got != want {
					t.Errorf("%s: %q, want %q", text, got, want)
				}
				break
			}
		}
		_ = cmd.Wait()
	}
	if sig, code := exitOf(fmt.Sprintf("%d.1", os.Getpid())); sig != "" || code != 0 {
		t.Error("another process with the same number was taken")
	}
}

// TestSpoolOfReplaced: the spool of a process that replaced itself is known as that
// process's, which runs or does not.
func TestSpoolOfReplaced(t *testing.T) {
	dir := t.TempDir()
	base := fmt.Sprintf("%d.%d", os.Getpid(), startTime(os.Getpid()))
	for _, name := range []string{base, base + ".1", base + ".2", "1.0"} {
		if err := os.WriteFile(filepath.Join(dir, name+spoolExt), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spools, err := findSpools(dir)
	var got []string
	for _, s := range spools {
		got = append(got, fmt.Sprint(strings.TrimPrefix(filepath.Base(s.path), base), " ", s.alive()))
	}
	if want := []string{"1.0.spool false", ".2.spool true", ".1.spool true", ".spool true"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q, %v", got, want, err)
	}
}
