package baseline

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/baseline/shape"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// traceFiles are the recordings of the repository, and all further traces there are.
func traceFiles(t *testing.T) (paths []string) {
	t.Helper()
	paths, err := filepath.Glob("../testdata/pairs/*.kineto.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, "no recordings")
	}
	if dir, ok := testrig.FindShared("traces"); ok {
		filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.Contains(d.Name(), ".json") && !strings.Contains(path, "pairs/") {
				paths = append(paths, path)
			}
			return err
		})
	}
	return paths
}

func look(t *testing.T, name string, d *chrome.Document) *shape.Observation {
	t.Helper()
	d.Name = name
	o, err := shape.Observe(d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// shuffled is a document that is strict JSON with its events in another order.
func shuffled(t *testing.T, text []byte) []byte {
	t.Helper()
	start := 0
	if text[0] == '{' {
		start = bytes.Index(text, []byte("\"traceEvents\": ")) + len("\"traceEvents\": ")
	}
	var events []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text[start:]))
	if err := d.Decode(&events); err != nil {
		t.Fatal(err)
	}
	end := start + int(d.InputOffset())
	r := rand.New(rand.NewPCG(3, 4))
	r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	out := append(slices.Clone(text[:start]), '[')
	for i, e := range events {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, e...)
	}
	return append(append(out, ']'), text[end:]...)
}

// watched looks at the first trace of a file while it is read.
func watched(t *testing.T, path string) (first *shape.Observation) {
	t.Helper()
	var w shape.Watch
	err := chrome.ReadEach(path, w.Options(chrome.ReadOptions{}), func(d *chrome.Document) error {
		if first != nil {
			return nil
		}
		d.Name = filepath.Base(path)
		o, err := w.Observe(d)
		first = o
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return first
}

func written(t *testing.T, tr *timeline.Trace, o chrome.Options) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := chrome.Write(&b, tr, o); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestItself: against itself, written anew, compressed, and in another order a trace
// passes, without a word.
func TestItself(t *testing.T) {
	n := 0
	for _, path := range traceFiles(t) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if testing.Short() && info.Size() > 1<<19 {
			continue
		}
		docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
		if err != nil {
			t.Logf("%s is not readable: %v", path, err)
			continue
		}
		name := filepath.Base(path)
		d := docs[0]
		base := look(t, name, d)
		if len(base.Lost) > 0 {
			if r := compared(t, base, base, Options{}); r.Verdict != verdict.Incomparable {
				t.Errorf("%s: a part is lost, and the verdict is %s", name, r.Verdict)
			}
			continue
		}
		if base.Events == 0 {
			continue
		}
		n++
		if now := watched(t, path); !reflect.DeepEqual(base, now) {
			for id, m := range base.Measures {
				if !reflect.DeepEqual(m, now.Measures[id]) {
					t.Errorf("%s, looked at while it is read: %s is %+v, want %+v", name, id, now.Measures[id], m)
				}
			}
			t.Errorf("%s, looked at while it is read: %s", name, firstDifference(shapeText(t, &base.Shape), shapeText(t, &now.Shape)))
		}
		plain := written(t, d.Trace, chrome.Options{})
		forms := map[string][]byte{"written anew, gzip": written(t, d.Trace, chrome.Options{Gzip: true})}
		if len(plain) < 30<<20 {
			forms["another order"] = shuffled(t, plain)
		}
		check := func(what string, now *shape.Observation) {
			for _, o := range []Options{{}, {Scope: Device}} {
				r := compared(t, base, now, o)
				if r.Verdict.ExitStatus() != verdict.ExitPass && !(r.Verdict == verdict.Inconclusive && len(r.Findings) == 0 && nothingJudged(r)) {
					t.Errorf("%s, %s: %s: %s", name, what, r.Verdict, r.Why)
				}
				for _, f := range r.Findings {
					t.Errorf("%s, %s: %s %s: %s (%s; %s)", name, what, f.Assertion, f.Subject, f.What, f.Expected, f.Got)
				}
				if len(r.Better)+len(r.Cannot)+len(r.Accepted) > 0 {
					t.Errorf("%s, %s: %v %v", name, what, r.Better, r.Cannot)
				}
			}
		}
		check("itself", base)
		for what, text := range forms {
			again, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			now := look(t, name, again)
			check(what, now)
			if a, b := shapeText(t, &base.Shape), shapeText(t, &now.Shape); !bytes.Equal(a, b) {
				t.Errorf("%s, %s: another shape:\n%s", name, what, firstDifference(a, b))
			}
		}
	}
	t.Logf("%d traces", n)
}

// nothingJudged: a trace of a program of another kind, without anything that
// assertions are about.
func nothingJudged(r *verdict.Result) bool {
	n := r.Outcomes()
	return n[verdict.Holds]+n[verdict.Broken]+n[verdict.SameInBase] == 0
}

func shapeText(t *testing.T, s *shape.Shape) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := s.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func firstDifference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i] + "\n" + y[i]
		}
	}
	return "one is longer"
}

