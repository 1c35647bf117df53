package record

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRankOf(t *testing.T) {
	for _, c := range []struct{ rank, world, want string }{
		{"0", "8", `{"rank": 0, "world_size": 8}`},
		{"7", "8", `{"rank": 7, "world_size": 8}`},
		{"3", "", `{"rank": 3}`},
		{"3", "none", `{"rank": 3}`},
		{"8", "8", `{"rank": 8}`},
		{"", "8", ""},
		{"-1", "8", ""},
		{"1e3", "8", ""},
		{"99999999", "", ""},
	} {
		env := map[string]string{"RANK": c.rank, "WORLD_SIZE": c.world}
		if got := string(distributedInfo(rankOf(env))); got != c.want {
			t.Errorf("%v: %s, want %s", env, got, c.want)
		}
	}
}

// unpack reads a trace.
func unpack(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestRanks: each rank's trace has its number in the name, the one that did more
// of two processes without more; the launcher, which did nothing, has none.
func TestRanks(t *testing.T) {
	dir := t.TempDir()
	s, said := recordSpools(t, dir, map[string]any{}, 0, "ownx0", "31r0", "32r1x500", "33r1x2", "34r1x600", "35x3")
	want := []string{"trace.35.json.gz", "trace_rank0.json.gz", "trace_rank1.32.json.gz", "trace_rank1.33.json.gz", "trace_rank1.json.gz"}
	if got := names(t, dir); !slices.Equal(got, want) {
		t.Errorf("files: %v, want %v", got, want)
	}
	if len(s.Idle) != 1 {
		t.Errorf("idle: %+v", s.Idle)
	}
	for _, tr := range s.Traces {
		text := unpack(t, tr.File)
		switch base := filepath.Base(tr.File); {
		case base == "trace_rank1.json.gz":
			if tr.PID != 34 || tr.Rank == nil || *tr.Rank != 1 || !strings.Contains(text, `"distributedInfo": {"rank": 1, "world_size": 8}`) {
				t.Errorf("%s: %+v", base, tr)
			}
		case tr.PID == 35:
			if tr.Rank != nil || strings.Contains(text, "distributedInfo") {
				t.Errorf("%s has a rank", base)
			}
		}
	}
	if !strings.Contains(said, "trace_rank0.json.gz") || !strings.Contains(said, "rank 0, process 31") {
		t.Errorf("said:\n%s", said)
	}
}

// TestRankLate: a process of a rank that comes later does not take the name of
// one that was written.
func TestRankLate(t *testing.T) {
	used := map[string]bool{}
	rank := func(pid int) []spoolFile { return []spoolFile{{pid: pid, start: 1, rank: 2, hasRank: true}} }
	got := slices.Concat(outputs("a.json", rank(1), 7, used), outputs("a.json", rank(5), 7, used), outputs("a.json", rank(5), 7, used))
	if want := []string{"a_rank2.json", "a_rank2.5.json", "a_rank2.5.1.json"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestMerge: one file holds the traces of all processes, and no other is written.
func TestMerge(t *testing.T) {
	dir := t.TempDir()
	s, said := recordSpools(t, dir, map[string]any{"Merge": true}, 0, "ownx0", "31r1x20", "32r0x500", "35x3")
	if got := names(t, dir); !slices.Equal(got, []string{"trace.json.gz"}) {
		t.Errorf("files: %v", got)
	}
	if s.Merged == nil || len(s.Traces) != 3 || len(s.Idle) != 1 || s.NotMerged != "" || s.Traces[0].PID != 32 {
		t.Fatalf("summary: %+v", s)
	}
	text := unpack(t, s.Merged.File)
	for _, want := range []string{"rank 0", "rank 1", "testhost pid 35", "testhost pid 32"} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace lacks %q", want)
		}
	}
	if n := strings.Count(text, `"cat": "overhead"`); n != 523 {
		t.Errorf("%d events", n)
	}
	for _, want := range []string{"3 processes", "rank 0, process 32 traced"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q was not said:\n%s", want, said)
		}
	}
}

// TestMergeOfOne: of a single process, and of none that did anything, there is
// the trace as without merging.
func TestMergeOfOne(t *testing.T) {
	for _, pids := range [][]string{{"own"}, {"31r2"}, {"ownx0"}, {"ownx0", "31x0"}} {
		dir := t.TempDir()
		s, _ := recordSpools(t, dir, map[string]any{"Merge": true}, 0, pids...)
		if got := names(t, dir); !slices.Equal(got, []string{"trace.json.gz"}) || len(s.Traces) != 1 || s.Merged != nil || len(s.Idle) != len(pids)-1 {
			t.Errorf("%v: files %v, %+v", pids, got, s)
		}
	}
}

func TestTooLarge(t *testing.T) {
	name := filepath.Join(t.TempDir(), "1.1.spool")
	if err := os.WriteFile(name, make([]byte, 1000), 0o644); err != nil {
		t.Fatal(err)
	}
	list := []spoolFile{{path: name}}
	if why := tooLarge(list, 1000*memoryPerByte); why != "" {
		t.Error(why)
	}
	if why := tooLarge(list, 1000*memoryPerByte-1); !strings.Contains(why, "not merged") {
		t.Errorf("%q", why)
	}
	if n := availableMemory(); n <= 0 {
		t.Errorf("%d bytes of memory are free", n)
	}
}
