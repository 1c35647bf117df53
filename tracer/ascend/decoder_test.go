package ascend_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
)

var all = tracer.Config{API: tracer.APIAll}

// Every kind, with the fields it has and no others.
func TestKinds(t *testing.T) {
	for name, b := range map[string][]byte{
		"kernel":    kernel(1000, 5000, 0, 5, 1<<40+7, pAdd),
		"calls":     concat(call(12, 10, 20, 101, 7, pRuntime), call(11, 5, 25, 101, 7, pNode), call(10, 0, 30, 101, 7, pLaunch), call(3, 0, 30, 102, 8, pLaunch)),
		"external":  concat(external(2, 0, 7), external(3, 1<<33, 7), external(4, 3, 7)),
		"copies":    concat(memcpy(2, 4096, 0, 900, 0, 0xFFFFFFFF, 3, 0), memcpy(3, 8, 1000, 1100, 0, 5, 4, 1), memcpy(4, 8, 1000, 1100, 0, 5, 5, 1), memcpy(1, 8, 1000, 1100, 0, 5, 6, 1), memcpy(5, 8, 1000, 1100, 0, 5, 7, 1), memcpy(99, 8, 1000, 1100, 0, 5, 8, 1), memset(64, 2000, 2100, 0, 5, 9)),
		"comm":      concat(communication(3, 524288, 0, 40000, 12), communication(77, 1, 0, 40000, 13), record(56, 4, map[int]any{4: epoch, 12: epoch + 100, 20: uint32(0), 24: uint32(5), 28: 12.5, 36: pReduce, 44: pGroup})),
		"markers":   concat(marker(1, 0, 1, 1, pStep, pDefault), marker(2, 0, 2, 2, pStep, pDomain), marker(16, 0, 3, 3, pStep, pDefault), marker(4, 0, 4, 2, 0, pDomain), marker(32, 0, 5, 3, 0, 0), marker(16, 1, 6, 3, pStep, 0), marker(64, 0, 6, 3, pStep, 0)),
		"memory":    record(64, 5, map[int]any{20: epoch, 28: epoch + 5}),
		"truncated": concat(kernel(1000, 5000, 0, 5, 7, pAdd), make([]byte, 3)),
		"unknown":   concat(kernel(1000, 5000, 0, 5, 7, pAdd), record(32, 99, nil), kernel(6000, 7000, 0, 5, 8, pAdd)),
	} {
		t.Run(name, func(t *testing.T) { decode(all, b).check(t, name) })
	}
}

// A kind that the library's iterator showed is stepped over, and what follows is read.
func TestLearnedKind(t *testing.T) {
	d := decode(all)
	d.Stride(99, 32)
	d.Stride(2, 56)
	d.add(tracer.Buffer{Data: concat(kernel(1000, 5000, 0, 5, 7, pAdd), record(32, 99, nil), kernel(6000, 7000, 0, 5, 8, pAdd))})
	if r := d.Report(); d.err != nil || len(d.events) != 2 || r.Skipped[99] != 1 || r.Layout != "verified" {
		t.Errorf("%v %q %+v", d.err, d.lines, r)
	}
}

// A size that is not the table's leaves the kind out, and only that.
func TestOtherSize(t *testing.T) {
	d := decode(all)
	d.Stride(2, 64)
	d.add(tracer.Buffer{Data: concat(append(kernel(1000, 5000, 0, 5, 7, pAdd), make([]byte, 8)...), call(10, 0, 30, 101, 7, pLaunch))})
	if r := d.Report(); d.err != nil || len(d.events) != 1 || r.Dropped["layout"] != 1 || r.Layout != "mismatch" || len(r.Diagnoses) != 1 {
		t.Errorf("%v %q %+v", d.err, d.lines, r)
	}
}

