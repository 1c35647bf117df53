package record

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// fuzzFile puts fuzzed data where the readers look for it.
func fuzzFile(t *testing.T, data []byte) string {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// FuzzReadDump: the buffers of any file lie inside it, in order, and everything
// was read unless an error says otherwise.
func FuzzReadDump(f *testing.F) {
	dump := make([]byte, 24+40)
	dump[0] = 40
	f.Add(dump)
	f.Add(dump[:30])
	f.Add(append(bytes.Clone(dump), 1, 2, 3))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			return
		}
		next, plain := int64(0), !bytes.HasPrefix(data, gzipMagic)
		err := readDump(fuzzFile(t, data), func(off int64, b []byte) error {
			if off != next+dumpHead || plain && off+int64(len(b)) > int64(len(data)) {
				t.Errorf("a buffer of %d bytes at %d, after %d", len(b), off, next)
			}
			next = off + int64(len(b))
			return nil
		})
		if err == nil && plain && next != int64(len(data)) {
			t.Errorf("%d bytes of %d were read, and no error", next, len(data))
		}
	})
}

// FuzzReadNames: any file gives names or an error that names its line.
func FuzzReadNames(f *testing.F) {
	f.Add([]byte("0x1000\tk\n2000\t_Z1av\n\n"))
	f.Add([]byte("zz\tk"))
	f.Add([]byte("10"))
	f.Fuzz(func(t *testing.T, data []byte) {
		names := 0
		err := readNames(fuzzFile(t, data), func(uint64, string) { names++ })
		if bytes.HasPrefix(data, gzipMagic) {
			return
		}
		if lines := bytes.Count(data, []byte("\n")) + 1; names > lines {
			t.Errorf("%d names in %d lines", names, lines)
		}
		if err == nil && names == 0 && len(bytes.Trim(data, "\r\n")) > 0 {
			t.Error("neither a name nor an error")
		}
	})
}

// FuzzCollectSpool: whatever a spool holds, it becomes a trace in strict JSON or
// an error; and where a frame says what the healthy one did not, nothing breaks.
func FuzzCollectSpool(f *testing.F) {
	path := makeSpool(f, testHeader(), func(w *spool.Writer) {
		_ = w.Stride(10, 216)
		_ = w.CallbackName(2, 60_000, "cudaFuture")
		_ = w.Devices([]tracer.Device{{ID: 0, Name: "A", Attributes: map[string]int64{"numSms": 132}}})
		_ = w.Thread(spool.Thread{TID: 4242, Name: "python"})
		_ = w.Window(spool.Window{Open: true, NS: spoolStart})
		_ = w.Loss(spool.Loss{Code: "x", Text: "y"})
		_ = w.Clock(ticksAt(second))
		healthy(w, spool.Buffer{Data: launches(2, uint64(spoolStart)+ms, 1, 1)})
	})
	whole, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole, uint32(0), []byte{})
	f.Add(whole[:len(whole)/2], uint32(2), make([]byte, 24+216))
	for typ := spool.TypeHeader; typ <= spool.TypeLoss; typ++ {
		f.Add(whole, uint32(typ), []byte(`{"ns":-1,"tid":7,"code":"z"}padding to the size of some frames`))
	}
	f.Fuzz(func(t *testing.T, file []byte, typ uint32, payload []byte) {
		if len(file) > 1<<16 || len(payload) > 1<<12 {
			return
		}
		path := fuzzFile(t, file)
		// One more frame, with a checksum that holds: mutation alone would hardly
		// ever get past it.
		if r, err := spool.Open(path); err == nil {
			r.Close()
			appendFrame(t, path, spool.Type(typ%20), payload)
		}
		tr, err := CollectSpool(path, CollectOptions{})
		if err != nil {
			return
		}
		if tr.Completeness.Verdict == "" {
			t.Error("no verdict")
		}
		var out bytes.Buffer
		if err := chrome.Write(&out, tr, chrome.Options{}); err != nil {
			t.Fatal(err)
		}
		parseTrace(t, out.Bytes())
	})
}
