package bind

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/dl"
)

// list collects what is found.
type list struct {
	tracer.Findings
	strides map[uint32]uint32
	said    []string
}

func (l *list) Name(uint64, string) bool  { return true }
func (l *list) Stride(kind, bytes uint32) { l.strides[kind] = bytes }
func (l *list) Diagnose(text string)      { l.said = append(l.said, text) }

func buffer(sizes ...[2]uint32) (data []byte) {
	for _, s := range sizes {
		rec := make([]byte, s[1])
		binary.LittleEndian.PutUint32(rec, s[0])
		data = append(data, rec...)
	}
	return data
}

// The iterator's position is its own: after it gave up in the middle of a buffer it
// would begin the next one there, so it is not asked again.
func TestIteratorGivesUp(t *testing.T) {
	asked := 0
	in := &inspector{}
	in.init("libmspti.so", 0)
	in.next = func([]byte, *uintptr) uint32 { asked++; return 999 }
	f := &list{strides: map[uint32]uint32{}}
	for range 2 {
		if err := in.inspect(buffer([2]uint32{2, 56}, [2]uint32{10, 48}), f); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 || len(f.strides) != 0 || len(f.said) != 1 || !strings.Contains(f.said[0], "gave up") {
		t.Errorf("asked %d times, %v, %q", asked, f.strides, f.said)
	}
}

// It is asked until each kind was confirmed, from the beginning of a buffer to its end,
// and knows kinds that the table does not.
func TestIteratorConfirms(t *testing.T) {
	asked, at := 0, 0
	sizes := map[uint32]int{2: 56, 10: 48, 40: 32}
	in := &inspector{}
	in.init("libmspti.so", 0)
	in.next = func(data []byte, rec *uintptr) uint32 {
		asked++
		if at == len(data) {
			at = 0
			return resultMaxLimit
		}
		*rec = dl.BytesPtr(data) + uintptr(at)
		at += sizes[binary.LittleEndian.Uint32(data[at:])]
		return resultOK
	}
	f := &list{strides: map[uint32]uint32{}}
	kernel, call, unknown := [2]uint32{2, 56}, [2]uint32{10, 48}, [2]uint32{40, 32}
	for _, c := range []struct {
		data  []byte
		asked int
	}{{buffer(kernel, kernel), 3}, {buffer(kernel), 3}, {buffer(kernel, call), 6}, {buffer(call, unknown, kernel), 10}, {buffer(unknown, call), 10}} {
		if err := in.inspect(c.data, f); err != nil || asked != c.asked || at != 0 {
			t.Errorf("%v: asked %d times, want %d; at %d", err, asked, c.asked, at)
		}
	}
	if len(f.strides) != 3 || f.strides[40] != 32 || len(f.said) != 0 {
		t.Errorf("%v %q", f.strides, f.said)
	}
}

func FuzzInspect(f *testing.F) {
	f.Add(buffer([2]uint32{2, 56}, [2]uint32{8, 24}), uint32(3), uint16(56))
	f.Add([]byte{1, 2, 3}, uint32(999), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, end uint32, step uint16) {
		in, at := &inspector{}, 0
		in.init("libmspti.so", 0)
		in.next = func(d []byte, rec *uintptr) uint32 {
			if at += int(step); at > 4*int(step) || step == 0 {
				return end | 1
			}
			*rec = dl.BytesPtr(d) + uintptr(at)
			return resultOK
		}
		for range 2 {
			if err := in.inspect(data, &list{strides: map[uint32]uint32{}}); err != nil {
				t.Fatal(err)
			}
		}
		in.names.Peek.Close()
	})
}
