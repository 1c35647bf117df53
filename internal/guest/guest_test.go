package guest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReadFile(t *testing.T) {
	p := filepath.Join(t.TempDir(), "file")
	for _, want := range []string{"", "x", strings.Repeat("long ", 5000)} {
		if err := os.WriteFile(p, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadFile(p); err != nil || string(got) != want {
			t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
		}
	}
	if _, err := ReadFile(p + ".none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if b, err := ReadFile("/proc/self/stat"); err != nil || len(b) == 0 {
		t.Errorf("/proc: %q %v", b, err)
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	var want []string
	for i := range 600 { // more than fit one call
		want = append(want, strings.Repeat("n", 20)+string(rune('a'+i/26))+string(rune('a'+i%26)))
		if err := os.WriteFile(filepath.Join(dir, want[i]), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Names(dir)
	slices.Sort(got)
	slices.Sort(want)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d names, %v, want %d", len(got), err, len(want))
	}
	if _, err := Names(filepath.Join(dir, want[0])); err == nil {
		t.Error("names of a file")
	}
}

// A kept descriptor is known not to be ours once the program used its number.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	open := func(name string) int {
		fd, err := Open(filepath.Join(dir, name), unix.O_RDWR|unix.O_CREAT, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	low := open("a")
	f := Keep(low)
	if f.N == low || !f.Ours() {
		t.Fatalf("kept %d as %d, ours %v", low, f.N, f.Ours())
	}
	if flags, err := unix.FcntlInt(uintptr(f.N), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("flags %x, %v", flags, err)
	}
	unix.Close(f.N)
	if f.Ours() {
		t.Error("a closed descriptor is ours")
	}
	other := open("b")
	defer unix.Close(other)
	if err := unix.Dup3(other, f.N, unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	if f.Ours() {
		t.Error("another file is ours")
	}
	n := f.N
	if err := f.Close(); err == nil {
		t.Error("the program's descriptor was closed")
	}
	if err := unix.Close(n); err != nil {
		t.Errorf("the program's descriptor is gone: %v", err)
	}
	if f.Close() != nil {
		t.Error("closing twice")
	}
}

func TestCanOpen(t *testing.T) {
	if !CanOpen(4) || CanOpen(1<<21) {
		t.Error("CanOpen")
	}
}
