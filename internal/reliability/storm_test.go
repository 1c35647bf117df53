package reliability

import (
	"flag"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

var storms = flag.Int("storms", 1, "how often to run TestForkStorm")

// TestForkStorm: a program forks in the middle of the launches of its threads.
// Children that end by _exit or by exit, or become a program that uses no device,
// leave nothing; those that use it have a trace of their own; nobody hangs.
func TestForkStorm(t *testing.T) {
	if testing.Short() {
		t.Skip("forks much")
	}
	const forks, threads = 200, 4
	const withDevice = forks / 4 // each fourth of the children, of 9 launches
	var slowest time.Duration
	for try := range *storms {
		file := filepath.Join(t.TempDir(), "counts")
		o := job{args: []string{"--kernels", "1000", "--threads", strconv.Itoa(threads), "--streams", strconv.Itoa(threads),
			"--graphs", "0", "--forks", strconv.Itoa(forks), "--counts", file}, flags: []string{"--keep-spool"}}.record(t)
		slowest = max(slowest, o.took)
		if o.status != 0 || o.summary == nil || len(o.summary.Traces) != 1+withDevice {
			t.Fatalf("try %d: status %d, %+v; said:\n%s", try, o.status, o.summary, o.stderr)
		}
		if s := o.summary; len(s.Idle) > 0 || len(s.LeftBehind) > 0 || len(s.Failures) > 0 {
			t.Errorf("try %d: idle %v, left behind %v, failures %v", try, s.Idle, s.LeftBehind, s.Failures)
		}
		// A forked child that recorded would have made a spool of its own, or written
		// into its parent's.
		spools, err := filepath.Glob(filepath.Join(o.dir, ".flagos-trace-*", "*.spool"))
		if err != nil || len(spools) != 1+withDevice {
			t.Errorf("try %d: %d spools, want %d: %v", try, len(spools), 1+withDevice, err)
		}
		for _, s := range o.summary.Traces {
			did := counts{Launches: 9, Memcpys: 2, Memsets: 1}
			if s.File == "trace.json.gz" {
				did = readCounts(t, file)
			}
			tallyOf(t, filepath.Join(o.dir, s.File)).wholly(t, did)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d times %d forks from %d threads; the longest recording took %.1f s", *storms, forks, threads, slowest.Seconds())
}
