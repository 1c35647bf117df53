package dl

import (
	"bytes"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestPeek(t *testing.T) {
	var p Peeker
	if err := p.Ready(); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	// Twenty pages that can be read, and one behind them that cannot.
	const pages = 20
	m, err := unix.Mmap(-1, 0, (pages+1)*pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(m)
	if err := unix.Mprotect(m[pages*pageSize:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	readable := m[:pages*pageSize]
	base := uint64(uintptr(unsafe.Pointer(&m[0])))
	last := uint64(pages * pageSize)
	for _, c := range []struct {
		what string
		at   uint64
		data string
		want string
		ok   bool
	}{
		{"short", 0, "name\x00", "name", true},
		{"empty", 0, "\x00", "", true},
		{"over a page", pageSize - 2, "name\x00", "name", true},
		{"exactly to the end", last - 5, "name\x00", "name", true},
		{"without an end", last - 4, "name", "", false},
		{"two pages long", 10, strings.Repeat("x", 2*pageSize) + "\x00", strings.Repeat("x", 2*pageSize), true},
		{"too long", 0, strings.Repeat("y", maxName+100) + "\x00", strings.Repeat("y", maxName), true},
		{"unreadable", last, "", "", false},
	} {
		copy(readable[min(c.at, last):], c.data)
		got, ok := p.CString(base + c.at)
		if ok != c.ok || ok && !bytes.Equal(got, []byte(c.want)) {
			t.Errorf("%s: %.40q (%d bytes) %v, want %d bytes %v", c.what, got, len(got), ok, len(c.want), c.ok)
		}
	}
	for _, wild := range []uint64{0, 1, 8, 4095, 0x7fffffffffff, 1 << 63, ^uint64(0)} {
		if s, ok := p.CString(wild); ok {
			t.Errorf("%#x: read %q", wild, s)
		}
	}
	// The pipe is empty again after failures.
	copy(readable, "again\x00")
	if s, ok := p.CString(base); !ok || string(s) != "again" {
		t.Errorf("after failures: %q %v", s, ok)
	}
}
