package chrome

import (
	"bytes"
	"fmt"
	"io"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	t := largeTrace(200_000)
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"plain/1", Options{Workers: 1}},
		{"plain/1/kineto", Options{Workers: 1, Compat: CompatKineto}},
		{"gzip/1", Options{Workers: 1, Gzip: true}},
		{"gzip/2", Options{Workers: 2, Gzip: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s, err := write(io.Discard, t, c.o)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(s.Bytes)
				b.ReportMetric(float64(s.Bytes)/float64(s.FileBytes), "ratio")
			}
		})
	}
}

// BenchmarkScale writes what a long recording holds: a million kernels.
func BenchmarkScale(b *testing.B) {
	if testing.Short() {
		b.Skip("large")
	}
	t := largeTrace(1_000_000)
	for workers := 1; workers <= 2; workers++ {
		b.Run(fmt.Sprint(workers), func(b *testing.B) {
			for b.Loop() {
				s, err := write(io.Discard, t, Options{Workers: workers, Gzip: true})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(s.Bytes)
			}
		})
	}
}

type nullHandler struct{ events int }

func (*nullHandler) Member(string, Value) error { return nil }
func (n *nullHandler) Event(e *Event) error {
	n.events++
	_, err := e.TS.Nanoseconds()
	if e.TS == nil {
		return nil
	}
	return err
}

func BenchmarkScan(b *testing.B) {
	var doc bytes.Buffer
	if err := Write(&doc, largeTrace(50_000), Options{}); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(doc.Len()))
	b.ReportAllocs()
	for b.Loop() {
		var h nullHandler
		if err := Scan(bytes.NewReader(doc.Bytes()), &h); err != nil {
			b.Fatal(err)
		}
	}
}
