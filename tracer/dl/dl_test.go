package dl

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"unsafe"
)

const someMaps = `00400000-00452000 r-xp 00000000 08:02 173521      /usr/bin/dbus-daemon
7f00d0000000-7f00d0021000 rw-p 00000000 00:00 0 
7f00e0000000-7f00e0100000 r--p 00000000 fd:01 12 /opt/a b/libcupti.so.13
7f00e0100000-7f00e0200000 r-xp 00100000 fd:01 12 /opt/a b/libcupti.so.13
7f00f0000000-7f00f0100000 r-xp 00000000 fd:01 13 /usr/lib/libcuda.so.580.82.07 (deleted)
7ffd0000-7ffe0000 rw-p 00000000 00:00 0 [stack]
nonsense /x
zz-yy r-xp 0 0 0 /y
`

func TestParseMaps(t *testing.T) {
	l := ParseMaps([]byte(someMaps))
	for addr, want := range map[uint64]string{
		0x400000: "/usr/bin/dbus-daemon", 0x452000: "", 0x7f00e01fffff: "/opt/a b/libcupti.so.13",
		0x7f00f0000001: "/usr/lib/libcuda.so.580.82.07", 1: "",
	} {
		if got := l.At(addr); got != want {
			t.Errorf("At(%#x) = %q, want %q", addr, got, want)
		}
	}
	if got, want := l.Files("libcu"), []string{"/opt/a b/libcupti.so.13", "/usr/lib/libcuda.so.580.82.07"}; !reflect.DeepEqual(got, want) {
		t.Errorf("Files: %q, want %q", got, want)
	}
}

func FuzzParseMaps(f *testing.F) {
	f.Add(someMaps)
	f.Fuzz(func(t *testing.T, s string) {
		l := ParseMaps([]byte(s))
		l.At(0x400000)
		l.Files("lib")
	})
}

func TestLoadedAndSymbols(t *testing.T) {
	l, ok := Loaded("libno-such-thing.so.1", "libc.so.6")
	if !ok || l.Name != "libc.so.6" {
		t.Fatalf("Loaded: %v %v", l, ok)
	}
	if p, err := l.Symbol("getpid"); err != nil || p == 0 {
		t.Errorf("Symbol: %v", err)
	}
	if _, err := l.Symbol("no_such_function"); !errors.Is(err, ErrSymbol) {
		t.Errorf("missing symbol: %v, want ErrSymbol", err)
	}
	p := l.Path("getpid")
	if !strings.HasPrefix(p, "/") || !strings.Contains(p, "libc") {
		t.Errorf("Path: %q", p)
	}
	// It is the one of the process map, links resolved.
	if maps, err := Maps(); err == nil && (p != maps.At(uint64(l.Func("getpid"))) || p != fileOf(l.Func("getpid"))) {
		t.Errorf("Path: %q, the map has %q, the loader %q", p, maps.At(uint64(l.Func("getpid"))), fileOf(l.Func("getpid")))
	}
	if p := fileOf(1); p != "" {
		t.Errorf("no library's: %q", p)
	}
	if _, err := Open("/no/such/library.so"); err == nil {
		t.Error("Open of a missing file succeeded")
	}
}

func TestNotFoundError(t *testing.T) {
	var err error = &NotFoundError{What: "CUPTI", Tried: []Attempt{{"a.so", "no file"}, {"b.so", "wrong class"}}}
	if !errors.Is(err, ErrNotFound) || err.Error() != "CUPTI: library not found; tried a.so (no file); b.so (wrong class)" {
		t.Errorf("%v", err)
	}
}

func TestGoString(t *testing.T) {
	b := []byte("hello\x00more")
	p := uintptr(unsafe.Pointer(&b[0]))
	if GoString(p, 100) != "hello" || GoString(p, 3) != "hel" || GoString(0, 3) != "" {
		t.Errorf("%q %q %q", GoString(p, 100), GoString(p, 3), GoString(0, 3))
	}
}

// Held, the map is read once, and again when a library was opened.
func TestHoldMaps(t *testing.T) {
	at := func() *Map {
		t.Helper()
		l, err := Maps()
		if err != nil || len(l) == 0 {
			t.Fatalf("%d mappings, %v", len(l), err)
		}
		return &l[0]
	}
	if one := at(); one == at() {
		t.Error("the map is kept though nobody holds it")
	}
	outer := HoldMaps()
	first := at()
	inner := HoldMaps()
	if at() != first {
		t.Error("the map is read anew while it is held")
	}
	inner()
	if at() != first {
		t.Error("it is let go while another holds it")
	}
	if _, err := Open("libc.so.6"); err != nil {
		t.Fatal(err)
	}
	second := at()
	if second == first {
		t.Error("it is kept though a library was opened")
	}
	if at() != second {
		t.Error("behind that it is not kept")
	}
	outer()
	if at() == second {
		t.Error("it is kept longer than it is held")
	}
}
