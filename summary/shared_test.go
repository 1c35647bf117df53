package summary

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

// rawEvent is an event as encoding/json sees it.
type rawEvent struct {
	Ph, Cat, Name string
	PID, TID, ID  any
	TS, Dur       any
	Args          map[string]any
	start, end    int64
	correlation   string
	external      string
	work          bool // of a device
}

// nanoseconds is a time of a document, exactly.
func nanoseconds(v any) (int64, bool) {
	var text string
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	default:
		return 0, false
	}
	if whole, part, _ := strings.Cut(text, "."); len(part) <= 3 {
		if n, err := strconv.ParseInt(whole+part+"000"[len(part):], 10, 64); err == nil {
			return n, true
		}
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return 0, false
	}
	r.Mul(r, big.NewRat(1000, 1))
	r.Add(r, big.NewRat(1, 2))
	return new(big.Int).Div(r.Num(), r.Denom()).Int64(), true
}

// naive reads a document with encoding/json; nil where that cannot.
func naive(t *testing.T, path string) []*rawEvent {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	decode := func(v any) error {
		d := json.NewDecoder(strings.NewReader(string(text)))
		d.UseNumber()
		return d.Decode(v)
	}
	var list []*rawEvent
	if strings.HasPrefix(strings.TrimSpace(string(text)), "[") {
		err = decode(&list)
	} else {
		var doc struct{ TraceEvents []*rawEvent }
		err = decode(&doc)
		list = doc.TraceEvents
	}
	if err != nil {
		return nil
	}
	return list
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case json.Number:
		return v.String()
	case string:
		return v
	}
	b, _ := json.Marshal(v)
	return string(b)
}

var deviceCategories = map[string]bool{
	"kernel": true, "Kernel": true, "gpu_memcpy": true, "Memcpy": true, "gpu_memset": true, "Memset": true,
}

// nameSum is calls and device time by name.
type nameSum map[string][2]int64

func (s nameSum) add(name string, ns int64) {
	v := s[name]
	s[name] = [2]int64{v[0] + 1, v[1] + ns}
}

// sums adds up device work by kernel and by operator in the plainest way: work belongs
// to the operator of its External id, or else to the innermost one around the call of
// its correlation id.
func sums(list []*rawEvent) (kernels, operators nameSum, unlinked [2]int64) {
	kernels, operators = nameSum{}, nameSum{}
	hardware := map[string]bool{}
	for _, e := range list {
		if e.Ph == "M" && e.Name == "process_name" && text(e.Args["name"]) == "Ascend Hardware" {
			hardware[text(e.PID)] = true
		}
	}
	byExternal, byCorrelation := map[string][]*rawEvent{}, map[string][]*rawEvent{}
	ops := map[string][]*rawEvent{} // by thread
	var work []*rawEvent
	for _, e := range list {
		start, ok := nanoseconds(e.TS)
		dur, isSpan := nanoseconds(e.Dur)
		if e.Ph != "X" || !ok || !isSpan && e.Dur != nil || dur < 0 {
			continue
		}
		e.start, e.end = start, start+dur
		for key, v := range e.Args {
			switch strings.ToLower(key) {
			case "external id":
				e.external = text(v)
			case "correlation":
				e.correlation = text(v)
			}
		}
		thread := text(e.PID) + "/" + text(e.TID)
		switch {
		case deviceCategories[e.Cat], e.Cat == "" && hardware[text(e.PID)]:
			work = append(work, e)
			e.work = true
		case e.Cat == "cpu_op" || e.Cat == "Operator":
			ops[thread] = append(ops[thread], e)
			if e.external != "" {
				byExternal[e.external] = append(byExternal[e.external], e)
			}
		case strings.Contains(e.Cat, "runtime") || strings.Contains(e.Cat, "driver") || e.Cat == "Runtime":
			if e.correlation != "" && e.correlation != "0" {
				byCorrelation[e.correlation] = append(byCorrelation[e.correlation], e)
			}
		}
	}
	at := func(thread string, middle int64) *rawEvent {
		var best *rawEvent
		for _, o := range ops[thread] {
			if o.start <= middle && middle < o.end && (best == nil || o.start > best.start || o.start == best.start && o.end <= best.end) {
				best = o
			}
		}
		return best
	}
	around := func(c *rawEvent) *rawEvent {
		return at(text(c.PID)+"/"+text(c.TID), c.start+(c.end-c.start)/2)
	}
	// Ascend draws arrows from operators to the beginnings of their work.
	leaves, arrives := map[string]*rawEvent{}, map[string]*rawEvent{}
	for _, e := range list {
		if e.Cat != "async_npu" {
			continue
		}
		switch e.Ph {
		case "s":
			leaves[text(e.ID)] = e
		case "f":
			arrives[text(e.PID)+"/"+text(e.TID)+"/"+text(e.TS)] = e
		}
	}
	for _, w := range work {
		ns := w.end - w.start
		kernels.add(w.Name, ns)
		var op *rawEvent
		var call *rawEvent
		if list := byCorrelation[w.correlation]; len(list) > 0 {
			call = list[0]
		}
		id := w.external
		if id == "" && call != nil {
			id = call.external
		}
		if list := byExternal[id]; len(list) > 0 && id != "" {
			op = list[0]
			if id == w.correlation && (call == nil || call.start < op.start || call.start >= op.end) {
				op = nil // of old versions, which had no other id
			}
		}
		if op == nil && call != nil {
			op = around(call)
		}
		if f := arrives[text(w.PID)+"/"+text(w.TID)+"/"+text(w.TS)]; op == nil && f != nil {
			if from := leaves[text(f.ID)]; from != nil {
				ts, _ := nanoseconds(from.TS)
				op = at(text(from.PID)+"/"+text(from.TID), ts)
			}
		}
		if op == nil {
			unlinked = [2]int64{unlinked[0] + 1, unlinked[1] + ns}
			continue
		}
		operators.add(op.Name, ns)
	}
	return kernels, operators, unlinked
}

