package reliability

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// trace is what is in a trace file, read from nothing else.
type trace struct {
	file  string
	spans map[string]int // by category
	// flows counts the arrows with both ends, loose those with one.
	flows, loose int
	record       *timeline.Completeness
	base         int64 // ns since the epoch, to which times are relative
	kernels      []span
	calls        map[string]span // API calls by correlation id
}

// span is a kernel or an API call; times in ns, relative to the trace's base.
type span struct {
	correlation string
	tid         string
	start, end  int64
}

// readTrace reads a trace and has `flagos-trace check` hold it against the rules
// of viewers.
func readTrace(t testing.TB, name string) *trace {
	t.Helper()
	if out, err := exec.Command(tool(t), "check", name).CombinedOutput(); err != nil {
		t.Fatalf("check %s: %v\n%s", name, err, out)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	h := &traceReader{trace: &trace{file: name, spans: map[string]int{}, calls: map[string]span{}}, ends: map[string]uint8{}}
	if err := chrome.Scan(f, h); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, ends := range h.ends {
		if ends == 3 {
			h.flows++
		} else {
			h.loose++
		}
	}
	if h.record == nil {
		t.Fatalf("%s has no completeness record", name)
	}
	return h.trace
}

// traceReader fills a trace. It implements chrome.Handler.
type traceReader struct {
	*trace
	ends map[string]uint8 // of arrows, by category and id: 1 begins, 2 ends
}

func (r *traceReader) Member(key string, v chrome.Value) (err error) {
	switch key {
	case chrome.KeyCompleteness:
		r.record = new(timeline.Completeness)
		err = json.Unmarshal(v, r.record)
	case "baseTimeNanoseconds":
		r.base, err = strconv.ParseInt(string(v), 10, 64)
	}
	return err
}

func (r *traceReader) Event(e *chrome.Event) error {
	category := unquoted(e.Category)
	switch unquoted(e.Phase) {
	case "s":
		r.ends[category+string(e.ID)] |= 1
	case "f", "t":
		r.ends[category+string(e.ID)] |= 2
	case "X":
		r.spans[category]++
		if category != "kernel" && category != "cuda_runtime" && category != "cuda_driver" {
			return nil
		}
		s := span{tid: string(e.TID)}
		for m := chrome.WalkMembers(e.Args); m.Next(); {
			if string(m.Key) == "correlation" {
				s.correlation = string(m.Value)
			}
		}
		var err error
		if s.start, err = nanoseconds(e.TS); err != nil {
			return err
		}
		if s.end, err = nanoseconds(e.Dur); err != nil {
			return err
		}
		s.end += s.start
		if category == "kernel" {
			r.kernels = append(r.kernels, s)
		} else {
			r.calls[s.correlation] = s
		}
	}
	return nil
}

func unquoted(v chrome.Value) string { return string(bytes.Trim(v, `"`)) }

// nanoseconds reads microseconds with three decimals.
func nanoseconds(v chrome.Value) (int64, error) {
	whole, fraction, _ := strings.Cut(string(v), ".")
	return strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
}
