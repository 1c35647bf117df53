package baseline

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
)

var testNow = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

// object is a JSON object of a trace that is damaged.
type object = map[string]any

// damaged is a trace as JSON.
type damaged struct {
	doc    object
	events []any
}

// recording decompresses a recording of the repository.
func recording(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "testdata", "pairs", name+".kineto.json.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(z); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func decode(t testing.TB, text []byte) *damaged {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	x := &damaged{}
	if err := d.Decode(&x.doc); err != nil {
		t.Fatal(err)
	}
	x.events = x.doc["traceEvents"].([]any)
	return x
}

func (x *damaged) text(t testing.TB) []byte {
	t.Helper()
	x.doc["traceEvents"] = x.events
	text, err := json.Marshal(x.doc)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// each calls f for the events of one phase and category; "" is any.
func (x *damaged) each(ph, cat string, f func(e object)) {
	for _, v := range x.events {
		e := v.(object)
		if (ph == "" || e["ph"] == ph) && (cat == "" || e["cat"] == cat) {
			f(e)
		}
	}
}

// drop removes the events that f is true for.
func (x *damaged) drop(f func(e object) bool) {
	x.events = slices.DeleteFunc(x.events, func(v any) bool { return f(v.(object)) })
}

// onDevice calls f for device work, with its arguments.
func (x *damaged) onDevice(f func(e, args object)) {
	for _, cat := range []string{"kernel", "gpu_memcpy", "gpu_memset"} {
		x.each("X", cat, func(e object) { f(e, e["args"].(object)) })
	}
}

func (x *damaged) args(cat string, f func(e, args object)) {
	x.each("X", cat, func(e object) {
		if a, ok := e["args"].(object); ok {
			f(e, a)
		}
	})
}

func number(v any) float64 {
	n, _ := v.(json.Number).Float64()
	return n
}

func integer(v any) int64 {
	n, _ := v.(json.Number).Int64()
	return n
}

func observed(t testing.TB, name string, text []byte) *shape.Observation {
	t.Helper()
	d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	d.Name = name
	o, err := shape.Observe(d)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return o
}

func compared(t testing.TB, base, now *shape.Observation, o Options) *verdict.Result {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = testNow
	}
	r, err := Diff(FromTrace(base), FromTrace(now), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// differences lists findings that are no notes.
func differences(r *verdict.Result) (out []verdict.Finding) {
	for _, f := range r.Findings {
		if f.Severity != verdict.Note {
			out = append(out, f)
		}
	}
	return out
}

// TestMutations damages good traces in every way that breaks an assertion: the
// finding about it comes first, the exit status is that of a regression, and beyond
// it there are only consequences that the mutation's table allows.
func TestMutations(t *testing.T) {
	list := mutations()
	if len(list) < 60 {
		t.Errorf("only %d mutations", len(list))
	}
	bases := map[string]*shape.Observation{}
	texts := map[string][]byte{}
	seen := map[string]bool{}
	for _, m := range list {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			if bases[m.trace] == nil {
				texts[m.trace] = recording(t, m.trace)
				bases[m.trace] = observed(t, m.trace, decode(t, texts[m.trace]).text(t))
				if r := compared(t, observed(t, m.trace, texts[m.trace]), bases[m.trace], Options{}); r.Verdict != verdict.Pass {
					t.Fatalf("written anew, %s is no longer itself: %+v", m.trace, r.Findings)
				}
			}
			x := decode(t, texts[m.trace])
			m.damage(x)
			now := observed(t, m.name, x.text(t))
			r := compared(t, bases[m.trace], now, Options{})
			if r.Verdict != verdict.Regression || r.Verdict.ExitStatus() != verdict.ExitRegression {
				t.Fatalf("the verdict is %s: %s", r.Verdict, r.Why)
			}
			found := differences(r)
			if first := found[0]; first.Assertion != m.first || !strings.HasPrefix(first.Subject, m.subject) {
				t.Errorf("first is %s %s: %s (%s; %s)\nwant %s %s", first.Assertion, first.Subject, first.What, first.Expected, first.Got, m.first, m.subject)
			}
			for _, f := range found {
				seen[f.Assertion] = true
				if f.Assertion != m.first && !slices.Contains(m.allowed, f.Assertion) {
					t.Errorf("also %s %s: %s (expected %s; got %s)", f.Assertion, f.Subject, f.What, f.Expected, f.Got)
				}
				if f.What == "" || f.Fix == "" || f.Subject == "" {
					t.Errorf("a finding lacks its words: %+v", f)
				}
			}
			// The other way round it is no regression of what was broken.
			back := compared(t, now, bases[m.trace], Options{})
			for _, f := range differences(back) {
				if f.Assertion == m.first && strings.HasPrefix(f.Subject, "measure:") {
					t.Errorf("mending it is a difference, too: %s", f.What)
				}
			}
		})
	}
	for _, a := range assertions {
		if !seen[a.id] {
			t.Errorf("no mutation breaks %s", a.id)
		}
	}
}
