package record

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Frames whose checksum holds and whose payload does not make sense are counted
// and stepped over, whatever their type.
func TestCollectDamagedPayloads(t *testing.T) {
	for typ := spool.TypeBuffer; typ <= spool.TypeLoss; typ++ {
		if typ == spool.TypeDiagnosis {
			continue // any text is one
		}
		path := makeSpool(t, testHeader(), func(w *spool.Writer) { healthy(w) })
		appendFrame(t, path, typ, []byte{'{', 1, 2})
		got := collect(t, path, CollectOptions{})
		rec := got.Completeness
		if rec.Verdict != timeline.Incomplete || rec.Spool.BadFrames != 1 || len(rec.Diagnoses) == 0 {
			t.Errorf("type %d: verdict %s, %+v, diagnoses %q", typ, rec.Verdict, rec.Spool, rec.Diagnoses)
		}
		if typ == spool.TypeBuffer && rec.Spool.LostBytes == 0 {
			t.Error("the bytes of a damaged buffer are not counted")
		}
	}
	// Of a later version there may be types that nobody here knows.
	path := makeSpool(t, testHeader(), func(w *spool.Writer) { healthy(w) })
	appendFrame(t, path, 200, []byte("?"))
	if rec := collect(t, path, CollectOptions{}).Completeness; rec.Verdict != timeline.Complete {
		t.Errorf("unknown type: %+v", rec)
	}
}

// Whatever is cut off or overwritten, the trace says so or nothing is missing.
func TestCollectDamagedFiles(t *testing.T) {
	path := makeSpool(t, testHeader(), func(w *spool.Writer) {
		healthy(w, spool.Buffer{Data: launches(10, uint64(spoolStart)+ms, 1, 1)})
	})
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	try := func(data []byte, what string, at int) {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := CollectSpool(path, CollectOptions{})
		if err != nil {
			if at > 600 { // behind the header
				t.Errorf("%s at %d: %v", what, at, err)
			}
			return
		}
		if rec := got.Completeness; rec.Verdict == timeline.Complete && rec.Written["kernel"] != 10 {
			t.Errorf("%s at %d: %d kernels, and complete", what, at, rec.Written["kernel"])
		}
	}
	for at := 0; at < len(whole); at += 41 {
		try(whole[:at], "cut", at)
		damaged := slices.Clone(whole)
		damaged[at] ^= 0x55
		try(damaged, "flipped", at)
	}
	if _, err := CollectSpool(filepath.Join(t.TempDir(), "none.spool"), CollectOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}

// A trace of an earlier run under the output's name is told of when only other
// processes were traced.
func TestStaleOutput(t *testing.T) {
	for _, c := range []struct {
		before  bool
		spools  []string
		want    bool
		written string
	}{
		{true, []string{"77", "78"}, true, "trace.77.json.gz"},
		{true, []string{"own", "78"}, false, "trace.json.gz"},
		{true, []string{"77"}, false, "trace.json.gz"},
		{false, []string{"77", "78"}, false, "trace.77.json.gz"},
	} {
		dir := t.TempDir()
		if c.before {
			if err := os.WriteFile(filepath.Join(dir, "trace.json.gz"), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		sum, said := recordSpools(t, dir, map[string]any{}, 0, c.spools...)
		if (sum.Stale != "") != c.want || strings.Contains(said, "is not of this run") != c.want {
			t.Errorf("%v: stale %q; said %s", c.spools, sum.Stale, said)
		}
		if _, err := os.Stat(filepath.Join(dir, c.written)); err != nil {
			t.Error(err)
		}
	}
}
