package bind

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/flagos-ai/flagos-trace/tracer/dl"
	"golang.org/x/sys/unix"
)

// findings collects what inspect told.
type findings struct {
	names     map[uint64]string
	strides   map[uint32]uint32
	offsets   []uint32
	diagnoses []string
	full      bool // names are not kept
}

func (f *findings) Name(p uint64, n string) bool       { f.names[p] = n; return !f.full }
func (f *findings) Stride(k, n uint32)                 { f.strides[k] = n }
func (f *findings) CallbackName(_, _ uint32, _ string) {}
func (f *findings) Offsets(o []uint32)                 { f.offsets = append([]uint32{}, o...) }
func (f *findings) Diagnose(s string)                  { f.diagnoses = append(f.diagnoses, s) }
func newFindings() *findings {
	return &findings{names: map[uint64]string{}, strides: map[uint32]uint32{}}
}

// cName is a name in memory that does not move.
func cName(t *testing.T, s string) uint64 {
	t.Helper()
	m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(m) })
	copy(m, s)
	return uint64(uintptr(unsafe.Pointer(&m[0])))
}

// records builds a buffer of records: kind, size, name pointer.
func records(list ...[3]uint64) (data []byte, starts []uint32) {
	for _, r := range list {
		starts = append(starts, uint32(len(data)))
		rec := make([]byte, r[1])
		binary.LittleEndian.PutUint32(rec, uint32(r[0]))
		if r[0] == 10 && len(rec) >= 112 {
			binary.LittleEndian.PutUint64(rec[104:], r[2])
		}
		data = append(data, rec...)
	}
	return data, starts
}

// newInspector has an iterator that goes by the starts it is given, ending with
// the result.
func newInspector(api uint32, starts *[]uint32, result uint32) *inspector {
	in := &inspector{}
	in.init(api, "libcupti.so.13", 0, 0)
	in.next = func(data []byte, rec *uintptr) uint32 {
		base := dl.BytesPtr(data)
		i := 0
		if *rec != 0 {
			for i < len(*starts) && base+uintptr((*starts)[i]) != *rec {
				i++
			}
			i++
		}
		if i >= len(*starts) {
			return result
		}
		*rec = base + uintptr((*starts)[i])
		return resultOK
	}
	return in
}

func TestInspect(t *testing.T) {
	name := cName(t, "kernel_a")
	for _, c := range []struct {
		what    string
		list    [][3]uint64
		result  uint32
		strides map[uint32]uint32
		offsets bool
		text    string // of a diagnosis
		named   bool
	}{
		{"as the table has it", [][3]uint64{{10, 216, name}, {5, 40, 0}, {10, 216, name}}, resultMaxLimit, map[uint32]uint32{10: 216, 5: 40}, false, "", true},
		{"another size", [][3]uint64{{10, 224, name}, {5, 40, 0}}, resultMaxLimit, map[uint32]uint32{10: 224, 5: 40}, false, "activity kind 10 should be 216 bytes and are 224", true},
		{"a kind nobody knows", [][3]uint64{{777, 64, 0}, {10, 216, name}}, resultMaxLimit, map[uint32]uint32{777: 64, 10: 216}, false, "", true},
		{"sizes that differ", [][3]uint64{{700, 64, 0}, {700, 72, 0}, {10, 216, name}}, resultMaxLimit, map[uint32]uint32{700: 64, 10: 216}, true, "differ in size, 64 and 72", true},
		{"a kind that cannot be", [][3]uint64{{70000, 64, 0}, {10, 216, name}}, resultMaxLimit, map[uint32]uint32{10: 216}, true, "", true},
		{"an iterator that gives up", [][3]uint64{{10, 216, name}, {5, 40, 0}}, 21, map[uint32]uint32{10: 216}, true, "ended with result 21", true},
		{"wild names", [][3]uint64{{10, 216, 8}, {10, 216, 0}, {10, 216, 0xdeadbeefdeadbeef}}, resultMaxLimit, map[uint32]uint32{10: 216}, false, "", false},
		{"empty", nil, resultMaxLimit, map[uint32]uint32{}, false, "", false},
	} {
		t.Run(c.what, func(t *testing.T) {
			data, starts := records(c.list...)
			in, f := newInspector(130001, &starts, c.result), newFindings()
			if err := in.inspect(data, f); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(f.strides, c.strides) {
				t.Errorf("strides %v, want %v", f.strides, c.strides)
			}
			if (f.offsets != nil) != c.offsets || c.offsets && !reflect.DeepEqual(f.offsets, starts) {
				t.Errorf("offsets %v, starts %v", f.offsets, starts)
			}
			if got := strings.Join(f.diagnoses, "\n"); !strings.Contains(got, c.text) || c.text == "" && got != "" {
				t.Errorf("diagnoses %q, want %q", got, c.text)
			}
			want := map[uint64]string{}
			if c.named {
				want[name] = "kernel_a"
			}
			if !reflect.DeepEqual(f.names, want) {
				t.Errorf("names %v, want %v", f.names, want)
			}
		})
	}
}

