package outfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, dir string) int {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	plain, link, dangling := filepath.Join(dir, "plain"), filepath.Join(dir, "link"), filepath.Join(dir, "dangling")
	for l, to := range map[string]string{link: "plain", dangling: filepath.Join(dir, "made")} {
		if err := os.Symlink(to, l); err != nil {
			t.Fatal(err)
		}
	}
	write(t, plain, "old")
	write(t, link, "new")
	write(t, dangling, "made")
	for path, want := range map[string]string{plain: "new", filepath.Join(dir, "made"): "made"} {
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s holds %q, want %q", path, got, want)
		}
	}
	for _, l := range []string{link, dangling} {
		if st, err := os.Lstat(l); err != nil || st.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
	if n := files(t, dir); n != 4 {
		t.Errorf("%d files, want 4", n)
	}
	if _, err := Create(dir); !errors.Is(err, ErrFolder) {
		t.Errorf("a folder: %v", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if _, err := Create(loop); err == nil {
		t.Error("a loop of links was followed to its end")
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	write(t, path, "old")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(f, "half")
	f.Abort()
	if got, _ := os.ReadFile(path); string(got) != "old" || files(t, dir) != 1 {
		t.Errorf("after Abort: %q and %d files", got, files(t, dir))
	}
}

// A pipe under /dev/fd, as a shell's /dev/stdout is, is written to and stays.
func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink("/proc/self/fd/"+strconv.Itoa(int(w.Fd())), link); err != nil {
		t.Fatal(err)
	}
	if !IsStream(link) {
		t.Error("a pipe is no stream")
	}
	write(t, link, "text")
	w.Close()
	got, err := io.ReadAll(r)
	if err != nil || string(got) != "text" {
		t.Errorf("read %q, %v", got, err)
	}
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
}

// TestDescriptor: a file that a shell has opened is written on in, not replaced.
func TestDescriptor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	log, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	number := strconv.Itoa(int(log.Fd()))
	link := filepath.Join(t.TempDir(), "stdout")
	if err := os.Symlink("/proc/self/fd/"+number, link); err != nil {
		t.Fatal(err)
	}
	io.WriteString(log, "before ")
	write(t, "/dev/fd/"+number, "one ")
	write(t, link, "two ")
	f, err := Create(link)
	if err != nil {
		t.Fatal(err)
	}
	f.Abort() // closes a copy
	io.WriteString(log, "after")
	if got, _ := os.ReadFile(path); string(got) != "before one two after" {
		t.Errorf("the file holds %q", got)
	}
	if _, err := Create("/dev/fd/99999"); !errors.Is(err, unix.EBADF) {
		t.Errorf("a descriptor that is not open: %v", err)
	}
}

func TestDevNull(t *testing.T) {
	write(t, os.DevNull, "text")
	if !IsStream(os.DevNull) {
		t.Fatal("/dev/null is no device any more")
	}
}

// TestKeepSince: what came after a time is not replaced, what was there before is.
func TestKeepSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "result")
	write(t, path, "earlier")
	time.Sleep(20 * time.Millisecond) // the clock of files is coarse
	since := time.Now()
	time.Sleep(20 * time.Millisecond)
	for i, want := range []error{nil, ErrTaken} {
		if Taken(path, since) != (want != nil) {
			t.Errorf("write %d: taken is %v", i, want == nil)
		}
		f, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		f.KeepSince(since)
		if _, err := f.WriteString(strconv.Itoa(i)); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); !errors.Is(err, want) {
			t.Errorf("write %d: %v", i, err)
		}
		if text, _ := os.ReadFile(path); string(text) != "0" {
			t.Errorf("write %d: the file holds %q", i, text)
		}
	}
	if n := files(t, filepath.Dir(path)); n != 1 {
		t.Errorf("%d files", n)
	}
}

// TestPrivate: what replaces a file is as private as that.
func TestPrivate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, mode := range []os.FileMode{0o600, 0o640, 0o666} {
		os.Remove(path)
		write(t, path, "old")
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		write(t, path, "new")
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%v became %v, %v", mode, st.Mode(), err)
		}
	}
	if _, err := Create(""); err == nil {
		t.Error("an empty name is created")
	}
}

// TestErrors name the file that was asked for, never the temporary one.
func TestErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "none", "f.json")
	_, err := Create(path)
	if want := path + ": there is no folder " + filepath.Join(dir, "none") + ": "; err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no folder: %v", err)
	}
	long := filepath.Join(dir, strings.Repeat("x", 250)) // with what makes it temporary it is too long
	if _, err = Create(long); err == nil || strings.Contains(err.Error(), ".tmp") || !errors.Is(err, unix.ENAMETOOLONG) {
		t.Errorf("a long name: %v", err)
	}
	path = filepath.Join(dir, "f.json")
	f, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Abort()
	if err := os.MkdirAll(filepath.Join(path, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err == nil || !strings.Contains(err.Error(), path+": ") || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("a folder came in between: %v", err)
	}
	if _, err := f.Write([]byte("x")); err == nil || strings.Contains(err.Error(), ".tmp") {
		t.Errorf("writing to what is closed: %v", err)
	}
	if n := files(t, dir); n != 1 {
		t.Errorf("%d files are left", n)
	}
}
