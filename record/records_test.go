package record

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/tracer"
)

// Layouts are those of API version 130001.
const recordsAPI = 130001

// kernelRecord is a kernel on device 0, context 1, stream 7, one block of one
// thread, whose name is behind 0x1000.
func kernelRecord(start, end uint64, correlation uint32) []byte {
	k, le := make([]byte, 216), binary.LittleEndian
	le.PutUint32(k, 10)
	le.PutUint16(k[6:], 32)
	le.PutUint64(k[16:], start)
	le.PutUint64(k[24:], end)
	le.PutUint32(k[44:], 1)
	le.PutUint32(k[48:], 7)
	for f := range uint32(6) {
		le.PutUint32(k[52+4*f:], 1)
	}
	le.PutUint32(k[92:], correlation)
	le.PutUint64(k[104:], 0x1000)
	return k
}

// callRecord is a cudaLaunchKernel of process 4242.
func callRecord(start, end uint64, correlation, tid uint32) []byte {
	a, le := make([]byte, 40), binary.LittleEndian
	le.PutUint32(a, 5)
	le.PutUint32(a[4:], 211)
	le.PutUint64(a[8:], start)
	le.PutUint64(a[16:], end)
	le.PutUint32(a[24:], 4242)
	le.PutUint32(a[28:], tid)
	le.PutUint32(a[32:], correlation)
	return a
}

// spoolStart is when test spools begin, ns since the epoch.
const spoolStart = int64(1_795_955_228_000_000_000)

// testHeader is the header of a spool that a healthy agent would write.
func testHeader() spool.Header {
	return spool.Header{
		Agent: "test", PID: 4242, Process: "python", Host: "testhost", StartNS: spoolStart,
		Requested: []string{"kernel", "memcpy", "memset", "runtime", "driver"},
		Binding:   tracer.BindingInfo{Tracer: "cupti", Path: "/lib/libcupti.so", How: "test", APIVersion: recordsAPI},
		Options:   tracer.Options{API: tracer.APIKineto},
	}
}

// makeSpool writes a spool and returns its path.
func makeSpool(t testing.TB, h spool.Header, write func(*spool.Writer)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "4242.1.spool")
	w, err := spool.Create(path, h)
	if err != nil {
		t.Fatal(err)
	}
	write(w)
	if w.Errors() > 0 {
		t.Fatal("the spool could not be written")
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// appendFrame puts a frame behind a spool whose payload its type does not call
// for, with the checksum that makes it a whole one.
func appendFrame(t testing.TB, path string, typ spool.Type, payload []byte) {
	t.Helper()
	r, err := spool.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	next := uint32(0)
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		next = f.Sequence + 1
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	le, table := binary.LittleEndian, crc32.MakeTable(crc32.Castagnoli)
	head := make([]byte, 16)
	le.PutUint32(head, uint32(typ))
	le.PutUint32(head[4:], uint32(len(payload)))
	le.PutUint32(head[12:], next)
	sum := crc32.Update(crc32.Update(crc32.Update(0, table, head[:8]), table, head[12:]), table, payload)
	le.PutUint32(head[8:], sum)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	frame := append(head, payload...)
	for len(frame)%8 != 0 {
		frame = append(frame, 0)
	}
	if _, err := f.Write(frame); err != nil {
		t.Fatal(err)
	}
}