// TestTorchCUDA: torch.profiler's recordings keep the embedded baseline, but for the
// categories that a program has no work for; of Torch-FL's seven they break the
// second, and a program that mostly copies the fourth.
func TestTorchCUDA(t *testing.T) {
	for _, name := range []string{"basic", "train"} {
		o := observed(t, name, recording(t, name))
		r, err := Diff(Default(), FromTrace(o), Options{Now: testNow})
		if err != nil || r.Verdict != verdict.Pass || len(r.Findings) > 0 {
			t.Errorf("%s: %s: %s, %+v, %v", name, r.Verdict, r.Why, r.Findings, err)
		}
		r, err = Parity(Default(), o, Options{Now: testNow})
		if err != nil {
			t.Fatal(err)
		}
		var brokenIDs []string
		for _, a := range r.Assertions {
			if a.Outcome != verdict.Holds {
				brokenIDs = append(brokenIDs, a.ID)
			}
		}
		want := []string{"torch-fl/2-flows"}
		if name == "basic" {
			want = append(want, "torch-fl/4-device-time")
		}
		if !slices.Equal(brokenIDs, want) {
			t.Errorf("%s: parity breaks %v, want %v", name, brokenIDs, want)
		}
	}
	o := observed(t, "comp", recording(t, "comp"))
	r, err := Diff(Default(), FromTrace(o), Options{Now: testNow})
	if err != nil || r.Verdict != verdict.Regression || len(differences(r)) != 1 || r.Findings[0].Subject != "category:gpu_memcpy" {
		t.Errorf("comp, which copies nothing: %+v, %v", r.Findings, err)
	}
}

// TestTorchFLFile reads Torch-FL's file as it is.
func TestTorchFLFile(t *testing.T) {
	path := testrig.Shared(t, "baselines/torch-fl-profiler-cuda-baseline.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !shape.IsBaseline(text) {
		t.Error("it is not told from a trace")
	}
	side, err := FromFile(path, text)
	if err != nil {
		t.Fatal(err)
	}
	for category, n := range map[string]int{"kernel": 13, "gpu_memcpy": 7, "gpu_memset": 7, "cuda_runtime": 3} {
		mine, theirs := Default().Shape.Categories[category], side.Shape.Categories[category]
		if len(theirs.Args) != n {
			t.Errorf("%s: %d arguments, want %d", category, len(theirs.Args), n)
		}
		for key, a := range mine.Args {
			if a.Required != (theirs.Args[key] != nil) {
				t.Errorf("%s of %s: required is %v here", key, category, a.Required)
			}
		}
	}
	for name, c := range Default().Shape.Categories {
		theirs := side.Shape.Categories[name]
		if c.Required != (theirs != nil && theirs.Required) {
			t.Errorf("category %s: required is %v here", name, c.Required)
		}
	}
	o := observed(t, "train", recording(t, "train"))
	r, err := Diff(side, FromTrace(o), Options{Now: testNow})
	if err != nil || r.Verdict != verdict.Pass || len(differences(r)) > 0 {
		t.Errorf("%s, %+v, %v", r.Verdict, differences(r), err)
	}
}
