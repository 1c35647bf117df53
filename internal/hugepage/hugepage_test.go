package hugepage

import (
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"
)

// TestTables: Make and Append do what make and append do.
func TestTables(t *testing.T) {
	type wide [100]int64
	for _, n := range []int{0, 1, 1000, 100_000} {
		s := Make[wide](n)
		if len(s) != n {
			t.Errorf("Make(%d) has %d elements", n, len(s))
		}
		for i := range s {
			if s[i] != (wide{}) {
				t.Fatalf("element %d of %d is %v", i, n, s[i])
			}
		}
	}
	var s []int64
	for i := range int64(1 << 20) {
		s = Append(s, i)
	}
	for i, v := range s {
		if v != int64(i) {
			t.Fatalf("element %d is %d", i, v)
		}
	}
	if empty := Make[struct{}](1 << 40); len(empty) != 1<<40 {
		t.Errorf("elements without a size: %d", len(empty))
	}
}

func TestAround(t *testing.T) {
	for _, c := range []struct{ address, size, begin, end uintptr }{
		{0xc000000000, 4 << 20, 0xc000000000, 0xc000400000},
		{0xc000000000, 4<<20 + 1, 0xc000000000, 0xc000800000},
		{0xc0003fe000, 256 << 10, 0xc000000000, 0xc000800000},
		{0xc000401000, 256 << 10, 0xc000400000, 0xc000800000},
	} {
		if begin, end := around(c.address, c.size); begin != c.begin || end != c.end {
			t.Errorf("around(%#x, %#x) = %#x to %#x", c.address, c.size, begin, end)
		}
	}
}

// TestAdvised: the memory of a table is marked for large pages, as the kernel says
// itself ("hg" in VmFlags).
func TestAdvised(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux is asked")
	}
	size, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size")
	if strings.TrimSpace(string(size)) != "2097152" {
		t.Skip("this system has no large pages of 2 MiB")
	}
	s := Make[byte](8 << 20)
	at := uint64(uintptr(unsafe.Pointer(&s[4<<20])))
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	begins := regexp.MustCompile(`^([0-9a-f]+)-([0-9a-f]+) `)
	inside := false
	for line := range strings.Lines(string(maps)) {
		if m := begins.FindStringSubmatch(line); m != nil {
			begin, _ := strconv.ParseUint(m[1], 16, 64)
			end, _ := strconv.ParseUint(m[2], 16, 64)
			inside = begin <= at && at < end
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			if !strings.Contains(flags+" ", " hg ") {
				t.Errorf("a table's memory has the flags%s, hg is not among them", flags)
			}
			runtime.KeepAlive(s)
			return
		}
	}
	t.Skip("/proc/self/smaps does not say")
}
