package chrome

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"

	"github.com/flagos-ai/flagos-trace/internal/canon"
)

// TestReadFileForms: a trace is the same from every form of file that it may come
// in, and an archive holds one for each rank.
func TestReadFileForms(t *testing.T) {
	text := plainText(t, "testdata/basic.kineto.json.gz")
	d := readText(t, text)
	want := canon.Lines(d.Trace)
	dir := t.TempDir()
	for _, name := range []string{"a.json", "a.json.gz", "a.json.zst"} {
		path := filepath.Join(dir, name)
		stats, err := WriteFile(path, d.Trace, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Size() != stats.FileBytes {
			t.Errorf("%s: %d bytes written, %v", name, stats.FileBytes, info)
		}
		docs, err := ReadFile(path, ReadOptions{})
		if err != nil || len(docs) != 1 || docs[0].Name != path {
			t.Fatalf("%s: %d traces, %v", name, len(docs), err)
		}
		canon.Compare(t, name, canon.Lines(docs[0].Trace), want)
	}
	var archive bytes.Buffer
	z := zip.NewWriter(&archive)
	for _, name := range []string{"README", "run/rank0.json", "run/rank1.json.gz", "__MACOSX/._rank0.json"} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case filepath.Ext(name) == ".gz":
			g := gzip.NewWriter(w)
			g.Write(text)
			g.Close()
		default:
			w.Write(text)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "ranks.zip")
	if err := os.WriteFile(path, archive.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	docs, err := ReadFile(path, ReadOptions{})
	if err != nil || len(docs) != 2 || docs[1].Name != path+"/run/rank1.json.gz" {
		t.Fatalf("%d traces, %v", len(docs), err)
	}
	for _, d := range docs {
		canon.Compare(t, d.Name, canon.Lines(d.Trace), want)
	}
	if _, err := ReadFile(filepath.Join(dir, "none"), ReadOptions{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestReadDamaged: compressed data that is cut, or damaged at its end, gives what
// was before; what is no trace, or cannot be read, is an error.
func TestReadDamaged(t *testing.T) {
	text := plainText(t, "testdata/basic.kineto.json.gz")
	var packed bytes.Buffer
	g := gzip.NewWriter(&packed)
	g.Write(text)
	g.Close()
	cut := packed.Bytes()[:packed.Len()/2]
	d := readText(t, cut)
	if d.FindingCounts[RuleCompressed] != 1 || d.Trace.Events.Len() == 0 {
		t.Errorf("cut: %v, %d events", d.FindingCounts, d.Trace.Events.Len())
	}
	damaged := bytes.Clone(packed.Bytes())
	damaged[len(damaged)-6] ^= 1 // of the checksum
	d = readText(t, damaged)
	if d.FindingCounts[RuleCompressed] != 1 || d.Trace.Events.Len() != readText(t, text).Trace.Events.Len() {
		t.Errorf("damaged: %v, %d events", d.FindingCounts, d.Trace.Events.Len())
	}
	broken := errors.New("broken disk")
	for name, test := range map[string]struct {
		r    io.Reader
		want error
	}{
		"empty":          {bytes.NewReader(nil), ErrTruncated},
		"text":           {bytes.NewReader([]byte("hello")), ErrSyntax},
		"broken":         {io.MultiReader(bytes.NewReader(text[:len(text)/2]), iotest.ErrReader(broken)), broken},
		"broken at once": {iotest.ErrReader(broken), broken},
		"broken below":   {io.MultiReader(bytes.NewReader(cut), iotest.ErrReader(broken)), broken},
	} {
		if _, err := Read(test.r, ReadOptions{}); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

// TestRules: a rules file adds to the rules, and nonsense in one is an error.
func TestRules(t *testing.T) {
	r, err := DefaultRules().Extend([]byte("kinds: {kernel: [my_kernel]}\nargs: {correlation: [my id]}\nflows: {device: [mine]}\n" +
		"producers: [{name: mine, vendor: v, any: [\"category:my*\"]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(bytes.NewReader([]byte(`[{"ph":"X","cat":"my_kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"my id":5}},{"ph":"f","bp":"e","id":5,"cat":"mine","name":"mine","pid":0,"tid":7,"ts":1}]`)),
		ReadOptions{Rules: r})
	if err != nil {
		t.Fatal(err)
	}
	e := d.Trace.Events.At(0)
	if e.Kind.String() != "kernel" || e.Correlation != 5 || e.Flags == 0 || len(d.Trace.Flows) != 0 || d.Producer.Name != "mine" {
		t.Errorf("%+v %+v", e, d.Producer)
	}
	if _, ok := DefaultRules().Kind("my_kernel"); ok {
		t.Error("the default rules were changed")
	}
	for _, bad := range []string{"kinds: {nonsense: [a]}", "args: {nonsense: [a]}", "flows: {nonsense: [a]}", "nonsense: 1", "kinds: [", "tasks: {x: [y]}", "processes: {a: b}"} {
		if _, err := DefaultRules().Extend([]byte(bad)); !errors.Is(err, ErrRules) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
