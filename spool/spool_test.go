package spool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/flagos-ai/flagos-trace/tracer"
	"golang.org/x/sys/unix"
)

// write makes a spool with one frame of every type and returns its path.
func write(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "1.2.spool")
	w, err := Create(path, Header{Agent: "test", PID: 1, Process: "p"})
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte{0xab}, 100)
	for _, err := range []error{
		w.Names([]Name{{0x1000, "kernel"}, {0x2000, ""}}),
		w.Names(nil),
		w.CallbackName(2, 999, "cudaNew"),
		w.Stride(10, 216),
		w.Offsets([]uint32{0, 40, 80}),
		w.Buffer(Buffer{Sequence: 7, Forced: true, Context: 9, Stream: 3, Data: data}),
		w.Devices([]tracer.Device{{ID: 1, Name: "d", Attributes: map[string]int64{"numSms": 132}}}),
		w.Binding(tracer.BindingInfo{Tracer: "cupti", Driver: 13000}),
		w.Clock(Clock{1, 2, 3, 4, 5}),
		w.Thread(Thread{TID: 5, Name: "main"}),
		w.Counters(Counters{BuffersDelivered: 3}),
		w.Diagnosis("library too new"),
		w.Window(Window{Open: true, NS: 11}),
		w.Loss(Loss{Code: LossClock, Text: "clock replaced"}),
		w.Session(Session{StartNS: 1, EndNS: 9, Kinds: []uint32{5, 10}}),
		w.End(End{Reason: "exit", Flushed: true}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if st, _ := os.Stat(path); st.Size() != w.Size() {
		t.Fatalf("file has %d bytes, writer says %d", st.Size(), w.Size())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// frames reads all frames; each as "type:sequence".
func frames(r *Reader) (list []string, err error) {
	for {
		f, err := r.Next()
		if err == io.EOF {
			return list, nil
		}
		if err != nil {
			return list, err
		}
		list = append(list, fmt.Sprintf("%d:%d", f.Type, f.Sequence))
	}
}

func TestRoundTrip(t *testing.T) {
	r, err := Open(write(t))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := map[Type]any{}
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var v any
		switch f.Type {
		case TypeHeader:
			h, e := f.Header()
			v, err = h.Process, e
		case TypeNames:
			s := ""
			err = f.Names(func(p uint64, n []byte) { s += fmt.Sprintf("%x=%s;", p, n) })
			v = s
		case TypeCallbackName:
			d, id, n, e := f.CallbackName()
			v, err = fmt.Sprintf("%d %d %s", d, id, n), e
		case TypeStride:
			k, n, e := f.Stride()
			v, err = [2]uint32{k, n}, e
		case TypeOffsets:
			v, err = f.Offsets(nil)
		case TypeBuffer:
			b, e := f.Buffer()
			b.Data = bytes.Clone(b.Data)
			v, err = b, e
		case TypeDevices:
			v, err = f.Devices()
		case TypeBinding:
			v, err = f.Binding()
		case TypeClock:
			v, err = f.Clock()
		case TypeThread:
			v, err = f.Thread()
		case TypeCounters:
			v, err = f.Counters()
		case TypeDiagnosis:
			v, err = f.Diagnosis()
		case TypeWindow:
			v, err = f.Window()
		case TypeLoss:
			v, err = f.Loss()
		case TypeSession:
			v, err = f.Session()
		case TypeEnd:
			v, err = f.End()
		}
		if err != nil {
			t.Fatalf("type %d: %v", f.Type, err)
		}
		got[f.Type] = v
	}
	want := map[Type]any{
		TypeHeader:       "p",
		TypeNames:        "1000=kernel;2000=;",
		TypeCallbackName: "2 999 cudaNew",
		TypeStride:       [2]uint32{10, 216},
		TypeOffsets:      []uint32{0, 40, 80},
		TypeBuffer:       Buffer{Sequence: 7, Forced: true, Context: 9, Stream: 3, Data: bytes.Repeat([]byte{0xab}, 100)},
		TypeDevices:      []tracer.Device{{ID: 1, Name: "d", Attributes: map[string]int64{"numSms": 132}}},
		TypeBinding:      tracer.BindingInfo{Tracer: "cupti", Driver: 13000},
		TypeClock:        Clock{1, 2, 3, 4, 5},
		TypeThread:       Thread{5, "main"},
		TypeLoss:         Loss{"clock_replaced", "clock replaced"},
		TypeSession:      Session{StartNS: 1, EndNS: 9, Kinds: []uint32{5, 10}},
		TypeCounters:     Counters{BuffersDelivered: 3},
		TypeDiagnosis:    "library too new",
		TypeWindow:       Window{Open: true, NS: 11},
		TypeEnd:          End{Reason: "exit", Flushed: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	if n, why := r.Torn(); n != 0 || why != "" {
		t.Errorf("Torn: %d %q", n, why)
	}
	if d := r.Damage(); d != (Damage{}) {
		t.Errorf("Damage: %+v", d)
	}
}

func TestCreateNeverOverwrites(t *testing.T) {
	path := write(t)
	if _, err := Create(path, Header{}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("Create over a spool: %v, want ErrExist", err)
	}
}

// bounds returns the offsets at which frames end.
func bounds(t *testing.T, file []byte) []int64 {
	r := NewReader(bytes.NewReader(file), int64(len(file)), "mem")
	var ends []int64
	for {
		f, err := r.Next()
		if err == io.EOF {
			return ends
		}
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, f.Offset+headSize+pad8(int64(len(f.Payload))))
	}
}

func TestTruncatedAtEveryByte(t *testing.T) {
	file, err := os.ReadFile(write(t))
	if err != nil {
		t.Fatal(err)
	}
	ends := bounds(t, file)
	all, _ := frames(NewReader(bytes.NewReader(file), int64(len(file)), "mem"))
	for n := range file {
		r := NewReader(bytes.NewReader(file[:n]), int64(n), "mem")
		got, err := frames(r)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		// A frame whose padding alone is missing is whole.
		want := 0
		for i, e := range ends {
			length := int64(parseHead(file[start(ends, i):]).length)
			if start(ends, i)+headSize+length <= int64(n) {
				want = i + 1
			}
			_ = e
		}
		if !reflect.DeepEqual(got, all[:want]) && want+len(got) > 0 {
			t.Fatalf("%d bytes: frames %v, want %v", n, got, all[:want])
		}
		good := int64(prefaceSize)
		if want > 0 {
			good = ends[want-1]
		}
		if n < prefaceSize {
			good = 0
		}
		if torn, why := r.Torn(); torn != max(int64(n)-good, 0) || (torn > 0) != (why != "") {
			t.Fatalf("%d bytes: torn %d %q, want %d", n, torn, why, int64(n)-good)
		}
	}
}

func start(ends []int64, i int) int64 {
	if i == 0 {
		return prefaceSize
	}
	return ends[i-1]
}

// A flipped bit costs at most the frame it is in: all others are read.
func TestFlippedAtEveryByte(t *testing.T) {
	file, err := os.ReadFile(write(t))
	if err != nil {
		t.Fatal(err)
	}
	ends := bounds(t, file)
	all, _ := frames(NewReader(bytes.NewReader(file), int64(len(file)), "mem"))
	for n := prefaceSize; n < len(file); n++ {
		bad := bytes.Clone(file)
		bad[n] ^= 0x10
		r := NewReader(bytes.NewReader(bad), int64(len(bad)), "mem")
		got, err := frames(r)
		if err != nil {
			t.Fatalf("byte %d: %v", n, err)
		}
		hit := 0
		for int64(n) >= ends[hit] {
			hit++
		}
		length := int64(parseHead(file[start(ends, hit):]).length)
		if int64(n) >= start(ends, hit)+headSize+length { // padding
			if !reflect.DeepEqual(got, all) {
				t.Fatalf("byte %d in padding: %v", n, got)
			}
			continue
		}
		want := append(append([]string{}, all[:hit]...), all[hit+1:]...)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("byte %d in frame %d: frames %v, want %v", n, hit, got, want)
		}
		torn, _ := r.Torn()
		if d := r.Damage(); hit < len(all)-1 && (d.Frames != 1 || d.Missing != 1 || torn != 0) || hit == len(all)-1 && torn == 0 {
			t.Fatalf("byte %d in frame %d: %+v, torn %d", n, hit, d, torn)
		}
	}
}

func TestNotASpool(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		want error
	}{
		"text":  {"hello, this is not a spool", ErrNotSpool},
		"later": {magic + "\x09\x00\x00\x00\x00\x00\x00\x00", ErrVersion},
		"zero":  {magic + "\x00\x00\x00\x00\x00\x00\x00\x00", ErrVersion},
		"empty": {"", nil},
		"short": {magic, nil},
	} {
		p := filepath.Join(t.TempDir(), "x")
		os.WriteFile(p, []byte(c.data), 0o600)
		r, err := Open(p)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if err == nil {
			if _, err := r.Next(); err != io.EOF {
				t.Errorf("%s: Next: %v", name, err)
			}
			r.Close()
		}
	}
}

// A reader that has said io.EOF goes on when the writer has.
func TestFollow(t *testing.T) {
	file, err := os.ReadFile(write(t))
	if err != nil {
		t.Fatal(err)
	}
	all, _ := frames(NewReader(bytes.NewReader(file), int64(len(file)), "mem"))
	p := filepath.Join(t.TempDir(), "grow")
	f, err := os.Create(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var got []string
	for i := 0; i < len(file); i += 7 {
		f.Write(file[i:min(i+7, len(file))])
		list, err := frames(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, list...)
	}
	if !reflect.DeepEqual(got, all) {
		t.Errorf("got %v, want %v", got, all)
	}
	if n, why := r.Torn(); n != 0 || r.Damage() != (Damage{}) {
		t.Errorf("torn %d %q, %+v", n, why, r.Damage())
	}
}

func TestUnknownTypesAreSkipped(t *testing.T) {
	p := filepath.Join(t.TempDir(), "u")
	w, err := Create(p, Header{})
	if err != nil {
		t.Fatal(err)
	}
	w.frame(4711, []byte("from the future"))
	w.Diagnosis("here")
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := frames(r)
	if err != nil || strings.Join(got, " ") != "1:0 11:2" || r.Damage() != (Damage{Unknown: 1}) {
		t.Errorf("%v %v %+v", got, err, r.Damage())
	}
}

// With the disk full the frame is given up whole, counted, and later frames are
// written once there is room.
func TestNoRoom(t *testing.T) {
	p := filepath.Join(t.TempDir(), "full")
	w, err := Create(p, Header{})
	if err != nil {
		t.Fatal(err)
	}
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	// Go programs ignore SIGXFSZ, so the write fails instead.
	limit := old
	limit.Cur = uint64(w.Size()) + 500 + tailRoom
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit.Cur, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	big := w.Buffer(Buffer{Data: make([]byte, 4096)})
	small := w.Diagnosis("fits")
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: old.Cur, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	if big == nil || small != nil || w.Errors() != 1 {
		t.Fatalf("big: %v, small: %v, errors %d", big, small, w.Errors())
	}
	if err := w.Buffer(Buffer{Data: make([]byte, 4096)}); err != nil {
		t.Fatal(err)
	}
	r, err := Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := frames(r)
	torn, _ := r.Torn()
	if err != nil || strings.Join(got, " ") != "1:0 11:2 2:3" || torn != 0 || r.Damage() != (Damage{Missing: 1}) {
		t.Errorf("%v %v torn %d %+v", got, err, torn, r.Damage())
	}
}

func TestTooLarge(t *testing.T) {
	p := filepath.Join(t.TempDir(), "large")
	w, err := Create(p, Header{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Buffer(Buffer{Data: make([]byte, MaxPayload)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("%v, want ErrTooLarge", err)
	}
}

func TestBadPayloads(t *testing.T) {
	short := []byte{1, 2, 3}
	for name, err := range map[string]error{
		"header":   second(Frame{Type: TypeHeader, Payload: []byte("{")}.Header()),
		"buffer":   second(Frame{Type: TypeBuffer, Payload: short}.Buffer()),
		"stride":   third(Frame{Type: TypeStride, Payload: short}.Stride()),
		"offsets":  second(Frame{Type: TypeOffsets, Payload: short}.Offsets(nil)),
		"clock":    second(Frame{Type: TypeClock, Payload: short}.Clock()),
		"names":    Frame{Type: TypeNames, Payload: short}.Names(func(uint64, []byte) {}),
		"name":     Frame{Type: TypeNames, Payload: append(make([]byte, 8), 255, 255, 255, 255)}.Names(func(uint64, []byte) {}),
		"wrong":    second(Frame{Type: TypeClock, Payload: short}.Diagnosis()),
		"callback": func() error { _, _, _, e := Frame{Type: TypeCallbackName, Payload: short}.CallbackName(); return e }(),
	} {
		if !errors.Is(err, ErrPayload) {
			t.Errorf("%s: %v, want ErrPayload", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }

func FuzzReader(f *testing.F) {
	file, err := os.ReadFile(write(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(file[:len(file)/2])
	f.Add([]byte(magic))
	bad := bytes.Clone(file)
	bad[20] = 0xff
	f.Add(bad)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := NewReader(bytes.NewReader(data), int64(len(data)), "mem")
		for at := int64(0); ; {
			fr, err := r.Next()
			if err != nil {
				break
			}
			if fr.Offset < at || fr.Offset+headSize+int64(len(fr.Payload)) > int64(len(data)) {
				t.Fatalf("frame at %d with %d bytes, file of %d", fr.Offset, len(fr.Payload), len(data))
			}
			at = fr.Offset + headSize
			fr.Header()
			fr.Buffer()
			fr.Names(func(uint64, []byte) {})
			fr.CallbackName()
			fr.Stride()
			fr.Offsets(nil)
			fr.Clock()
			fr.Devices()
			fr.End()
		}
	})
}

func BenchmarkWriteBuffer(b *testing.B) {
	w, err := Create(filepath.Join(b.TempDir(), "b"), Header{})
	if err != nil {
		b.Fatal(err)
	}
	data := make([]byte, 2<<20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Buffer(Buffer{Data: data}); err != nil {
			b.Fatal(err)
		}
		if w.Size() > 256<<20 {
			unix.Ftruncate(w.fd.N, prefaceSize)
			w.off = prefaceSize
		}
	}
}

func BenchmarkRead(b *testing.B) {
	p := filepath.Join(b.TempDir(), "b")
	w, err := Create(p, Header{})
	if err != nil {
		b.Fatal(err)
	}
	for range 32 {
		if err := w.Buffer(Buffer{Data: make([]byte, 2<<20)}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(w.Size())
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open(p)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := frames(r); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}
