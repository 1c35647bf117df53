package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/summary"
)

// traces are those of the repository, and the shared ones where they are there.
func traces(t *testing.T) []string {
	list, err := filepath.Glob(pairs + "*.kineto.json.gz")
	if err != nil || len(list) == 0 {
		t.Fatalf("there is no trace in %s: %v", pairs, err)
	}
	if dir, ok := testrig.FindShared("traces"); ok {
		for _, pattern := range []string{"torch-cuda/*.json.gz", "public/*.gz", "public/*.json", "public/*.zip"} {
			more, _ := filepath.Glob(filepath.Join(dir, pattern))
			list = append(list, more...)
		}
	}
	return list
}

// check holds what is shown over time and in the flame graph against the summary.
func check(t *testing.T, name string, r *Report) {
	t.Helper()
	side := r.Sides[0]
	s := side.Summary
	equal := func(what string, got, want int64) {
		if got != want {
			t.Errorf("%s: %s is %d, not %d", name, what, got, want)
		}
	}
	if len(side.Traces) != len(s.Traces) {
		t.Fatalf("%s: %d traces are shown, not %d", name, len(side.Traces), len(s.Traces))
	}
	var known int64
	for i, v := range side.Traces {
		of := &s.Traces[i]
		if v.Name != of.Name || v.WindowNS != of.WindowNS || len(v.Devices) != len(of.Devices) {
			t.Fatalf("%s: trace %d is %s of %d ns with %d devices, not %s of %d ns with %d", name, i, v.Name, v.WindowNS, len(v.Devices), of.Name, of.WindowNS, len(of.Devices))
		}
		for k := range v.Devices {
			d, want := &v.Devices[k], &of.Devices[k]
			var sum int64
			got := map[string]int64{}
			for key, bins := range d.Busy {
				if len(bins) != d.Bins {
					t.Errorf("%s: %s has %d bins, not %d", name, key, len(bins), d.Bins)
				}
				for _, ns := range bins {
					got[key] += ns
					sum += ns
				}
			}
			equal("window in bins", sum, want.WindowNS)
			for key, ns := range map[string]int64{
				"idle_ns": want.Idle.Total(), "compute_ns": want.Busy.ComputeNS, "communication_ns": want.Busy.CommunicationNS, "copy_ns": want.Busy.CopyNS,
				"compute_and_communication_ns": want.Busy.ComputeCommunicationNS, "compute_and_copy_ns": want.Busy.ComputeCopyNS,
				"communication_and_copy_ns": want.Busy.CommunicationCopyNS, "compute_communication_and_copy_ns": want.Busy.AllNS,
			} {
				equal(key+" in bins", got[key], ns)
			}
			if d.Label != want.Label {
				t.Errorf("%s: device %q, not %q", name, d.Label, want.Label)
			}
			if d.Occupancy != nil {
				known += d.Occupancy.KnownNS
				for b, v := range d.Occupancy.Resident {
					if v != nil && (*v < 0 || *v > 1 || *v > *d.Occupancy.Theoretical[b]+1e-3) {
						t.Errorf("%s: bin %d has occupancies %v and %v", name, b, *v, *d.Occupancy.Theoretical[b])
					}
				}
			}
		}
		var spans, ns int64
		for k := range v.Rows {
			row := &v.Rows[k]
			checkPieces(t, name, v, row)
			if row.Kind == RowStream {
				spans, ns = spans+row.Spans, ns+row.NS
			}
		}
		var works, device int64
		for k := range of.Devices {
			works, device = works+of.Devices[k].Works, device+of.Devices[k].DeviceNS
		}
		equal("spans of streams", spans, works)
		equal("time of streams", ns, device)
	}
	if s.Occupancy != nil {
		equal("time of known occupancy", known, s.Occupancy.CalculableNS)
	}
	var device, count int64
	for i := 0; i < len(r.Flame.Frames); i += FrameLen {
		f := r.Flame.Frames[i : i+FrameLen]
		if f[0] < 0 {
			device, count = device+f[3], count+f[4]
		} else if f[0] >= int64(i/FrameLen) {
			t.Fatalf("%s: frame %d stands before its parent %d", name, i/FrameLen, f[0])
		}
		if f[1] < 0 || f[1] >= int64(len(r.Names)) || f[2] < 0 || f[2] >= int64(len(r.Flame.Classes)) {
			t.Fatalf("%s: frame %d is %v", name, i/FrameLen, f)
		}
	}
	var work measure.Measures
	if s.Work != nil {
		work = *s.Work
	}
	equal("device time of the flame graph", device, work.DeviceNS)
	equal("spans of the flame graph", count, work.Works)
	checkFrames(t, name, &r.Flame)
}

// checkPieces checks that the pieces of a row are in order, inside the window, and
// stand for all spans.
func checkPieces(t *testing.T, name string, v *TraceView, row *Row) {
	t.Helper()
	var at, spans, covered int64
	text, err := row.Pieces.MarshalJSON()
	var list []int64
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil || len(list) != PieceLen*len(row.Pieces) {
		t.Fatalf("%s: %s: %d integers of %d pieces: %v", name, row.Label, len(list), len(row.Pieces), err)
	}
	for i := 0; i < len(list); i += PieceLen {
		p := list[i : i+PieceLen]
		at += p[0]
		if p[0] < 0 && i > 0 || p[1] < 0 || p[4] < 1 || p[5] > p[1] || p[4] == 1 && p[5] != p[1] {
			t.Fatalf("%s: %s: piece %d is %v", name, row.Label, i/PieceLen, p)
		}
		if row.Kind == RowStream && (at < 0 || at+p[1] > v.WindowNS) {
			t.Errorf("%s: %s: piece %d is at %d to %d of %d", name, row.Label, i/PieceLen, at, at+p[1], v.WindowNS)
		}
		spans += p[4]
		covered += p[5]
	}
	if spans != row.Spans || covered > row.NS || v.ResolutionNS == 0 && covered != row.NS {
		t.Errorf("%s: %s: pieces stand for %d spans of %d ns, not %d of %d", name, row.Label, spans, covered, row.Spans, row.NS)
	}
}

