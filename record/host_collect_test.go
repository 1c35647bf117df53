package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/correlate"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// hostFolder is a spool with what a bootstrap would have left beside it. The
// spool has 100 launches, one each 10 µs from 1 ms on, calls of 1 µs.
type hostFolder struct {
	t     *testing.T
	spool string
	lines []string
	next  int64 // external id
}

// hostStep is the time between two launches of a hostFolder.
const hostStep = 10_000

func newHostFolder(t *testing.T, change func(*spool.Header)) *hostFolder {
	h := testHeader()
	if change != nil {
		change(&h)
	}
	path := makeSpool(t, h, func(w *spool.Writer) {
		healthy(w, spool.Buffer{Sequence: 1, Data: launches(100, uint64(spoolStart)+ms, 1, 1)})
	})
	return &hostFolder{t: t, spool: path, next: 1}
}

// launch returns when launch i was made.
func launchAt(i int) int64 { return spoolStart + ms + int64(i)*hostStep }

func (f *hostFolder) name(rest string) string { return strings.TrimSuffix(f.spool, spoolExt) + rest }

func (f *hostFolder) say(format string, a ...any) {
	f.lines = append(f.lines, fmt.Sprintf(format, a...))
	f.write(statusExt, strings.Join(f.lines, "\n")+"\n")
}

