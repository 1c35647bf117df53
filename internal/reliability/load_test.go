package reliability

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

var launchesEach = flag.Int("launches", 50_000, "launches of each of the eight processes of TestLoad")

// TestLoad: eight processes that launch as fast as they can, from four threads
// each, recorded at once, and nothing is lost.
func TestLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("launches much")
	}
	const processes, threads = 8, 4
	// Each process counts into a file with its id in the name.
	const script = `for i in 1 2 3 4 5 6 7 8; do sh -c 'exec "$0" "$@" --counts counts.$$' "$@" & done; wait`
	r := job{
		env:     []string{"FAKEGPU_KERNEL_NS=500", "FAKEGPU_TIME_PERCENT=0", "FAKEGPU_LAUNCH_LATENCY_NS=0"},
		command: []string{"sh", "-c", script, "sh"},
		args: []string{workload(t), "--kernels", strconv.Itoa(*launchesEach / threads), "--threads", strconv.Itoa(threads),
			"--streams", strconv.Itoa(threads), "--step-kernels", "100", "--graphs", "0"},
		limit: time.Minute + time.Duration(*launchesEach)*time.Millisecond/2,
	}.start(t)
	peak := watchPeak(r.pid())
	o := r.wait()
	if o.status != 0 || o.summary == nil || len(o.summary.Traces) != processes || len(o.summary.Failures) > 0 {
		t.Fatalf("status %d, %+v; said:\n%s", o.status, o.summary, o.stderr)
	}
	done := time.Now()
	var bytes, records uint64
	for _, s := range o.summary.Traces {
		name := filepath.Join(o.dir, s.File)
		did := readCounts(t, filepath.Join(o.dir, fmt.Sprintf("counts.%d", s.PID)))
		if did.Launches != *launchesEach {
			t.Fatalf("process %d launched %d kernels, not %d", s.PID, did.Launches, *launchesEach)
		}
		tallyOf(t, name).wholly(t, did)
		if s.Cost != nil {
			bytes, records = bytes+uint64(s.Cost.SpoolBytes), records+s.Cost.Records
		}
		if err := os.Remove(name); err != nil { // they need not all be kept
			t.Error(err)
		}
	}
	// One trace after the other: what is needed for one does not stay for the next.
	resident := <-peak
	if bound := int64(64<<20 + 600**launchesEach); resident > bound {
		t.Errorf("flagos-trace had %d MB resident, more than %d MB", resident>>20, bound>>20)
	}
	t.Logf("%d processes, %d launches each from %d threads: %d records, %d MB of spool; the program ran %.1f s, flagos-trace %.1f s with at most %d MB resident, checking took %.1f s",
		processes, *launchesEach, threads, records, bytes>>20, float64(o.summary.WallNS)/1e9, o.took.Seconds(), resident>>20, time.Since(done).Seconds())
}

// tally counts what is in a trace of any size: sets of correlation ids instead of
// the events. It implements chrome.Handler.
type tally struct {
	name               string
	kernels, work      int   // work is that of the device: kernels, copies and fills
	kernel, call       idSet // correlation ids of kernels and of API calls
	worked, begin, end idSet // of the device's work, and of both ends of arrows
	external           idSet // external ids of kernels
	twice              []string
	record             *timeline.Completeness
}

