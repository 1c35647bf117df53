package ascend_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
	"github.com/flagos-ai/flagos-trace/tracer/ascend"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// record makes a record as the vendor's header has it: bytes, then fields by offset.
// The numbers are written out here, and not taken from the table they test.
func record(bytes int, kind uint32, fields map[int]any) []byte {
	b := make([]byte, bytes)
	binary.LittleEndian.PutUint32(b, kind)
	for off, v := range fields {
		switch v := v.(type) {
		case uint32:
			binary.LittleEndian.PutUint32(b[off:], v)
		case int: // of 8 bytes
			binary.LittleEndian.PutUint64(b[off:], uint64(v))
		case uint64:
			binary.LittleEndian.PutUint64(b[off:], v)
		case float64:
			binary.LittleEndian.PutUint64(b[off:], math.Float64bits(v))
		case byte:
			b[off] = v
		default:
			panic(fmt.Sprintf("%T", v))
		}
	}
	return b
}

// epoch is a time in ns that records of the tests begin at.
const epoch = 1_790_000_000_000_000_000

// Pointers of names in the tests' records.
const (
	pAdd = 0x1000 + iota
	pVec
	pLaunch
	pNode
	pRuntime
	pSync
	pCopy
	pReduce
	pGroup
	pMesh
	pStep
	pDefault
	pDomain
	pGetDevice
	pTaskID
)

var names = map[uint64]string{
	pAdd: "Add_aiv", pVec: "KERNEL_AIVEC", pLaunch: "aclrtLaunchKernel", pNode: "NnopbaseExecuteKernel", pRuntime: "rtKernelLaunchWithHandle",
	pSync: "aclrtSynchronizeStream", pCopy: "aclrtMemcpyAsync", pReduce: "hcom_allReduce__721_0_1", pGroup: "hccl_world_group", pMesh: "MESH-RING",
	pStep: "step", pDefault: "default", pDomain: "batches", pGetDevice: "aclrtGetDevice", pTaskID: "rtGetTaskIdAndStreamID",
}

func kernel(start, end int, device, stream uint32, id uint64, name int) []byte {
	return record(56, 2, map[int]any{4: epoch + start, 12: epoch + end, 20: device, 24: stream, 28: id, 36: pVec, 44: name})
}

func call(kind uint32, start, end int, tid uint32, id uint64, name int) []byte {
	return record(48, kind, map[int]any{4: epoch + start, 12: epoch + end, 20: uint32(77), 24: tid, 28: id, 36: name})
}

func external(kind uint32, id, correlation uint64) []byte {
	return record(24, 8, map[int]any{4: kind, 8: id, 16: correlation})
}

func memcpy(direction uint32, bytes, start, end int, device, stream uint32, id uint64, async byte) []byte {
	return record(56, 7, map[int]any{4: direction, 8: bytes, 16: epoch + start, 24: epoch + end, 32: device, 36: stream, 40: id, 48: async})
}

func memset(bytes, start, end int, device, stream uint32, id uint64) []byte {
	return record(56, 6, map[int]any{4: uint32(0), 8: bytes, 16: epoch + start, 24: epoch + end, 32: device, 36: stream, 40: id, 48: byte(1)})
}

func communication(dataType uint32, count, start, end int, id uint64) []byte {
	return record(72, 9, map[int]any{4: dataType, 8: count, 16: uint32(0), 20: uint32(5), 24: epoch + start, 32: epoch + end,
		40: pMesh, 48: pReduce, 56: pGroup, 64: id})
}

func marker(flag, source uint32, at, id, name, domain int) []byte {
	return record(56, 1, map[int]any{4: flag, 8: source, 12: epoch + at, 20: id, 28: uint32(77), 32: uint32(101), 36: name, 44: domain})
}

func concat(list ...[]byte) (b []byte) {
	for _, r := range list {
		b = append(b, r...)
	}
	return b
}

// decoded is a decoder with what it emitted, a line for each event.
type decoded struct {
	*ascend.Decoder
	strings *event.Strings
	lines   []string
	events  []event.Event
	err     error
}

func decode(cfg tracer.Config, buffers ...[]byte) *decoded {
	d := &decoded{strings: new(event.Strings)}
	cfg.Strings = d.strings
	d.Decoder = ascend.NewDecoder(cfg)
	for p, n := range names {
		d.Name(p, n)
	}
	for i, b := range buffers {
		d.add(tracer.Buffer{Data: b, Origin: fmt.Sprintf("buffer %d", i)})
	}
	return d
}

func (d *decoded) add(b tracer.Buffer) {
	err := d.Decode(b, func(e *event.Event) {
		d.events = append(d.events, *e)
		d.lines = append(d.lines, d.line(e))
	})
	if err != nil {
		d.err = err
		d.lines = append(d.lines, "error: "+err.Error())
	}
}

func (d *decoded) line(e *event.Event) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%s", e.Kind)
	if e.Start != 0 {
		fmt.Fprintf(&s, " %d+%d", int64(e.Start)-epoch, int64(e.End-e.Start))
	}
	fmt.Fprintf(&s, " id=%d", e.Correlation)
	if e.Name != 0 {
		fmt.Fprintf(&s, " %q", d.strings.At(e.Name))
	}
	if e.Has&event.HasDevice != 0 {
		fmt.Fprintf(&s, " device=%d", e.Device)
	}
	if e.Has&event.HasStream != 0 {
		fmt.Fprintf(&s, " stream=%d", e.Stream)
	}
	switch e.Kind {
	case event.Memcpy, event.Memset:
		fmt.Fprintf(&s, " %s %s->%s bytes=%d async=%v", e.Copy, e.Src, e.Dst, e.Bytes, e.Async)
	case event.Runtime, event.Driver, event.Marker:
		fmt.Fprintf(&s, " pid=%d tid=%d", e.PID, e.TID)
	case event.ExternalCorrelation:
		fmt.Fprintf(&s, " stack=%d external=%d", e.External, e.ExternalID)
	}
	if e.Kind == event.Marker {
		fmt.Fprintf(&s, " phase=%d marker=%d domain=%q", e.Phase, e.MarkerID, d.strings.At(e.Domain))
	}
	if e.Has&event.HasTask != 0 {
		t := &e.Task
		fmt.Fprintf(&s, " task{%s %s %s %s %d %g}", d.strings.At(t.Type), d.strings.At(t.Communicator), d.strings.At(t.Algorithm),
			d.strings.At(t.DataType), t.Count, t.Bandwidth)
	}
	for _, f := range []struct {
		bit  event.Fields
		text string
	}{{event.HostSpan, "host-span"}, {event.StartsWork, "starts-work"}, {event.NoContext, "no-context"}, {event.NoCallID, "no-call-id"}} {
		if e.Has&f.bit != 0 {
			s.WriteString(" " + f.text)
		}
	}
	if e.Launch.Has&event.NoLaunch != 0 {
		s.WriteString(" no-launch")
	}
	return s.String()
}

func (d *decoded) check(t *testing.T, name string) {
	t.Helper()
	got := strings.Join(d.lines, "\n") + "\n"
	r := d.Report()
	got += fmt.Sprintf("layout %s; skipped %v; dropped %v; repaired %v; lost %d\n", r.Layout, r.Skipped, r.Dropped, r.Repaired, r.LostBytes)
	for _, text := range r.Diagnoses {
		got += "diagnosis: " + text + "\n"
	}
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
