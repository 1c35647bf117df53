package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/host"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
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
		{"empty", nil, nil, ErrEmptyDump, []string{"no activity buffer"}},
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
// nanoseconds since the epoch, half in ticks. Every byte is decoded, and what
// the options do not explain is a loss, not an event of 1970.
func TestImportOfInjectedDumps(t *testing.T) {
	base := func(name string) string { return filepath.Join("..", "testdata", "injected", name) }
	const epoch, ticks = 444, 189 // records of the rearm dump at Kineto's level, by clock
	for _, c := range []struct {
		name    string
		api     uint32
		change  func(*ImportOptions)
		source  string
		other   uint64 // records dropped for their clock
		outside uint64
		verdict timeline.Verdict
		is      error
	}{
		{"cupti-12.8", 26, nil, timeline.ClockRealtime, 0, 0, timeline.Complete, nil},
		{"rearm", 130001, nil, timeline.ClockRealtime, ticks, 0, timeline.Incomplete, nil},
		{"rearm", 130001, func(o *ImportOptions) { o.Clock, o.NSPerTick = "ticks", 0.47552 }, timeline.ClockTicks, epoch, 0, timeline.Incomplete, nil},
		{"rearm", 130001, func(o *ImportOptions) { o.Host = base("rearm.host.json.gz") }, "", 0, 0, "", ErrNoOverlap},
		// The first half was recorded before the host trace begins.
		{"rearm", 130001, func(o *ImportOptions) { o.Clock, o.Host = "fit", base("rearm.host.json.gz") }, timeline.ClockMixed, 0, epoch, timeline.Complete, nil},
	} {
		o := ImportOptions{APIVersion: c.api, Buffers: base(c.name + ".cupti.gz"), Names: base(c.name + ".names.tsv.gz")}
		if c.change != nil {
			c.change(&o)
		}
		got, err := ImportCUPTI(o)
		if !errors.Is(err, c.is) {
			t.Errorf("%s %+v: error %v, want %v", c.name, o, err, c.is)
		}
		if err != nil {
			continue
		}
		r := got.Completeness
		if r.Spool.LostBytes != 0 || r.Clock.Source != c.source || r.Verdict != c.verdict ||
			r.Dropped[timeline.DropOtherClock] != c.other || r.Dropped[timeline.DropOutOfWindow] != c.outside {
			t.Errorf("%s, clock %q: %+v, clock %+v, dropped %v, verdict %s", c.name, o.Clock, r.Spool, r.Clock, r.Dropped, r.Verdict)
		}
		if w := got.Window; w.End-w.Start > 10e9 || w.End <= w.Start {
			t.Errorf("%s, clock %q: a window of %d ns", c.name, o.Clock, w.End-w.Start)
		}
		if mixed := c.name == "rearm"; mixed != strings.Contains(strings.Join(r.Diagnoses, "\n"), "clock was replaced") {
			t.Errorf("%s: diagnoses %q", c.name, r.Diagnoses)
		}
	}
}

// Each half of a dump with two clocks lands where it was: fitted to the host
// trace, the second half follows the first one.
func TestImportMapsEachClock(t *testing.T) {
	base := filepath.Join("..", "testdata", "injected", "rearm")
	o := ImportOptions{APIVersion: 130001, Buffers: base + ".cupti.gz", Names: base + ".names.tsv.gz", Host: base + ".host.json.gz", Clock: "fit"}
	c := newCollector(o.Buffers)
	h, err := host.ReadKinetoFile(o.Host)
	if err != nil {
		t.Fatal(err)
	}
	c.addHost(h)
	join := correlate.Options{} // without the host's window
	err = c.open(tracer.BindingInfo{Tracer: "cupti", APIVersion: o.APIVersion}, tracer.Config{API: tracer.APIKineto})
	for _, step := range []func() error{
		func() error { return readNames(o.Names, c.decoder.Name) },
		func() error { return c.readDump(&o) },
		func() error { return o.clocks(c, &join) },
		func() error { return c.finish(join) },
	} {
		if err == nil {
			err = step()
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if c.rec.Written["kernel"] != 60 {
		t.Errorf("%d kernels, want 60", c.rec.Written["kernel"])
	}
	before, inside := 0, 0
	for i := range uint32(c.trace.Events.Len()) {
		if e := c.trace.Events.At(i); e.Kind == timeline.Kernel {
			switch {
			case e.End < h.Window.Start && e.Start > h.Window.Start-10e9:
				before++
			case e.Start >= h.Window.Start && e.End <= h.Window.End:
				inside++
			}
		}
	}
	if before != 30 || inside != 30 {
		t.Errorf("%d kernels before the host's window and %d inside, want 30 each", before, inside)
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

// Ticks that nothing ties to the epoch keep their durations to the nanosecond,
// however long the machine has been up.
func TestImportTicksWithoutHost(t *testing.T) {
	var dump bytes.Buffer
	const kernels = 200
	le := binary.LittleEndian
	for _, v := range []uint64{kernels * 216, 0, 0} {
		dump.Write(le.AppendUint64(nil, v))
	}
	first := uint64(101_884_000_123_456_789) // 18 months of a 2.1 GHz counter: more than a float64 counts
	length := func(i int) uint64 { return uint64(2100 + 37*i) }
	for i := range kernels {
		start := first + uint64(i)*1_000_003
		dump.Write(kernelRecord(start, start+length(i), uint32(i+1)))
	}
	names := filepath.Join(t.TempDir(), "names.tsv")
	if err := os.WriteFile(names, []byte("0x1000\tk\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tick := range []float64{0.47619, 1, 31.25} {
		got, err := importOf(t, dump.Bytes(), func(o *ImportOptions) { o.NSPerTick, o.Names = tick, names })
		if err != nil {
			t.Fatal(err)
		}
		if got.Events.Len() != kernels {
			t.Fatalf("%d events, want %d: %+v", got.Events.Len(), kernels, got.Completeness)
		}
		for i := range uint32(kernels) {
			e := got.Events.At(i)
			if want := float64(length(int(i))) * tick; math.Abs(float64(e.Duration())-want) > 1 {
				t.Errorf("ticks of %v ns: kernel %d lasts %d ns, want %v", tick, i, e.Duration(), want)
			}
		}
	}
	// A second a tick is more than there is room for.
	if _, err := importOf(t, dump.Bytes(), func(o *ImportOptions) { o.NSPerTick, o.Names = 1e9, names }); !errors.Is(err, ErrClock) {
		t.Errorf("error %v, want %v", err, ErrClock)
	}
}