// Once strides are known the iterator is not asked again, until a buffer does
// not come out even.
func TestInspectSecondBuffer(t *testing.T) {
	list := [][3]uint64{{10, 216, 0}, {5, 40, 0}}
	data, starts := records(list...)
	in := newInspector(130001, &starts, resultMaxLimit)
	asked, next := 0, in.next
	in.next = func(d []byte, r *uintptr) uint32 { asked++; return next(d, r) }
	if in.inspect(data, newFindings()); asked != 3 {
		t.Errorf("first buffer: iterator asked %d times, want 3", asked)
	}
	f := newFindings()
	if in.inspect(data, f); asked != 3 || len(f.strides) != 0 {
		t.Errorf("second buffer: iterator asked %d times, strides %v", asked-3, f.strides)
	}
	data, starts = records([3]uint64{10, 216, 0}, [3]uint64{5, 48, 0}, [3]uint64{10, 216, 0})
	if in.inspect(data, f); !reflect.DeepEqual(f.offsets, starts) || len(f.diagnoses) != 1 {
		t.Errorf("uneven buffer: offsets %v, want %v; %q", f.offsets, starts, f.diagnoses)
	}
}

// Without an iterator the table must do.
func TestInspectWithoutIterator(t *testing.T) {
	data, _ := records([3]uint64{10, 216, 0}, [3]uint64{5, 40, 0})
	in := newInspector(130001, new([]uint32), 0)
	in.next = nil
	f := newFindings()
	if in.inspect(data, f); len(f.diagnoses) != 0 || len(f.strides) != 0 {
		t.Errorf("%+v", f)
	}
	data, _ = records([3]uint64{777, 64, 0})
	if in.inspect(data, f); len(f.diagnoses) != 1 {
		t.Errorf("unknown kind: %q", f.diagnoses)
	}
}

// A pointer whose string changes is told again; one that can no longer be read
// keeps its name.
func TestInspectNameChanges(t *testing.T) {
	m, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	p := uint64(uintptr(unsafe.Pointer(&m[0])))
	data, starts := records([3]uint64{10, 216, p})
	in := newInspector(130001, &starts, resultMaxLimit)
	var got []string
	look := func() {
		f := newFindings()
		in.inspect(data, f)
		got = append(got, fmt.Sprint(f.names[p]))
	}
	copy(m, "first\x00")
	look()
	look()
	copy(m, "second\x00")
	look()
	unix.Munmap(m)
	look()
	if want := []string{"first", "", "second", ""}; !reflect.DeepEqual(got, want) {
		t.Errorf("told %q, want %q", got, want)
	}
}

func FuzzInspect(f *testing.F) {
	data, _ := records([3]uint64{10, 216, 8}, [3]uint64{5, 40, 0})
	f.Add(data, uint16(216), uint16(40), uint32(12))
	f.Add([]byte{1, 2, 3}, uint16(0), uint16(3), uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, a, b uint16, result uint32) {
		if result == 0 {
			result = 12
		}
		starts := []uint32{0, uint32(a), uint32(a) + uint32(b)}
		in := newInspector(130001, &starts, result)
		for range 2 {
			if err := in.inspect(data, newFindings()); err != nil {
				t.Fatal(err)
			}
		}
		in.names.Peek.Close()
	})
}

func BenchmarkInspect(b *testing.B) {
	var list [][3]uint64
	for range 8000 {
		list = append(list, [3]uint64{5, 40, 0}, [3]uint64{10, 216, 0})
	}
	data, starts := records(list...)
	in := newInspector(130001, &starts, resultMaxLimit)
	in.stride[5], in.stride[10] = 40, 216
	f := newFindings()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		in.inspect(data, f)
	}
}

// A marker's name and its domain's are told; what cannot be read is not, and does
// no harm.
func TestInspectMarkers(t *testing.T) {
	name, domain := cName(t, "range"), cName(t, "domain")
	marker := func(name, domain uint64) []byte {
		rec := make([]byte, 56)
		binary.LittleEndian.PutUint32(rec, 12)
		binary.LittleEndian.PutUint64(rec[40:], name)
		binary.LittleEndian.PutUint64(rec[48:], domain)
		return rec
	}
	var data []byte
	var starts []uint32
	for _, p := range [][2]uint64{{name, domain}, {0, 0}, {name, 8}, {0xdeadbeefdeadbeef, domain}} {
		starts = append(starts, uint32(len(data)))
		data = append(data, marker(p[0], p[1])...)
	}
	in, f := newInspector(130001, &starts, resultMaxLimit), newFindings()
	for range 2 { // by the library's iterator, then by the strides it showed
		if err := in.inspect(data, f); err != nil {
			t.Fatal(err)
		}
		if want := map[uint64]string{name: "range", domain: "domain"}; !reflect.DeepEqual(f.names, want) || len(f.diagnoses) != 0 {
			t.Errorf("names %v, diagnoses %q", f.names, f.diagnoses)
		}
	}
}
