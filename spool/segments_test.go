package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// texts lists the frames of a file as text, without those of the header.
func texts(t *testing.T, path string) (list []string, h Header) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Type == TypeHeader {
			if h, err = f.Header(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		list = append(list, fmt.Sprintf("%d %q", f.Type, f.Payload))
	}
	if d := r.Damage(); d != (Damage{}) {
		t.Errorf("%s: %+v", path, d)
	}
	return list, h
}

// A segment begins with what stood in those before it, of each the last, and
// without their buffers.
func TestSegments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "7.9.spool")
	w, err := Create(path, Header{PID: 7})
	if err != nil {
		t.Fatal(err)
	}
	w.KeepSegments()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(w.Names([]Name{{1, "one"}, {2, "two"}}))
	ok(w.Stride(10, 216))
	ok(w.CallbackName(1, 2, "cudaThis"))
	ok(w.Thread(Thread{TID: 5, Name: "early"}))
	ok(w.Buffer(Buffer{Data: []byte("first")}))
	ok(w.Counters(Counters{Flushes: 1}))
	w, err = w.Next(Header{PID: 7, Segment: 1, SegmentNS: 100})
	ok(err)
	ok(w.Names([]Name{{1, "renamed"}}))
	ok(w.Thread(Thread{TID: 5, Name: "late"}))
	ok(w.Devices([]tracer.Device{{Name: "d"}}))
	ok(w.Requested([]string{"kernel"}))
	ok(w.Loss(Loss{Code: "x"}))
	ok(w.Diagnosis("said"))
	ok(w.Window(Window{Open: true, NS: 3}))
	for i := range int64(2 * keptClocks) {
		ok(w.Clock(Clock{Realtime: i}))
	}
	ok(w.Buffer(Buffer{Data: []byte("second")}))
	w, err = w.Next(Header{PID: 7, Segment: 2, SegmentNS: 200})
	ok(err)
	ok(w.Buffer(Buffer{Data: []byte("third")}))
	ok(w.Close())

	files, err := Segments(path)
	if want := []string{path + ".0", path + ".1", path}; err != nil || !slices.Equal(files, want) {
		t.Fatalf("%v %v", files, err)
	}
	list, h := texts(t, path)
	text := strings.Join(list, "\n")
	if h.Segment != 2 || h.SegmentNS != 200 {
		t.Errorf("%+v", h)
	}
	for _, want := range []string{"renamed", "two", "cudaThis", "late", `\"name\":\"d\"`, "kernel", `\"code\":\"x\"`, "said", `\"ns\":3`, "third"} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%s is there %d times:\n%s", want, strings.Count(text, want), text)
		}
	}
	for _, gone := range []string{"first", "second", "early", `"one"`, "flushes"} {
		if strings.Contains(text, gone) {
			t.Errorf("%s is there:\n%s", gone, text)
		}
	}
	if n := strings.Count(text, fmt.Sprintf("%d \"", TypeClock)); n != keptClocks {
		t.Errorf("%d clocks", n)
	}
	size, err := RemoveSegment(path, 0)
	if err != nil || size == 0 {
		t.Errorf("%d %v", size, err)
	}
	if n, err := RemoveSegment(path, 0); n != 0 || err != nil {
		t.Errorf("again: %d %v", n, err)
	}
	if files, _ = Segments(path); len(files) != 2 {
		t.Errorf("%v", files)
	}
}

// Whenever the process dies, what is left is told apart.
func TestSegmentsLeftOver(t *testing.T) {
	make := func(path string, n int) {
		w, err := Create(path, Header{Segment: n})
		if err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
	}
	for _, c := range []struct {
		name  string
		next  int // number of the file with that extension
		newer bool
	}{{"before the swap", 2, true}, {"after it", 0, false}} {
		path := filepath.Join(t.TempDir(), "7.9.spool")
		make(path, 1)
		make(path+nextExt, c.next)
		want := []string{path + nextExt, path}
		if c.newer {
			want = want[1:]
		}
		if got, err := Segments(path); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v %v", c.name, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "7.9.spool")
	make(path, 0)
	for _, other := range []string{".x", ".-1", "x.1", ".1.sock"} {
		make(path+other, 0)
	}
	if err := os.Symlink("/etc/passwd", path+".3"); err != nil {
		t.Fatal(err)
	}
	if got, err := Segments(path); err != nil || !slices.Equal(got, []string{path}) {
		t.Errorf("%v %v", got, err)
	}
}

// Where there is no room for the next, the writer goes on as it was.
func TestNextFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "7.9.spool")
	w, err := Create(path, Header{})
	if err != nil {
		t.Fatal(err)
	}
	w.KeepSegments()
	if err := os.Mkdir(path+nextExt, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(Header{Segment: 1}); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := w.Buffer(Buffer{Data: []byte("more")}); err != nil {
		t.Error(err)
	}
	_ = w.Close()
	if list, h := texts(t, path); len(list) != 1 || h.Segment != 0 {
		t.Errorf("%v %+v", list, h)
	}
}