func (f *hostFolder) write(rest, text string) {
	f.t.Helper()
	if err := os.WriteFile(f.name(rest), []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
}

// document is that of a session around the launches from first up to but not with
// end, an operator "aten::op<i>" around each, all in "aten::all" if that is asked
// for.
func (f *hostFolder) document(first, end int, around bool) string {
	from, to := launchAt(first)-2000, launchAt(end)-4000
	us := func(ns int64) string { return fmt.Sprintf("%d.%03d", (ns-spoolStart)/1000, (ns-spoolStart)%1000) }
	var b strings.Builder
	fmt.Fprintf(&b, `{"schemaVersion": 1, "deviceProperties": [], "record_shapes": 1, "trace_id": "T%d", "baseTimeNanoseconds": %d, "displayTimeUnit": "ms", "traceEvents": [`+"\n", first, spoolStart)
	op := func(name string, start, end int64) {
		fmt.Fprintf(&b, `{"ph": "X", "cat": "cpu_op", "name": %q, "pid": 4242, "tid": 4242, "ts": %s, "dur": %s, "args": {"External id": %d, "Ev Idx": 1}},`+"\n", name, us(start), us(spoolStart+end-start), f.next)
		f.next++
	}
	if around {
		op("aten::all", from+100, to-100)
	}
	for i := first; i < end; i++ {
		op(fmt.Sprint("aten::op", i), launchAt(i)-500, launchAt(i)+1500)
	}
	fmt.Fprintf(&b, `{"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "PyTorch Profiler", "ts": %s, "dur": %s},`+"\n", us(from), us(spoolStart+to-from))
	fmt.Fprintf(&b, `{"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": %s}],`+"\n", us(to))
	b.WriteString(`"traceName": "x"}` + "\n")
	return b.String()
}

// session leaves one that was recorded and written.
func (f *hostFolder) session(n, first, end int, around bool) {
	f.say(`{"what":"open","n":%d,"ns":%d,"all_threads":true}`, n, launchAt(first)-3000)
	f.write(fmt.Sprintf(".host-%d.json", n), f.document(first, end, around))
	f.say(`{"what":"close","n":%d,"ns":%d,"file":"x"}`, n, launchAt(end)-3500)
}

func (f *hostFolder) python() {
	f.say(`{"what":"python","version":"3.12.3","torch":"2.11.0","cuda":"13.0","ns":%d}`, spoolStart)
}

// TestCollectHost reads what bootstraps leave, whole and otherwise.
func TestCollectHost(t *testing.T) {
	own := func(o *timeline.Operators) string {
		return fmt.Sprint(o.Seen, " seen, ", o.Slices, "+", o.LostSlices, " slices, ", o.LinkedByID, "+", o.LinkedByTime, " calls ", o.CallsUnlinked, ", ", o.DeviceLinked, " works ", o.DeviceUnlinked, " ", o.Noted, " ", o.Reason)
	}
	for _, c := range []struct {
		name  string
		leave func(*hostFolder)
		o     CollectOptions
		want  string
		says  string
	}{
		{name: "one slice", leave: func(f *hostFolder) { f.python(); f.session(1, 0, 100, false) },
			want: "100 seen, 1+0 slices, 0+100 calls map[], 100 works map[] map[] "},
		{name: "three slices, a late start, a gap", leave: func(f *hostFolder) {
			f.python()
			f.session(1, 10, 30, false)
			f.session(2, 30, 60, true)
			f.session(3, 70, 90, false)
		}, want: "71 seen, 3+0 slices, 0+70 calls map[after_host:10 before_host:10 between_slices:10], 70 works map[after_host:10 before_host:10 between_slices:10] map[] "},
		{name: "the last slice is lost", leave: func(f *hostFolder) {
			f.python()
			f.session(1, 0, 50, false)
			f.say(`{"what":"open","n":2,"ns":%d}`, launchAt(50)-3000)
			f.lines = append(f.lines, `{"what":"close","n":2,"n`) // cut
			f.write(statusExt, strings.Join(f.lines, "\n"))
		}, want: "50 seen, 1+1 slices, 0+50 calls map[lost_slice:50], 50 works map[lost_slice:50] map[status_lines_not_understood:1] "},
		{name: "the last slice is being recorded", leave: func(f *hostFolder) {
			f.python()
			f.session(1, 0, 50, false)
			f.say(`{"what":"open","n":2,"ns":%d}`, launchAt(50)-3000)
			f.write(".host-2.json.part", f.document(50, 100, false)[:3000])
		}, o: CollectOptions{Alive: true}, want: "50 seen, 1+0 slices, 0+50 calls map[program_session:50], 50 works map[program_session:50] map[] "},
		{name: "killed while a slice was written", leave: func(f *hostFolder) {
			f.python()
			f.session(1, 0, 50, false)
			f.say(`{"what":"open","n":2,"ns":%d}`, launchAt(50)-3000)
			f.say(`{"what":"close","n":2,"ns":%d}`, launchAt(100)-3000)
			whole := f.document(50, 100, false)
			f.write(".host-2.json.part", whole[:strings.Index(whole, "aten::op80")])
		}, want: "80 seen, 2+0 slices, 0+80 calls map[no_operator:20], 80 works map[no_operator:20] map[slices_cut:1] ", says: "host-2.json.part"},
		{name: "without a status file", leave: func(f *hostFolder) { f.write(".host-7.json", f.document(10, 20, false)) },
			want: "10 seen, 1+0 slices, 0+10 calls map[after_host:80 before_host:10], 10 works map[after_host:80 before_host:10] map[] "},
		{name: "the program's own profiler", leave: func(f *hostFolder) {
			f.python()
			f.session(1, 0, 20, false)
			f.say(`{"what":"program","on":true,"n":2,"ns":%d,"cpu":true,"cuda":true}`, launchAt(20)-3000)
			f.write(".host-2.json", f.document(20, 50, false))
			f.say(`{"what":"program","on":false,"n":2,"ns":%d}`, launchAt(50)-3000)
			f.say(`{"what":"close","n":2,"ns":%d,"program":true}`, launchAt(50)-3000)
			f.say(`{"what":"program","on":true,"n":3,"ns":%d,"cpu":false,"cuda":true}`, launchAt(50)-3000)
			f.say(`{"what":"program","on":false,"n":3,"ns":%d}`, launchAt(60)-3000)
			f.session(4, 60, 100, false)
		}, want: "90 seen, 3+0 slices, 0+90 calls map[program_session:10], 90 works map[program_session:10] map[] "},
		{name: "the same trace twice", leave: func(f *hostFolder) {
			f.session(1, 0, 50, false)
			f.next = 1
			f.session(2, 0, 50, false)
		}, want: "50 seen, 2+0 slices, 0+50 calls map[after_host:50], 50 works map[after_host:50] map[host_events_of_two_slices:50] "},
		{name: "removed with the ring", leave: func(f *hostFolder) {
			f.session(1, 0, 50, false)
			limitHost(filepath.Dir(f.spool), &Limits{RingTime: time.Nanosecond}, time.Now())
			f.session(2, 50, 100, false)
		}, want: "50 seen, 1+0 slices, 0+50 calls map[slice_removed:50], 50 works map[slice_removed:50] map[slices_removed:1] "},
		{name: "torch that was never used", leave: func(f *hostFolder) { f.python() },
			want: "0 seen, 0+0 slices, 0+0 calls map[no_host:100], 0 works map[no_host:100] map[] device_not_used"},
		{name: "a reason", leave: func(f *hostFolder) {
			f.python()
			f.say(`{"what":"reason","code":"torch_unsupported","text":"torch 1.4 has no kineto"}`)
		}, want: "0 seen, 0+0 slices, 0+0 calls map[no_host:100], 0 works map[no_host:100] map[] torch_unsupported", says: "torch 1.4"},
		{name: "Python without torch", leave: func(f *hostFolder) { os.Mkdir(filepath.Join(filepath.Dir(f.spool), pythonDir), 0o700) },
			want: "0 seen, 0+0 slices, 0+0 calls map[no_host:100], 0 works map[no_host:100] map[] no_bootstrap"},
		{name: "no document at all", leave: func(f *hostFolder) {
			f.session(1, 0, 50, false)
			f.write(".host-1.json", "what is this?")
		}, want: "0 seen, 0+1 slices, 0+0 calls map[after_host:50 lost_slice:50], 0 works map[after_host:50 lost_slice:50] map[] slices_lost", says: "host-1.json"},
		{name: "of another time", leave: func(f *hostFolder) {
			f.write(".host-1.json", strings.Replace(f.document(0, 50, false), fmt.Sprint(spoolStart), "17", 1))
		}, want: "0 seen, 0+1 slices, 0+0 calls map[no_host:100], 0 works map[no_host:100] map[host_files_not_taken:1] slices_lost", says: "not of this recording"},
		{name: "a link, a pipe, a folder", leave: func(f *hostFolder) {
			f.write("secret", f.document(0, 50, false))
			os.Symlink(f.name("secret"), f.name(".host-1.json"))
			unix.Mkfifo(f.name(".host-2.json"), 0o600)
			os.Mkdir(f.name(".host-3.json"), 0o700)
			unix.Mkfifo(f.name(statusExt), 0o600)
		}, want: "0 seen, 0+3 slices, 0+0 calls map[no_host:100], 0 works map[no_host:100] map[host_files_not_taken:4] slices_lost", says: "no regular file"},
		{name: "names that are not ours", leave: func(f *hostFolder) {
			for _, name := range []string{".host-0.json", ".host--1.json", ".host-01.json", ".host-99999999999.json", ".host-1.json.gz", ".host-x.json", "1.host-1.json"} {
				f.write(name, f.document(0, 50, false))
			}
			f.session(1, 0, 100, false)
		}, want: "100 seen, 1+0 slices, 0+100 calls map[], 100 works map[] map[] "},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newHostFolder(t, nil)
			c.leave(f)
			tr := collect(t, f.spool, c.o)
			rec := tr.Completeness
			if got := own(rec.Operators); got != c.want {
				t.Errorf("%s\nwant %s\n%q", got, c.want, rec.Diagnoses)
			}
			if rec.Verdict != timeline.Complete || rec.Written["kernel"] != 100 {
				t.Errorf("the device's side suffers: %s, %v", rec.Verdict, rec.Written)
			}
			if all := strings.Join(rec.Diagnoses, "\n"); !strings.Contains(all, c.says) || c.says == "" && all != "" {
				t.Errorf("diagnoses %q, want %q", all, c.says)
			}
		})
	}
}

