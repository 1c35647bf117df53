package chrome

import (
	"bytes"
	"fmt"
	"io"
	"math/bits"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
)

// chunks reads at most n bytes at a time, as a decompressor or a pipe does.
type chunks struct {
	r io.Reader
	n int
}

func (c chunks) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.n)]) }

// TestScanWork: finding the end of one large value takes work in proportion to
// its size, whatever the reader brings at a time. The work is what the lexer has
// been over.
func TestScanWork(t *testing.T) {
	const size = 8 << 20
	repeat := func(before, part, after string) string {
		return before + strings.Repeat(part, (size-len(before)-len(after))/len(part)) + after
	}
	values := []struct{ name, text string }{
		{"array", repeat("[0", `,"element"`, "]")},
		{"nested", repeat(`{"a":{"b":[0`, `,{"c":[1,2]}`, `]}}`)},
		{"string", repeat(`{"args":"`, "x", `"}`)},
		{"escapes", repeat(`{"args":"`, `\\\"`, `"}`)},
		{"space", repeat(`{"args":[`, " ", `1]}`)},
	}
	readers := []struct {
		name string
		of   func(text string) io.Reader
	}{
		{"whole", func(s string) io.Reader { return strings.NewReader(s) }},
		{"4 KiB", func(s string) io.Reader { return chunks{strings.NewReader(s), 4 << 10} }},
		{"bytewise", func(s string) io.Reader { return iotest.OneByteReader(strings.NewReader(s)) }},
	}
	for _, v := range values {
		for _, r := range readers {
			s := scanner{r: r.of(" " + v.text + ","), h: &collector{}}
			lexers := map[string]func([]byte, int) (int, state){"value": lexValue}
			if v.text[0] == '{' {
				lexers["event"] = s.lexEvent
			}
			for what, lex := range lexers {
				s = scanner{r: r.of(" " + v.text + ","), h: &collector{}}
				if _, err := s.peek(); err != nil {
					t.Fatal(err)
				}
				calls, work := 0, 0
				end, err := s.whole("a "+what, func(b []byte, i int) (int, state) {
					end, st := lex(b, i)
					calls, work = calls+1, work+end-i
					return end, st
				})
				name := fmt.Sprintf("%s, %s, as %s", v.name, r.name, what)
				if err != nil || string(s.buf[s.at:end]) != v.text {
					t.Fatalf("%s: %d bytes, %v", name, end-s.at, err)
				}
				if work >= 3*len(v.text) || calls > 2+bits.Len(size/scanBuffer) {
					t.Errorf("%s: %d calls of the lexer over %d bytes for a value of %d", name, calls, work, len(v.text))
				}
				if cap(s.buf) > 3*len(v.text) {
					t.Errorf("%s: a buffer of %d bytes for a value of %d", name, cap(s.buf), len(v.text))
				}
			}
		}
	}
}

// TestScanReadsAhead: what is read for a large value is all that it costs; after
// it no more is read ahead than before.
func TestScanReadsAhead(t *testing.T) {
	const ev = `{"ph": "X", "ts": 1.000, "args": {"a": [1, 2, 3]}},`
	text := "[" + `{"name": "` + strings.Repeat("x", 1<<20) + `"},` + strings.Repeat(ev, 1<<16)
	in := &counting{r: strings.NewReader(text)}
	h := &follower{in: in, t: t}
	if err := Scan(in, h); err == nil {
		t.Fatal("the list is not closed")
	}
	if h.events != 1+1<<16 {
		t.Errorf("%d events", h.events)
	}
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type follower struct {
	in     *counting
	t      *testing.T
	events int
}

func (*follower) Member(string, Value) error { return nil }
func (f *follower) Event(e *Event) error {
	f.events++
	if e.Offset < 2<<20 {
		return nil // read together with the large one
	}
	// What the scanner holds, and what is held before it to tell gzip from text.
	if ahead := f.in.n - e.Offset; ahead > 2*scanBuffer {
		f.t.Fatalf("event %d: %d bytes were read ahead", f.events, ahead)
	}
	return nil
}

// TestScanAllocations: an event costs no allocation.
func TestScanAllocations(t *testing.T) {
	const ev = `{"ph": "X", "ts": 1.000, "dur": 2.000, "args": {"a": [1, 2, 3]}}`
	count := func(events int) float64 {
		text := "[" + strings.Repeat(ev+",", events) + "]"
		return testing.AllocsPerRun(2, func() {
			if err := Scan(strings.NewReader(text), &nullHandler{}); err != nil {
				t.Fatal(err)
			}
		})
	}
	if few, many := count(10), count(10_000); many > few+2 {
		t.Errorf("%v allocations for 10 events, %v for 10000", few, many)
	}
}

// BenchmarkScanLarge scans one large member.
func BenchmarkScanLarge(b *testing.B) {
	for _, mib := range []int{4, 8, 16, 32} {
		text := `{"m": [0` + strings.Repeat(`,12345.678`, mib<<20/10) + `]}`
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		if _, err := io.WriteString(z, text); err != nil {
			b.Fatal(err)
		}
		if err := z.Close(); err != nil {
			b.Fatal(err)
		}
		for name, doc := range map[string][]byte{"plain": []byte(text), "gzip": packed.Bytes()} {
			b.Run(fmt.Sprintf("%dMiB/%s", mib, name), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					if err := Scan(bytes.NewReader(doc), &nullHandler{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