// checkFrames checks that no frame is smaller than what stands on it.
func checkFrames(t *testing.T, name string, f *Flame) {
	t.Helper()
	n := len(f.Frames) / FrameLen
	on := make([][2 * frameValues]int64, n)
	for i := range n {
		v := f.Frames[i*FrameLen : (i+1)*FrameLen]
		if v[0] >= 0 {
			for k := range on[v[0]] {
				on[v[0]][k] += v[3+k]
			}
		}
	}
	for i := range n {
		for k, sum := range on[i] {
			if v := f.Frames[i*FrameLen+3+k]; v < sum {
				t.Errorf("%s: frame %d has %d of value %d, and %d stand on it", name, i, v, k, sum)
			}
		}
	}
	if n > 2*maxFrames {
		t.Errorf("%s: there are %d frames", name, n)
	}
}

func TestSumsAreThoseOfTheSummary(t *testing.T) {
	for _, path := range traces(t) {
		if _, err := summary.Files([]string{path}, summary.Options{}); err != nil {
			if _, err := Files([]string{path}, Options{NoFindings: true}); err == nil {
				t.Errorf("%s: a report is made of what a summary is not", path)
			}
			continue
		}
		r, err := Files([]string{path}, Options{NoFindings: true})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		check(t, filepath.Base(path), r)
		if info, err := os.Stat(path); err == nil && testing.Verbose() {
			t.Logf("%s: %d bytes, %d frames, %d names", filepath.Base(path), info.Size(), len(r.Flame.Frames)/FrameLen, len(r.Names))
		}
	}
}

func TestRanks(t *testing.T) {
	r, err := Files([]string{pairs + "ddp.rank1.kineto.json.gz", pairs + "ddp.rank0.kineto.json.gz"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "ddp", r)
	s := r.Sides[0]
	if !s.OneClock || !strings.Contains(s.Traces[0].Name, "rank0") {
		t.Errorf("one clock: %v; the first is %s", s.OneClock, s.Traces[0].Name)
	}
	if least := min(s.Traces[0].OffsetNS, s.Traces[1].OffsetNS); least != 0 {
		t.Errorf("the first trace begins at %d", least)
	}
	for _, v := range s.Traces {
		if end := v.OffsetNS + v.WindowNS; end > s.SpanNS {
			t.Errorf("%s ends at %d of %d", v.Name, end, s.SpanNS)
		}
	}
	found := map[string]bool{}
	for _, table := range s.Tables {
		found[table.Name] = true
	}
	for _, name := range []string{"ranks", "rank_kinds"} {
		if !found[name] {
			t.Errorf("there is no table %s", name)
		}
	}
	if len(s.Findings) == 0 || len(s.NotValidated) > 0 {
		t.Errorf("findings: %.40s, %v", s.Findings, s.NotValidated)
	}
}

func TestApart(t *testing.T) {
	r, err := Files([]string{pairs + "basic.kineto.json.gz", pairs + "train.kineto.json.gz"}, Options{NoFindings: true})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Sides[0]
	if s.OneClock || s.Traces[0].OffsetNS != 0 || s.Traces[1].OffsetNS != 0 || s.SpanNS != max(s.Traces[0].WindowNS, s.Traces[1].WindowNS) {
		t.Errorf("two traces of different times: %+v %d %d", s.OneClock, s.Traces[0].OffsetNS, s.Traces[1].OffsetNS)
	}
}

func TestDiff(t *testing.T) {
	// A trace against itself differs in nothing; against another in what it has more.
	same, err := Files([]string{pairs + "train.kineto.json.gz"}, Options{Base: []string{pairs + "train.kineto.json.gz"}, NoFindings: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range same.Diff.Whole {
		if row.Base != row.New {
			t.Errorf("%s: %v and %v of one trace", row.Name, row.Base, row.New)
		}
	}
	for i := 0; i < len(same.Flame.Frames); i += FrameLen {
		f := same.Flame.Frames[i : i+FrameLen]
		if f[3] != f[6] || f[4] != f[7] || f[5] != f[8] {
			t.Fatalf("frame %d: %v", i/FrameLen, f)
		}
	}
	other, err := Files([]string{pairs + "train.kineto.json.gz"}, Options{Base: []string{pairs + "comp.kineto.json.gz"}, NoFindings: true})
	if err != nil {
		t.Fatal(err)
	}
	d := other.Diff
	if d.Verdict == "" || len(d.Tables) < 2 || d.Tables[0].By != "operator" {
		t.Fatalf("%+v", d)
	}
	for side, of := range other.Sides {
		sum := 0.0
		for _, row := range d.Tables[0].Rows {
			sum += [2]float64{row.New, row.Base}[side]
		}
		if int64(sum) != of.Summary.Work.DeviceNS {
			t.Errorf("%s: operators add up to %v, not %d", of.Label, sum, of.Summary.Work.DeviceNS)
		}
	}
}

func TestErrors(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing.json")
	if _, err := Files([]string{missing}, Options{}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := Files([]string{pairs + "basic.kineto.json.gz"}, Options{Base: []string{missing}}); err == nil || !strings.Contains(err.Error(), missing) {
		t.Errorf("a base that is not there: %v", err)
	}
	if _, err := Files([]string{"data_test.go"}, Options{}); err == nil {
		t.Error("a report of what is no trace")
	}
}
