package record

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// importOf imports a file of buffers made from the recording of a pair.
func importOf(t *testing.T, buffers []byte, change func(*ImportOptions)) (*timeline.Trace, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "buffers.cupti")
	if err := os.WriteFile(file, buffers, 0o644); err != nil {
		t.Fatal(err)
	}
	o := ImportOptions{APIVersion: pairsAPI, Buffers: file, Names: pairFile("basic", ".names.tsv.gz"), Clock: "ticks", NSPerTick: 0.47619}
	if change != nil {
		change(&o)
	}
	return ImportCUPTI(o)
}

func TestImportOfBadInput(t *testing.T) {
	whole := readGzip(t, pairFile("basic", ".cupti.gz"))
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	badNames, noJSON := write("bad.names.tsv", "0x10\tok\nzz\tnot hex\n"), write("host.json", "{\"traceEvents\": [")
	for _, c := range []struct {
		name    string
		buffers []byte
		change  func(*ImportOptions)
		is      error
		says    []string
	}{
		{"no buffers file", whole, func(o *ImportOptions) { o.Buffers = filepath.Join(dir, "none") }, os.ErrNotExist, []string{"none"}},
		{"not a dump", []byte(strings.Repeat("what is this? ", 100)), nil, nil, []string{"byte 0", "is this a dump"}},
		{"cut inside the first head", whole[:10], nil, ErrTruncatedDump, []string{"byte 0", "10 of 24"}},
		{"no names file", whole, func(o *ImportOptions) { o.Names = filepath.Join(dir, "none") }, os.ErrNotExist, []string{"none"}},
		{"bad names file", whole, func(o *ImportOptions) { o.Names = badNames }, ErrNames, []string{badNames, "line 2"}},
		{"too old a version", whole, func(o *ImportOptions) { o.APIVersion = 5 }, nil, []string{"5", "17"}},
		{"no such clock", whole, func(o *ImportOptions) { o.Clock = "sundial" }, ErrOptions, []string{"sundial"}},
		{"fit to nothing", whole, func(o *ImportOptions) { o.Clock = "fit" }, ErrOptions, []string{"host"}},
		{"ticks of no length", whole, func(o *ImportOptions) { o.NSPerTick = 0 }, ErrOptions, []string{"0 ns"}},
		{"ticks taken for nanoseconds", whole, func(o *ImportOptions) { o.Clock = "realtime" }, ErrClock, []string{"not nanoseconds"}},
		{"host trace of another run", whole, func(o *ImportOptions) {
			o.Clock, o.Host = "fit", pairFile("train", ".kineto.json.gz")
		}, correlate.ErrNoFit, []string{"another run"}},
		{"host is cut", whole, func(o *ImportOptions) { o.Host = noJSON }, nil, []string{noJSON}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := importOf(t, c.buffers, c.change)
			if err == nil {
				t.Fatal("no error")
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("error %v, want %v", err, c.is)
			}
			for _, want := range c.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error lacks %q: %v", want, err)
				}
			}
		})
	}
}

// A dump that ends early gives what it held, and says so.
func TestImportOfTruncatedDump(t *testing.T) {
	whole := readGzip(t, pairFile("basic", ".cupti.gz"))
	all, err := importOf(t, whole, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, cut := range []int{24 + 216, len(whole) / 2, len(whole) - 1} {
		got, err := importOf(t, whole[:cut], nil)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		c := got.Completeness
		if got.Events.Len() >= all.Events.Len() || got.Events.Len() == 0 {
			t.Errorf("cut at %d: %d events of %d", cut, got.Events.Len(), all.Events.Len())
		}
		if c.Ended != "cut" || len(c.Diagnoses) == 0 || !c.Lost() {
			t.Errorf("cut at %d: ended %q, diagnoses %q, lost %v", cut, c.Ended, c.Diagnoses, c.Lost())
		}
	}
}

// With another version's layouts the walk goes astray: that is an error or a
// loss that is counted, never a wrong trace in silence.
func TestImportWithWrongVersion(t *testing.T) {
	whole := readGzip(t, pairFile("basic", ".cupti.gz"))
	for _, api := range []uint32{17, 18, 26} {
		got, err := importOf(t, whole, func(o *ImportOptions) { o.APIVersion = api })
		if err == nil && !got.Completeness.Lost() {
			t.Errorf("API version %d: %d events and nothing lost", api, got.Events.Len())
		}
	}
}

// Kernels whose name is not known are counted, not shown without one.
func TestImportWithoutNames(t *testing.T) {
	got, err := importOf(t, readGzip(t, pairFile("basic", ".cupti.gz")), func(o *ImportOptions) { o.Names = "" })
	if err != nil {
		t.Fatal(err)
	}
	c := got.Completeness
	if c.Dropped["no_name"] == 0 || c.Written["kernel"] != 0 || !c.Lost() {
		t.Errorf("dropped %v, written %v", c.Dropped, c.Written)
	}
}

// An injected agent's dump holds two clocks: half of the records are in
// nanoseconds since the epoch, half in ticks. Every byte is decoded either way.
func TestImportOfInjectedDumps(t *testing.T) {
	for _, c := range []struct {
		name string
		api  uint32
	}{{"rearm", 130001}, {"cupti-12.8", 26}} {
		base := filepath.Join("..", "testdata", "injected", c.name)
		got, err := ImportCUPTI(ImportOptions{APIVersion: c.api, Buffers: base + ".cupti.gz", Names: base + ".names.tsv.gz", API: "all"})
		if err != nil {
			t.Fatal(err)
		}
		r := got.Completeness
		if r.Spool.LostBytes != 0 || r.Lost() || r.Written["kernel"] != r.Received["kernel"] || r.Written["kernel"] == 0 {
			t.Errorf("%s: %+v, received %v, written %v", c.name, r.Spool, r.Received, r.Written)
		}
	}
}

// The same input gives the same bytes.
func TestImportIsDeterministic(t *testing.T) {
	var first []byte
	for range 3 {
		text := importText(t, "streams", ImportOptions{Clock: "fit"}, chrome.CompatNone)
		if first == nil {
			first = text
		} else if !bytes.Equal(first, text) {
			t.Fatal("two imports of one dump differ")
		}
	}
}

func TestImportTicksWithoutHost(t *testing.T) {
	got, err := importOf(t, readGzip(t, pairFile("graph", ".cupti.gz")), func(o *ImportOptions) {
		o.Clock, o.NSPerTick, o.Names = "ticks", 0.47619, pairFile("graph", ".names.tsv.gz")
	})
	if err != nil {
		t.Fatal(err)
	}
	var total int64
	for i := range uint32(got.Events.Len()) {
		if e := got.Events.At(i); e.Kind == timeline.Kernel {
			total += e.Duration()
		}
	}
	if total < 10_000 || total > 10_000_000 {
		t.Errorf("20 kernels of microseconds last %d ns", total)
	}
}
