package pprofile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

var update = flag.Bool("update", false, "rewrite golden files")

func read(t testing.TB, path string) *chrome.Document {
	t.Helper()
	docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return docs[0]
}

func build(t testing.TB, b *Builder) *profile.Profile {
	t.Helper()
	p, err := b.Profile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func total(p *profile.Profile, value int) (n int64) {
	for _, s := range p.Sample {
		n += s.Value[value]
	}
	return n
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what came out, which is:\n%s", path, got)
	}
}

// TestProfile holds the whole of a small profile.
func TestProfile(t *testing.T) {
	b := New()
	b.Add(read(t, "testdata/steps.json").Trace, "steps.json")
	b.Comment("two steps")
	p := build(t, b)
	p.TimeNanos = 0 // it is printed in the local time zone
	golden(t, "steps.golden", p.String())
	for value, name := range Values {
		var out bytes.Buffer
		if err := b.WriteFolded(&out, name); err != nil {
			t.Fatal(err)
		}
		golden(t, "steps."+name+".folded", out.String())
		var sum int64
		for line := range strings.Lines(out.String()) {
			var n int64
			if err := json.Unmarshal([]byte(line[strings.LastIndexByte(line, ' '):]), &n); err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		if want := total(p, value); sum != want {
			t.Errorf("%s: folded lines add up to %d, samples to %d", name, sum, want)
		}
	}
	if err := b.WriteFolded(io.Discard, "wall_time"); err == nil {
		t.Error("a value that is not there was written")
	}
}

func TestHide(t *testing.T) {
	var classes []calltree.Class
	for c := range calltree.NumClasses {
		classes = append(classes, c)
	}
	whole, bare := New(), New(classes...)
	for _, b := range []*Builder{whole, bare} {
		b.Add(read(t, "testdata/steps.json").Trace, "")
	}
	p, q := build(t, whole), build(t, bare)
	for value, name := range Values {
		if total(p, value) != total(q, value) {
			t.Errorf("%s is %d with all frames hidden, and %d", name, total(q, value), total(p, value))
		}
	}
	for _, s := range q.Sample {
		if len(s.Location) != 1 {
			t.Errorf("a sample has %d frames", len(s.Location))
		}
	}
}

func TestEmpty(t *testing.T) {
	d, err := chrome.Read(strings.NewReader(`{"traceEvents":[]}`), chrome.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := New()
	b.Add(d.Trace, "")
	if _, err := b.Profile(); err != ErrEmpty {
		t.Errorf("error %v", err)
	}
	if err := b.WriteFolded(io.Discard, "bytes"); err != ErrEmpty {
		t.Errorf("error %v", err)
	}
}

// deviceWork adds up the device work of a document without this module's reader.
func deviceWork(t *testing.T, path string) (ns, count int64) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := io.Reader(f)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	var doc struct {
		TraceEvents []struct {
			Ph, Cat string
			Dur     json.Number
		}
	}
	if err := json.NewDecoder(in).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	sum := new(big.Rat)
	for _, e := range doc.TraceEvents {
		switch e.Cat {
		case "kernel", "gpu_memcpy", "gpu_memset":
			if e.Ph == "X" {
				d, ok := new(big.Rat).SetString(e.Dur.String())
				if !ok {
					t.Fatalf("%s: dur %q", path, e.Dur)
				}
				sum.Add(sum, d)
				count++
			}
		}
	}
	sum.Mul(sum, big.NewRat(1000, 1))
	if !sum.IsInt() {
		t.Fatalf("%s: %s ns", path, sum)
	}
	return sum.Num().Int64(), count
}

// TestSums holds the sums of the profiles of recorded traces against the documents,
// before and after they went through pprof's own encoder and parser.
func TestSums(t *testing.T) {
	files, _ := filepath.Glob("../testdata/pairs/*.kineto.json.gz")
	if dir, ok := testrig.FindShared("traces/torch-cuda"); ok {
		more, _ := filepath.Glob(filepath.Join(dir, "*.json.gz"))
		files = append(files, more...)
	}
	if len(files) < 6 {
		t.Fatalf("%d traces", len(files))
	}
	for _, path := range files {
		d := read(t, path)
		b := New()
		b.Add(d.Trace, "")
		p := build(t, b)
		ns, count := deviceWork(t, path)
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		q, err := profile.Parse(&out)
		if err != nil {
			t.Fatal(err)
		}
		if err := q.CheckValid(); err != nil {
			t.Error(err)
		}
		var cpu int64
		x := calltree.New(d.Trace)
		for n := range x.Nodes() {
			cpu += x.SelfTime(n)
		}
		for _, p := range []*profile.Profile{p, q} {
			if got := total(p, deviceTime); got != ns {
				t.Errorf("%s: device time is %d ns, in the document %d", path, got, ns)
			}
			if got := total(p, deviceCount); got != count {
				t.Errorf("%s: %d spans of device work, in the document %d", path, got, count)
			}
			if got := total(p, cpuTime); got != cpu {
				t.Errorf("%s: host time is %d ns, by the tree %d", path, got, cpu)
			}
		}
	}
}

// TestRanks adds two ranks to one profile and finds them again by their label.
func TestRanks(t *testing.T) {
	b := New()
	want := map[int64]int64{}
	for rank, path := range map[int64]string{0: "../testdata/pairs/ddp.rank0.kineto.json.gz", 1: "../testdata/pairs/ddp.rank1.kineto.json.gz"} {
		b.Add(read(t, path).Trace, "none")
		want[rank], _ = deviceWork(t, path)
	}
	got := map[int64]int64{}
	for _, s := range build(t, b).Sample {
		for _, rank := range s.NumLabel["rank"] {
			got[rank] += s.Value[deviceTime]
		}
		if s.Label["trace"] != nil {
			t.Fatal("a sample has a rank and a trace")
		}
	}
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("device time by rank is %v, in the documents %v", got, want)
	}
}

func FuzzAdd(f *testing.F) {
	text, err := os.ReadFile("testdata/steps.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`[{"ph":"X","cat":"kernel","name":"","pid":"x","tid":"","ts":1,"dur":-1}]`))
	f.Add([]byte(`[{"ph":"X","cat":"cpu_op","name":"a;\nb","pid":1,"tid":"","ts":1,"dur":4,"args":{"Input Dims":"\u0000"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := chrome.Read(bytes.NewReader(text), chrome.ReadOptions{})
		if err != nil {
			return
		}
		b := New(calltree.Annotation)
		b.Add(d.Trace, "fuzz")
		p, err := b.Profile()
		if err != nil {
			return
		}
		var work int64
		x := calltree.New(d.Trace)
		for w := range x.Works() {
			work += x.WorkAt(w).Duration()
		}
		if got := total(p, deviceTime); got != work {
			t.Fatalf("device time is %d, not %d", got, work)
		}
		var out bytes.Buffer
		if err := p.Write(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := profile.Parse(&out); err != nil {
			t.Fatal(err)
		}
	})
}
