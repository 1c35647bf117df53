package spool

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"golang.org/x/sys/unix"
)

// last reads a spool to its end and returns its last frame.
func last(t *testing.T, path string) (f Frame, damage Damage) {
	t.Helper()
	r, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		next, err := r.Next()
		if err == io.EOF {
			if torn, why := r.Torn(); torn != 0 {
				t.Errorf("%d bytes torn: %s", torn, why)
			}
			return f, r.Damage()
		}
		if err != nil {
			t.Fatal(err)
		}
		f = next
	}
}

// fill writes frames until none goes in any more, then the last ones.
func fill(t *testing.T, w *Writer) {
	t.Helper()
	for _, n := range []int{64 << 10, 4 << 10, 256, 0} {
		for i := 0; ; i++ {
			if w.Buffer(Buffer{Data: make([]byte, n)}) != nil {
				break
			}
			if i > 1<<20 {
				t.Fatal("there is no end to the room")
			}
		}
	}
	w.UseReserve()
	if err := w.Counters(Counters{WriteErrors: w.Errors()}); err != nil {
		t.Errorf("counters: %v", err)
	}
	if err := w.End(End{Reason: "exit"}); err != nil {
		t.Errorf("end: %v", err)
	}
}

// Without room the last frames are written all the same: on a full disk ...
func TestReserveOnFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("mounting a small disk: %v", err)
	}
	defer unix.Unmount(dir, unix.MNT_DETACH)
	w, err := Create(filepath.Join(dir, "s"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	fill(t, w)
	f, d := last(t, w.Path())
	if f.Type != TypeEnd || d.Frames != 0 || d.Missing != w.Errors() {
		t.Errorf("last frame of type %d, %+v, %d errors", f.Type, d, w.Errors())
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// ... and at a limit of the file's size.
func TestReserveAtLimit(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "s"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: 200 << 10, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	fill(t, w)
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if f, _ := last(t, w.Path()); f.Type != TypeEnd {
		t.Errorf("last frame of type %d", f.Type)
	}
}

// A closed spool takes no more of the disk than it needs.
func TestReserveIsGivenBack(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "s"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	blocks := func() int64 {
		var st unix.Stat_t
		if err := unix.Stat(w.Path(), &st); err != nil {
			t.Fatal(err)
		}
		if st.Size != w.Size() {
			t.Errorf("size %d, want %d", st.Size, w.Size())
		}
		return st.Blocks * 512
	}
	if blocks() < tailRoom {
		t.Skip("the file system does not allocate ahead")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n := blocks(); n > tailRoom {
		t.Errorf("%d bytes allocated for a file of %d", n, w.Size())
	}
}

// A frame that will be tried again is not one given up.
func TestRetrying(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "s"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(w.Size()), Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	w.Retrying(true)
	for range 5 {
		if w.Diagnosis("kept") == nil {
			t.Error("written beyond the limit")
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if err := w.Diagnosis("kept"); err != nil || w.Errors() != 0 {
		t.Errorf("%v, %d errors", err, w.Errors())
	}
	if f, d := last(t, w.Path()); f.Type != TypeDiagnosis || d != (Damage{}) {
		t.Errorf("type %d, %+v", f.Type, d)
	}
}

// The program closes what it does not know and opens a file of its own: nothing
// is written there.
func TestTaken(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(filepath.Join(dir, "s"), Header{})
	if err != nil {
		t.Fatal(err)
	}
	n := w.fd.N
	theirs := filepath.Join(dir, "theirs")
	fd, err := guest.Open(theirs, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Dup3(fd, n, 0); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(n)
	if err := w.Diagnosis("text"); !errors.Is(err, ErrTaken) {
		t.Errorf("%v, want ErrTaken", err)
	}
	if b, err := os.ReadFile(theirs); err != nil || len(b) != 0 {
		t.Errorf("their file has %q, %v", b, err)
	}
}