// busy is for how long any work ran on each device, which is a process of the document.
func busy(list []*rawEvent) (sum int64) {
	byDevice := map[string][]*rawEvent{}
	for _, e := range list {
		if e.work {
			byDevice[text(e.PID)] = append(byDevice[text(e.PID)], e)
		}
	}
	for _, work := range byDevice {
		slices.SortFunc(work, func(a, b *rawEvent) int { return cmp.Compare(a.start, b.start) })
		until := work[0].start
		for _, w := range work {
			if w.end > until {
				sum += w.end - max(w.start, until)
				until = w.end
			}
		}
	}
	return sum
}

func equalSums(t *testing.T, what string, got, want nameSum) {
	t.Helper()
	for name, v := range want {
		if got[name] != v {
			t.Errorf("%s %q: %v, counted %v", what, name, got[name], v)
		}
	}
	for name, v := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s %q: %v, which nobody counted", what, name, v)
		}
	}
}

// TestTotals holds totals by kernel and by operator against the plain sums over the JSON,
// busy time against a plain union, and all sums against each other, in every trace there
// is.
func TestTotals(t *testing.T) {
	compared := 0
	dirs := []string{"../testdata/pairs"}
	for _, name := range []string{"traces/torch-cuda", "traces/pairs", "traces/public", "traces/public/edge"} {
		if dir, ok := testrig.FindShared(name); ok {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		files, _ := filepath.Glob(filepath.Join(dir, "*.json*"))
		for _, path := range files {
			t.Run(filepath.Base(path), func(t *testing.T) {
				s, err := Files([]string{path}, Options{})
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range s.Checks {
					if !c.OK() {
						t.Errorf("%s: %d ns of %d ns", c.Of, c.SumNS, c.TotalNS)
					}
				}
				list := naive(t, path)
				if list == nil {
					t.Skip("encoding/json cannot read it")
				}
				kernels, operators, unlinked := sums(list)
				got := nameSum{}
				for _, k := range s.Kernels {
					v := got[k.Name]
					got[k.Name] = [2]int64{v[0] + k.Works, v[1] + k.DeviceNS}
				}
				equalSums(t, "kernel", got, kernels)
				got = nameSum{}
				for _, o := range s.Operators {
					if o.Work != nil && o.Works > 0 {
						v := got[o.Name]
						got[o.Name] = [2]int64{v[0] + o.Works, v[1] + o.DeviceNS}
					}
				}
				equalSums(t, "operator", got, operators)
				var none [2]int64
				for _, m := range s.Unlinked {
					none = [2]int64{none[0] + m.Works, none[1] + m.DeviceNS}
				}
				if none != unlinked {
					t.Errorf("without operator: %v, counted %v", none, unlinked)
				}
				if s.Whole != nil && s.Whole.BusyNS != busy(list) {
					t.Errorf("busy %d ns, counted %d", s.Whole.BusyNS, busy(list))
				}
				compared += len(kernels)
			})
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}
