package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/fakegpu"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// TestChainTakesRecords: where another client of libcupti has taken the records
// nobody may call the trace complete.
func TestChainTakesRecords(t *testing.T) {
	gpu := fakegpu.Get(t)
	env := []string{"CUDA_INJECTION64_PATH=" + gpu.DumpInject, "FAKEGPU_DUMP=" + filepath.Join(t.TempDir(), "dump")}
	s := recordQuirk(t, gpu, fakegpu.CUPTI13, env, []string{"--chain"}, gpu.Workload)
	tr := s.only(t)
	if s.status != 0 || tr.Events["kernel"] > 0 {
		t.Fatalf("status %d, events %v: the other client took nothing", s.status, tr.Events)
	}
	if tr.Verdict == timeline.Complete || !strings.Contains(strings.Join(tr.Completeness.Diagnoses, "\n"), "a chained library may have taken the records") {
		t.Errorf("verdict %s: %+v", tr.Verdict, tr.Completeness)
	}
}

// TestImportInterrupted: an interrupt leaves nothing half written.
func TestImportInterrupted(t *testing.T) {
	bin := testrig.Programs(t)
	// Whether the signal comes in time depends on the machine: if the import was
	// done before, there has to be more to write.
	for _, records := range []int{300_000, 1_200_000, 4_800_000} {
		dir := t.TempDir()
		in := filepath.Join(t.TempDir(), "77.1.spool")
		if err := overheads(in, records); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(filepath.Join(bin, "flagos-trace"), "import", "spool", "-o", "t.json.gz", in)
		cmd.Dir = dir
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() { _ = cmd.Wait(); close(exited) }()
		for alive := true; alive; {
			select {
			case <-exited:
				alive = false
			case <-time.After(time.Millisecond):
				// An empty one is made before anything is read, as a trial.
				found, _ := filepath.Glob(filepath.Join(dir, "*.tmp"))
				if len(found) == 0 {
					continue
				}
				if st, err := os.Stat(found[0]); err == nil && st.Size() > 0 {
					_ = cmd.Process.Signal(unix.SIGINT) // it may have ended
				}
			}
		}
		if cmd.ProcessState.ExitCode() == 0 {
			continue
		}
		if got := cmd.ProcessState.ExitCode(); got != 128+int(unix.SIGINT) || !strings.Contains(said.String(), "SIGINT") {
			t.Errorf("status %d; said:\n%s", got, said.String())
		}
		left, err := os.ReadDir(dir)
		if err != nil || len(left) > 0 {
			t.Errorf("left over: %v, %v", left, err)
		}
		return
	}
	t.Fatal("no import could be interrupted in time")
}

// overheads makes a spool of overhead records: kind, overhead kind, start at 24,
// end at 32, 56 bytes in API version 130001.
func overheads(path string, records int) error {
	w, err := spool.Create(path, spool.Header{
		Agent: "test", PID: 77, Process: "traced", StartNS: 1_700_000_000_000_000_000,
		Binding: tracer.BindingInfo{Tracer: "cupti", APIVersion: 130001}, Options: tracer.Options{API: tracer.APIMinimal},
	})
	if err != nil {
		return err
	}
	record := make([]byte, 56)
	binary.LittleEndian.PutUint32(record, 17)
	var data []byte
	for i := range records {
		at := uint64(1_700_000_000_500_000_000 + 1000*i)
		binary.LittleEndian.PutUint64(record[24:], at)
		binary.LittleEndian.PutUint64(record[32:], at+1000)
		if data = append(data, record...); len(data) >= 560_000 || i == records-1 {
			if err := w.Buffer(spool.Buffer{Sequence: uint64(i), Data: data}); err != nil {
				return fmt.Errorf("buffer: %w", err)
			}
			data = data[:0]
		}
	}
	return w.Close()
}
