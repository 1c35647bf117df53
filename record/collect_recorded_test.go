package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// TestRecordedSpools replays spools recorded on an H200 through the recorder's
// whole path, down to the written trace.
func TestRecordedSpools(t *testing.T) {
	for _, c := range []struct {
		name    string
		written map[string]uint64
		// graphLaunches is the number of arrows that start at one call and end at
		// several works.
		fanOuts int
	}{
		{"basic", map[string]uint64{"kernel": 60, "memcpy": 50, "memset": 10, "sync": 39}, 0},
		{"graph", map[string]uint64{"kernel": 44, "memcpy": 11, "sync": 7}, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "1.1.spool")
			data := readGzip(t, filepath.Join("..", "testdata", "spools", c.name+".spool.gz"))
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			tr, err := CollectSpool(path, CollectOptions{})
			if err != nil {
				t.Fatal(err)
			}
			r := tr.Completeness
			if r.Verdict != timeline.Complete || r.Layout != "verified" || r.Clock.Source != "realtime" || r.API != 130001 || len(r.Diagnoses) != 0 {
				t.Errorf("completeness %+v", r)
			}
			for kind, n := range c.written {
				if r.Written[kind] != n {
					t.Errorf("%d %s events, want %d", r.Written[kind], kind, n)
				}
			}
			if len(tr.Devices) != 1 || tr.Devices[0].Name != "NVIDIA H200" {
				t.Errorf("devices %+v", tr.Devices)
			}
			var out bytes.Buffer
			if err := chrome.Write(&out, tr, chrome.Options{TraceName: c.name}); err != nil {
				t.Fatal(err)
			}
			got := parseTrace(t, out.Bytes())
			if id, host := string(got.Raw["trace_id"]), string(got.Raw["host_name"]); len(id) != 34 || host != `"vm"` {
				t.Errorf("trace id %s, host %s", id, host)
			}
			checkNesting(t, got)
			checkEnclosing(t, got)
			checkArgs(t, got)
			ends := map[any]int{}
			for _, e := range got.TraceEvents {
				if e.Ph == "f" {
					ends[e.ID]++
				}
			}
			fanOuts := 0
			for _, n := range ends {
				if n > 1 {
					fanOuts++
				}
			}
			if fanOuts != c.fanOuts {
				t.Errorf("%d arrows fan out, want %d", fanOuts, c.fanOuts)
			}
		})
	}
}