// Fields where a compiler puts them without packing: nothing is read from such records,
// and it is said once.
func TestShiftedFields(t *testing.T) {
	aligned := func(start, end int, id uint64) []byte {
		return record(56, 2, map[int]any{8: epoch + start, 16: epoch + end, 24: uint32(0), 28: uint32(5), 32: id, 40: pVec, 48: pAdd})
	}
	var shifted []byte
	for i := range 40 {
		shifted = append(shifted, aligned(1000*i, 1000*i+900+i, uint64(i+1))...)
	}
	calls := concat(call(10, 0, 30, 101, 7, pLaunch), call(10, 50, 80, 101, 8, pLaunch))
	d := decode(all, concat(shifted, calls), shifted)
	r := d.Report()
	if r.Dropped["layout"] != 80 || r.Received[event.Kernel] != 0 || r.Received[event.Runtime] != 2 || r.Layout != "mismatch" {
		t.Errorf("%+v", r)
	}
	if len(r.Diagnoses) != 1 || !strings.Contains(r.Diagnoses[0], "layout mismatch: records of activity kind 2 ") {
		t.Errorf("%q", r.Diagnoses)
	}
	// One is enough, even where its parts of times look like times.
	if r := decode(all, aligned(5, 9, 3)).Report(); r.Received[event.Kernel] != 0 || r.Dropped["layout"] != 1 {
		t.Errorf("%+v", r)
	}
	// Three odd records that come first do not make those behind them odd: the library hands
	// out counts of a device whose clock it has not read yet.
	raw := func(n uint64) []byte {
		k := kernel(0, 0, 0, 5, n, pAdd)
		binary.LittleEndian.PutUint64(k[4:], 1_000_000+n)
		binary.LittleEndian.PutUint64(k[12:], 1_000_500+n)
		return k
	}
	if r := decode(all, concat(raw(1), raw(2), raw(3)), concat(kernel(0, 10, 0, 5, 4, pAdd), kernel(20, 30, 0, 5, 5, pAdd))).Report(); r.Received[event.Kernel] != 2 || r.Layout != "table" || r.Dropped["layout"] != 3 {
		t.Errorf("%+v", r)
	}
	// A few odd records among good ones do not make the others odd.
	odd := kernel(40, 50, 0, 5, 3, pAdd)
	clear(odd[4:12])
	odd[5] = 1
	if r := decode(all, concat(odd, kernel(0, 10, 0, 5, 1, pAdd), kernel(20, 30, 0, 5, 2, pAdd))).Report(); r.Received[event.Kernel] < 2 || r.Layout != "table" {
		t.Errorf("%+v", r)
	}
}

// Rows of one thread that only repeat its last id lose it; those around the launch keep
// it, and the launch is told by its name.
func TestInheritedIDs(t *testing.T) {
	d := decode(all, concat(
		call(12, 100, 110, 101, 7, pRuntime), // takes it
		call(11, 90, 120, 101, 7, pNode),     // around it
		call(12, 122, 124, 101, 7, pTaskID),  // later, within the outermost
		call(10, 80, 130, 101, 7, pAdd),      // around all
		call(10, 140, 150, 101, 7, pSync),
		call(10, 160, 170, 102, 7, pSync), // another thread: it cannot have it from the first
		call(10, 180, 190, 101, 9, pLaunch),
		call(10, 200, 210, 101, 0, pSync)))
	var got []string
	for _, e := range d.events {
		got = append(got, fmt.Sprintf("%d:%v", e.Correlation, e.Has&event.StartsWork != 0))
	}
	if want := "7:true 7:true 0:false 7:false 0:false 7:false 9:true 0:false"; strings.Join(got, " ") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, " "), want)
	}
	if n := d.Report().Repaired["inherited"]; n != 2 {
		t.Errorf("%d ids taken off", n)
	}
}

func TestLevels(t *testing.T) {
	b := concat(call(10, 0, 1, 101, 7, pLaunch), call(10, 2, 3, 101, 7, pSync), call(10, 4, 5, 101, 7, pGetDevice), call(10, 6, 7, 101, 7, pTaskID))
	for level, want := range map[tracer.APILevel]uint64{tracer.APIAll: 4, tracer.APIKineto: 3, tracer.APIMinimal: 2} {
		r := decode(tracer.Config{API: level}, b).Report()
		if r.Received[event.Runtime] != want || r.Dropped["filtered_api"] != 4-want {
			t.Errorf("%s: %+v", level, r)
		}
	}
}

func TestDevices(t *testing.T) {
	b := concat(kernel(0, 1, 4, 5, 1, pAdd), kernel(2, 3, 6, 5, 2, pAdd), kernel(4, 5, 1, 5, 3, pAdd))
	for _, c := range []struct {
		visible string
		want    [3]uint32
		said    int
	}{
		{"", [3]uint32{4, 6, 1}, 0},
		{"6,4", [3]uint32{1, 0, 1}, 1}, // 1 is not among them
		{" 4 , 6 , 1", [3]uint32{0, 1, 2}, 0},
		{"all", [3]uint32{4, 6, 1}, 0},
	} {
		d := decode(tracer.Config{API: tracer.APIAll, Env: map[string]string{ascend.EnvVisible: c.visible}}, b)
		for i, e := range d.events {
			if e.Device != c.want[i] {
				t.Errorf("%q: device %d, want %d", c.visible, e.Device, c.want[i])
			}
		}
		if n := len(d.Report().Diagnoses); n != c.said {
			t.Errorf("%q: %q", c.visible, d.Report().Diagnoses)
		}
	}
}