// A process that replaced itself by exec has two spools and one set of the host
// side's files: each spool takes what is of its time.
func TestHostOfTwoSpools(t *testing.T) {
	f := newHostFolder(t, nil)
	f.python()
	f.say(`{"what":"open","n":1,"ns":%d}`, launchAt(0)-3000) // lost with the first program
	f.say(`{"what":"python","version":"3.13.0","torch":"2.14.0","ns":%d}`, launchAt(45))
	f.session(2, 50, 80, false)
	f.say(`{"what":"reason","code":"save_failed","text":"the last one"}`)
	f.write(".host-3.json", f.document(80, 90, false)) // no line tells of it
	h := testHeader()
	h.StartNS = launchAt(48)
	second := makeSpool(t, h, func(w *spool.Writer) {
		healthy(w, spool.Buffer{Sequence: 1, Data: launches(100, uint64(spoolStart)+ms, 1, 1)})
	})
	if err := os.Rename(second, f.name(".1.spool")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ spool, want string }{
		{f.spool, "3.12.3: 10 seen, 1+1 slices, [] before_host:0"},
		{f.name(".1.spool"), "3.13.0: 30 seen, 1+0 slices, [save_failed] before_host:2"},
	} {
		// Neither is taken for one that still records, though the process lives.
		tr := collect(t, c.spool, CollectOptions{Alive: c.spool == f.spool})
		o := tr.Completeness.Operators
		codes := []string{}
		for _, d := range tr.Completeness.Diagnoses {
			if strings.Contains(d, "the last one") {
				codes = append(codes, "save_failed")
			}
		}
		got := fmt.Sprintf("%s: %d seen, %d+%d slices, %v before_host:%d", o.Python, o.Seen, o.Slices, o.LostSlices, codes, o.CallsUnlinked[timeline.UnlinkedBeforeHost])
		if got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}

// A trace takes over what torch says of the recording, and is itself.
func TestHostMetadata(t *testing.T) {
	f := newHostFolder(t, nil)
	f.python()
	f.session(1, 0, 50, false)
	f.session(2, 50, 100, false)
	doc, _ := os.ReadFile(f.name(".host-2.json"))
	f.write(".host-2.json", strings.Replace(string(doc), `"record_shapes"`, `"distributedInfo": {"backend": "nccl", "rank": 3}, "with_stack": 1, "record_shapes"`, 1))
	tr := collect(t, f.spool, CollectOptions{})
	var keys []string
	for _, m := range tr.Metadata {
		keys = append(keys, fmt.Sprint(m.Key, "=", string(m.Raw)))
	}
	slices.Sort(keys)
	if len(keys) != 6 || keys[0] != "cupti_version=130001" || keys[1] != `distributedInfo={"backend": "nccl", "rank": 3}` ||
		!slices.Contains(keys, "record_shapes=1") || !slices.Contains(keys, "with_stack=1") || slices.Contains(keys, `trace_id="T0"`) {
		t.Errorf("metadata %q", keys)
	}
	if o := tr.Completeness.Operators; o.Framework != "2.11.0" || o.Python != "3.12.3" {
		t.Errorf("%+v", o)
	}
}

// Operators outside the recorded windows are left out, such as those of slices
// that a ring has left behind.
func TestHostOutsideWindows(t *testing.T) {
	f := newHostFolder(t, nil)
	f.session(1, 0, 100, false)
	path := makeSpool(t, testHeader(), func(w *spool.Writer) {
		_ = w.Window(spool.Window{Open: true, NS: launchAt(20) - 5000})
		_ = w.Window(spool.Window{NS: launchAt(40) - 5000})
		_ = w.Window(spool.Window{Open: true, NS: launchAt(60) - 5000})
		_ = w.Window(spool.Window{NS: launchAt(90) - 5000})
		healthy(w, spool.Buffer{Sequence: 1, Data: launches(100, uint64(spoolStart)+ms, 1, 1)})
	})
	if err := os.Rename(path, f.spool); err != nil {
		t.Fatal(err)
	}
	tr := collect(t, f.spool, CollectOptions{})
	o := tr.Completeness.Operators
	if o.Seen != 50 || o.LinkedByTime != 50 || o.Noted[correlate.HostOutOfWindow] != 50 || len(o.CallsUnlinked) > 0 {
		t.Errorf("%+v", o)
	}
	if w := tr.Window; w.Start != launchAt(20)-5000 || w.End != launchAt(90)-5000 {
		t.Errorf("window %+v", w)
	}
}

func FuzzHostFiles(f *testing.F) {
	status := `{"what":"python","version":"3.12","torch":"2.11"}` + "\n" + fmt.Sprintf(`{"what":"open","n":1,"ns":%d}`, spoolStart) + "\n" +
		fmt.Sprintf(`{"what":"program","on":true,"n":2,"ns":%d}`, spoolStart+5) + "\n{}\nnull\n" + `{"what":"step","step":3}` + "\n" + `{"what":"reason","code":"busy"}`
	folder := &hostFolder{next: 1}
	f.Add([]byte(status), []byte(folder.document(0, 3, true)), []byte(folder.document(3, 5, false)))
	f.Add([]byte(status), []byte(`[{"ph": "X", "cat": "python_function", "name": "a", "pid": 1, "tid": 1, "ts": 9e15, "dur": 9e15, "args": {"Python id": 99999999999999999}}]`), []byte{})
	f.Fuzz(func(t *testing.T, status, first, second []byte) {
		dir := t.TempDir()
		for name, data := range map[string][]byte{"1.1.host.jsonl": status, "1.1.host-1.json": first, "1.1.host-2.json.part": second, "1.1.spool": nil} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		c := newCollector("fuzz")
		r := c.readHost(filepath.Join(dir, "1.1.spool"), dir, false)
		if err := c.open(testHeader().Binding, tracer.Config{}); err != nil {
			t.Fatal(err)
		}
		c.rec.Operators = r.account()
		if err := c.finish(correlate.Options{ThreadIDs: true, HostWindows: []timeline.Window{{Start: earliest, End: latest}}}); err != nil {
			t.Fatal(err)
		}
		r.conclude(testHeader())
		n := uint32(0)
		for _, s := range c.side.sessions {
			n += s.Events
			if s.Window.End < s.Window.Start {
				t.Errorf("a session ends before it begins: %+v", s)
			}
		}
		kept := uint32(c.trace.Events.Len()) + uint32(c.rec.Operators.Noted[correlate.HostOutOfWindow])
		if n != kept {
			t.Errorf("%d events of sessions, %d kept", n, kept)
		}
		if s := c.rec.Operators; s.Slices+s.LostSlices > 2 && len(status) == 0 {
			t.Errorf("%+v", s)
		}
	})
}
