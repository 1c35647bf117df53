package cupti_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/cupti"
)

// recording is a dump of buffers with the names its records point to.
type recording struct {
	api     uint32
	buffers [][]byte
	names   map[uint64]string
}

func unzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func load(t testing.TB, api uint32, name string) recording {
	t.Helper()
	base := filepath.Join("..", "..", "testdata", name)
	r := recording{api: api, names: map[uint64]string{}}
	for data := unzip(t, base+".cupti.gz"); len(data) > 0; {
		n := binary.LittleEndian.Uint64(data)
		r.buffers = append(r.buffers, data[24:24+n])
		data = data[24+n:]
	}
	for _, l := range bytes.Split(bytes.TrimSpace(unzip(t, base+".names.tsv.gz")), []byte("\n")) {
		ptr, name, _ := strings.Cut(string(l), "\t")
		p, err := strconv.ParseUint(strings.TrimPrefix(ptr, "0x"), 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		r.names[p] = name
	}
	return r
}

func newDecoder(t testing.TB, api uint32) (*cupti.Decoder, *event.Strings) {
	t.Helper()
	s := new(event.Strings)
	d, err := cupti.NewDecoder(tracer.Config{APIVersion: api, Strings: s, API: tracer.APIAll, NSPerTick: 0.47619})
	if err != nil {
		t.Fatal(err)
	}
	return d, s
}

func TestRecordingsDecodeToTheLastByte(t *testing.T) {
	for _, c := range []struct {
		name    string
		api     uint32
		kernels uint64
	}{
		{"pairs/basic", 130001, 30},
		{"pairs/train", 130001, 1708},
		{"pairs/comp", 130001, 116},
		{"pairs/graph", 130001, 20},
		{"pairs/streams", 130001, 216},
		{"pairs/ddp.rank0", 130001, 95},
		{"pairs/ddp.rank1", 130001, 95},
		{"injected/rearm", 130001, 60},
		{"injected/cupti-12.8", 26, 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			rec := load(t, c.api, c.name)
			d, _ := newDecoder(t, c.api)
			for p, n := range rec.names {
				d.Name(p, n)
			}
			for _, b := range rec.buffers {
				if err := d.Decode(tracer.Buffer{Data: b, Origin: c.name, Forced: true}, func(*event.Event) {}); err != nil {
					t.Error(err)
				}
			}
			r := d.Report()
			if r.LostBytes != 0 || len(r.Dropped) != 0 {
				t.Errorf("lost %d bytes, dropped %v", r.LostBytes, r.Dropped)
			}
			if r.Received[event.Kernel] != c.kernels {
				t.Errorf("%d kernels, want %d", r.Received[event.Kernel], c.kernels)
			}
			t.Logf("%v skipped %v repaired %v", r.Received, r.Skipped, r.Repaired)
		})
	}
}