// The library asks the runtime for the device of a copy or a fill, which gives the
// program's number: it is not to be turned into another one.
func TestDevicesOfCopies(t *testing.T) {
	b := concat(kernel(0, 1, 0, 5, 1, pAdd), memcpy(2, 64, 2, 3, 0, 5, 2, 1), memset(64, 4, 5, 1, 5, 3))
	d := decode(tracer.Config{API: tracer.APIAll, Env: map[string]string{ascend.EnvVisible: "1,0"}}, b)
	if len(d.events) != 3 || d.events[0].Device != 1 || d.events[1].Device != 0 || d.events[2].Device != 1 {
		t.Errorf("%q", d.lines)
	}
	d = decode(tracer.Config{API: tracer.APIAll, Env: map[string]string{ascend.EnvVisible: "5,3"}}, memcpy(2, 64, 2, 3, 0, 5, 2, 1))
	if n := d.Report().Diagnoses; len(n) > 0 {
		t.Errorf("%q", n)
	}
}

// What is odd and known to be is said, once.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		what string
		b    []byte
		text string
	}{
		{"two threads under one stack of external ids", concat(external(2, 1, 7), external(2, 2, 8), call(10, 0, 9, 101, 7, pLaunch), call(10, 0, 9, 102, 8, pLaunch)), "for the process and not for each thread, and 2 threads"},
		{"one thread", concat(external(2, 1, 7), call(10, 0, 9, 101, 7, pLaunch)), ""},
		{"a replayed graph", concat(kernel(0, 9, 0, 5, 1, pAdd), kernel(10, 19, 0, 5, 1, pAdd), kernel(20, 29, 0, 5, 1, pAdd)), "2 kernels have the id"},
		{"no id at all", concat(kernel(0, 9, 0, 5, 0, pAdd), kernel(10, 19, 0, 5, 0, pAdd)), ""},
		{"a clock set back", concat(kernel(0, 9000, 0, 5, 1, pAdd), kernel(2000, 19000, 0, 5, 2, pAdd), kernel(20000, 20009, 0, 5, 3, pAdd)), "1 kernels begin before the one before them in their stream has ended, by 7000 ns"},
		{"two streams", concat(kernel(0, 9000, 0, 5, 1, pAdd), kernel(2000, 19000, 0, 6, 2, pAdd)), ""},
	} {
		got := strings.Join(decode(all, c.b).Report().Diagnoses, "\n")
		if !strings.Contains(got, c.text) || c.text == "" && got != "" {
			t.Errorf("%s: %q, want %q", c.what, got, c.text)
		}
	}
}

func TestImplausible(t *testing.T) {
	good := concat(kernel(0, 9, 0, 5, 1, pAdd), kernel(10, 19, 0, 5, 2, pAdd), kernel(20, 29, 0, 5, 3, pAdd))
	untimed := kernel(0, 0, 0, 5, 4, pAdd)
	clear(untimed[4:20])
	b := concat(good, untimed, kernel(500, 100, 0, 5, 5, pAdd), kernel(9_000_000, 1, 0, 5, 6, pAdd), kernel(0, 4e12, 0, 5, 7, pAdd), kernel(30, 39, 0, 5, 8, 0xdead))
	d := decode(all, b)
	r := d.Report()
	if r.Dropped["untimed"] != 1 || r.Dropped["negative"] != 1 || r.Dropped["too_long"] != 1 || r.Repaired["clamped"] != 1 || r.Repaired["unnamed"] != 1 || r.Received[event.Kernel] != 5 {
		t.Errorf("%+v", r)
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		b    []byte
		err  error
		lost uint64
	}{
		{[]byte{1, 2}, ascend.ErrTruncated, 2},
		{kernel(0, 9, 0, 5, 1, pAdd)[:50], ascend.ErrTruncated, 50},
		{binary.LittleEndian.AppendUint32(nil, 0), ascend.ErrUnknownKind, 4},
		{record(40, 13, nil), ascend.ErrUnknownKind, 40},
	} {
		d := decode(all, c.b)
		if !errors.Is(d.err, c.err) || d.Report().LostBytes != c.lost || !strings.HasPrefix(d.err.Error(), "buffer 0: byte 0 of the buffer: ") {
			t.Errorf("%v, lost %d", d.err, d.Report().LostBytes)
		}
	}
}

func TestOffered(t *testing.T) {
	if tracer.Offered(ascend.Name, event.Sync) || !tracer.Offered(ascend.Name, event.Memcpy) || !tracer.Offered("cupti", event.Sync) {
		t.Error("what the library has to offer")
	}
}