func tallyOf(t testing.TB, name string) *tally {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := &tally{name: filepath.Base(name)}
	if err := chrome.Scan(f, c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if c.record == nil {
		t.Fatalf("%s has no completeness record", name)
	}
	return c
}

func (c *tally) Member(key string, v chrome.Value) (err error) {
	if key == chrome.KeyCompleteness {
		c.record = new(timeline.Completeness)
		err = json.Unmarshal(v, c.record)
	}
	return err
}

func (c *tally) Event(e *chrome.Event) error {
	switch {
	case e.Phase.Is("X"):
		kernel := e.Category.Is("kernel")
		device := kernel || e.Category.Is("gpu_memcpy") || e.Category.Is("gpu_memset")
		if !device && !e.Category.Is("cuda_runtime") && !e.Category.Is("cuda_driver") {
			return nil
		}
		id, ok := chrome.Lookup(e.Args, "correlation").Int()
		if !ok {
			return fmt.Errorf("%s without a correlation id", e.Category)
		}
		if !device {
			c.add(&c.call, id, "API call")
			return nil
		}
		c.work++
		c.add(&c.worked, id, "device work")
		if kernel {
			c.kernels++
			c.add(&c.kernel, id, "kernel")
			if x, ok := chrome.Lookup(e.Args, "External id").Int(); ok {
				c.add(&c.external, x, "external id")
			}
		}
	case e.Phase.Is("s") || e.Phase.Is("f"):
		id, ok := e.ID.Int()
		if !ok || !e.Category.Is("ac2g") {
			return nil
		}
		if e.Phase.Is("s") {
			c.add(&c.begin, id, "begin of an arrow")
		} else {
			c.add(&c.end, id, "end of an arrow")
		}
	}
	return nil
}

func (c *tally) add(s *idSet, id int64, what string) {
	if !s.add(id) && len(c.twice) < 10 {
		c.twice = append(c.twice, fmt.Sprintf("%s %d", what, id))
	}
}

// wholly holds the trace against what the program says it did: all of it is
// there, in pairs, and said to be.
func (c *tally) wholly(t testing.TB, did counts) {
	t.Helper()
	device := did.kernels() + did.Memcpys + did.Memsets
	if c.kernels != did.kernels() || c.work != device || len(c.twice) > 0 {
		t.Errorf("%s: %d kernels and %d of all device work, want %d and %d; twice: %v", c.name, c.kernels, c.work, did.kernels(), device, c.twice)
	}
	if a, b, e := c.call.lacks(&c.worked), c.begin.lacks(&c.worked), c.end.lacks(&c.worked); a+b+e+c.begin.lacks(&c.end)+c.end.lacks(&c.begin) > 0 {
		t.Errorf("%s: of %d pieces of device work %d have no API call, %d no begin of an arrow, %d no end of one; %d and %d ends of arrows",
			c.name, c.work, a, b, e, c.begin.n, c.end.n)
	}
	if did.GraphKernels == 0 && c.external.n != did.Launches {
		t.Errorf("%s: %d kernels have an external id of their own, want %d", c.name, c.external.n, did.Launches)
	}
	c.complete(t)
}

// complete: nothing is known to be missing, by any count.
func (c *tally) complete(t testing.TB) {
	t.Helper()
	r := c.record
	if r.Verdict != timeline.Complete || len(r.Missing) > 0 || r.Buffers == nil || r.Buffers.Discarded != 0 || r.Buffers.BytesDiscarded != 0 ||
		r.Buffers.WriteErrors != 0 || r.Buffers.BytesUnwritten != 0 || r.Buffers.RecordsDropped == nil || *r.Buffers.RecordsDropped != 0 {
		text, _ := json.Marshal(r)
		t.Errorf("%s: not complete: %s", c.name, text)
	}
}

// idSet is a set of small numbers.
type idSet struct {
	words []uint64
	n     int
}

// add reports whether the number is new.
func (s *idSet) add(id int64) bool {
	if id < 0 || id >= 1<<32 {
		return false
	}
	for int(id>>6) >= len(s.words) {
		s.words = append(s.words, make([]uint64, max(1024, len(s.words)))...)
	}
	w, bit := &s.words[id>>6], uint64(1)<<(id&63)
	if *w&bit != 0 {
		return false
	}
	*w |= bit
	s.n++
	return true
}

// lacks counts the numbers of the other set that are missing from this one.
func (s *idSet) lacks(other *idSet) (n int) {
	for i, w := range other.words {
		if i < len(s.words) {
			w &^= s.words[i]
		}
		n += bits.OnesCount64(w)
	}
	return n
}

// A tally that could not tell would show nothing.
func TestTallyTells(t *testing.T) {
	const (
		launch = `{"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernel", "pid": 1, "tid": 1, "ts": 1.000, "dur": 1.000, "args": {"External id": 4, "correlation": 7}}`
		kernel = `{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 3.000, "dur": 1.000, "args": {"External id": 4, "correlation": 7}}`
		begin  = `{"ph": "s", "id": 7, "pid": 1, "tid": 1, "ts": 1.000, "cat": "ac2g", "name": "ac2g"}`
		end    = `{"ph": "f", "id": 7, "pid": 0, "tid": 7, "ts": 3.000, "cat": "ac2g", "name": "ac2g", "bp": "e"}`
		good   = `{"verdict": "complete", "buffers": {"discarded": 0, "records_dropped_by_library": 0}}`
	)
	for _, c := range []struct {
		what   string
		record string
		events []string
		fails  bool
	}{
		{"whole", good, []string{launch, kernel, begin, end}, false},
		{"no kernel", good, []string{launch}, true},
		{"a kernel twice", good, []string{launch, kernel, kernel, begin, end}, true},
		{"no call", good, []string{kernel, begin, end}, true},
		{"another call", good, []string{strings.Replace(launch, ": 7}", ": 8}", 1), kernel, begin, end}, true},
		{"no arrow", good, []string{launch, kernel}, true},
		{"half an arrow", good, []string{launch, kernel, begin}, true},
		{"no external id", good, []string{launch, strings.Replace(kernel, `"External id": 4, `, "", 1), begin, end}, true},
		{"lost buffers", strings.Replace(good, `"discarded": 0`, `"discarded": 1`, 1), []string{launch, kernel, begin, end}, true},
		{"lost records", strings.Replace(good, `library": 0`, `library": 2`, 1), []string{launch, kernel, begin, end}, true},
		{"partial", strings.Replace(good, "complete", "partial", 1), []string{launch, kernel, begin, end}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "trace.json")
			text := `{"flagosTrace": ` + c.record + `, "traceEvents": [` + strings.Join(c.events, ",\n") + `]}`
			if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			j := &judge{TB: t}
			tallyOf(t, name).wholly(j, counts{Launches: 1})
			if (j.errors > 0) != c.fails {
				t.Errorf("%d errors", j.errors)
			}
		})
	}
}

// judge counts errors instead of failing.
type judge struct {
	testing.TB
	errors int
}

func (j *judge) Errorf(string, ...any) { j.errors++ }
