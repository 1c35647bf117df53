package chrome

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

const shapedText = `{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 5098285264929.346, "dur": 7.18, "args": {"External id": 1025, "Concrete Inputs": ["", "1"], "Input Dims": [[2048, 8192], []], "Ev Idx": 0}},
{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 7, "tid": 8, "ts": 5098285264930.3, "dur": 7, "args": {"External id": 1026, "Concrete Inputs": ["", "1"], "Input Dims": [[2048, 8192], []], "Ev Idx": 1}},
{"ph": "X", "cat": "kernel", "name": "k<int>", "pid": 0, "tid": 7, "ts": 5098285264931.346, "dur": 0.5, "args": {"External id": 1026, "device": 0, "stream": 7, "correlation": 77, "grid": [1, 2, 3], "block": [32, 1, 1], "Collective name": "allreduce"}},
{"ph": "f", "id": 77, "pid": 0, "tid": 7, "ts": 5098285264931.346, "cat": "ac2g", "name": "ac2g", "bp": "e"},
{"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": 8, "ts": 1.5, "args": {"Total Allocated": 5, "Bytes": -3}},
{"ph": "X", "cat": "overhead", "name": "a\"b", "pid": -1, "tid": 0, "ts": 1, "dur": 2},
{"name": "process_name", "ph": "M", "ts": 1.000, "pid": 0, "tid": "stream 7", "args": {"name": "python3"}},
{
  "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7, "tid": 8,
  "ts": 12.345, "dur": 1.000,
  "args": {
    "External id": 12, "cbid": 211, "correlation": 77
  }
},
{"ph":"B","cat":"user_annotation","name":"step","pid":7,"tid":8,"ts":1,"args":{"a":{"b":[1,{}]},"a2":null}},
{"ph":"E","pid":7,"tid":8,"ts":9,"args":{}}`

// lexed is all that a lexer hands out of a text.
func lexed(text []byte, known *shapes) any {
	l := newLexer(&ReadOptions{Rules: DefaultRules(), KeepKeys: []string{"Collective name", "Total Allocated"}})
	l.shapes, l.text, l.limit = known, bytes.Clone(text), len(text)
	l.reset(listStart)
	rest, stop := l.run(0, true)
	return []any{rest, stop, l.items, l.details, l.notes, l.marks, l.decimal, l.state, string(l.text)}
}

// changed is a text with some bytes, members and values changed.
func changed(r *rand.Rand, text []byte) []byte {
	pieces := []string{
		" ", "\n", ",", "}", "{", "]", "[", `"`, `\`, ":", `, "ph": "i"`, `, "args": {"correlation": 5}`, `, "External id": 9`, `, "a": "é"`,
		"7", ".", "e5", "0", "-", "null", "\x01", `, "cat": "kernel"`, `"Ev Idx": 1, `, `, "z": 1, "z": 2`,
	}
	text = bytes.Clone(text)
	for range 1 + r.IntN(5) {
		at := r.IntN(len(text))
		switch r.IntN(4) {
		case 0:
			text = append(text[:at:at], text[at+1:]...)
		case 1, 2:
			text = append(append(text[:at:at], pieces[r.IntN(len(pieces))]...), text[at:]...)
		case 3:
			text[at] = byte(r.IntN(256))
		}
	}
	return text
}

// TestShapes: what was learned of the text before changes nothing in what is read.
func TestShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	known := new(shapes)
	text := []byte(shapedText)
	for i := range 6000 {
		in := text
		if i > 2 {
			in = changed(r, text)
		}
		if got, want := lexed(in, known), lexed(in, nil); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nis read as\n%+v\nwithout what was learned as\n%+v", in, got, want)
		}
	}
	if known.n < 50 {
		t.Errorf("only %d keys were learned", known.n)
	}
}

// TestShapesLearned: events like those before are read along the tree, not beside it.
func TestShapesLearned(t *testing.T) {
	l := newLexer(&ReadOptions{Rules: DefaultRules()})
	l.shapes, l.text = new(shapes), []byte(shapedText)
	l.limit = len(l.text)
	l.reset(listStart)
	l.run(0, true)
	learned := l.shapes.n
	for i, it := range l.items[:len(l.items)-1] { // at the end of the text it is not tried
		if l.shaped(l.text, int(it.at)) == 0 {
			t.Errorf("event %d is not read along the tree", i)
		}
	}
	if l.shapes.n != learned {
		t.Errorf("%d keys were learned once more", l.shapes.n-learned)
	}
}

// TestShapesBounded: a text with ever new keys, values and rows teaches only so much.
func TestShapesBounded(t *testing.T) {
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, `{"ph":"X","cat":"c%d","name":"n","pid":%d,"tid":%d,"ts":1,"k%d":1,"args":{"a%d":[%d,2,3,4,5,6,7,8],"b%d":1,"c":2}},`+"\n", i%12, i%7, i%5, i%31, i%61, i, i%19)
	}
	known := new(shapes)
	text := []byte(b.String())
	if got, want := lexed(text, known), lexed(text, nil); !reflect.DeepEqual(got, want) {
		t.Error("what was learned changes what is read")
	}
	if known.n != maxShapes {
		t.Errorf("%d keys were learned, want %d", known.n, maxShapes)
	}
	var deep func(s *shape) int
	deep = func(s *shape) (n int) {
		for c := s.child; c != nil; c = c.next {
			n++
			if deep(c) != c.children || len(c.text) > maxShapeText {
				t.Fatalf("%q: %d children, %d counted", c.text, deep(c), c.children)
			}
		}
		if n > maxShapeChildren {
			t.Errorf("%d keys follow %q", n, s.text)
		}
		return n
	}
	deep(&known.events)
	deep(&known.args)
}

// TestWords: what looks at eight bytes together finds what looking at each finds.
func TestWords(t *testing.T) {
	plain := func(c byte) bool { return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	r := rand.New(rand.NewPCG(5, 6))
	for at := range 20 {
		for c := range 256 {
			for _, fill := range []byte("a0/:!#[] ") {
				b := bytes.Repeat([]byte{fill}, 20)
				b[at] = byte(c)
				if at < 19 {
					b[at+1+r.IntN(19-at)] = byte(r.IntN(256)) // behind it, it must not matter
				}
				check := func(what string, got int, good func(byte) bool) {
					want := 0
					for want < len(b) && good(b[want]) {
						want++
					}
					if got != want {
						t.Errorf("%s of %q is %d, want %d", what, b, got, want)
					}
				}
				check("plainEnd", plainEnd(b, 0), plain)
				check("digitsEnd", digitsEnd(b, 0), digit)
			}
		}
	}
}

// TestReadTime: the faster way with usual numbers has the same result, and so has that
// with integers.
func TestReadTime(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 100_000 {
		b := make([]byte, 1+r.IntN(22))
		for i := range b {
			if b[i] = byte('0' + r.IntN(10)); r.IntN(40) == 0 {
				b[i] = "-+.eE/:x"[r.IntN(8)]
			}
		}
		if k := len(b) - 1 - r.IntN(5); k > 0 {
			b[k] = '.'
		}
		ns, _, ok := readTime(b)
		want, err := parseMicros(b)
		if ok != (err == nil) || ok && ns != want {
			t.Fatalf("%s is %d, %v, want %d, %v", b, ns, ok, want, err)
		}
	}
	for _, text := range []string{"9223372036854775.807", "9223372036854774.999", "9223372036854775.808", "9999999999999999", "1704161511420306.5"} {
		ns, _, ok := readTime([]byte(text))
		if want, err := parseMicros([]byte(text)); ok != (err == nil) || ok && ns != want {
			t.Errorf("%s is %d, %v, want %d, %v", text, ns, ok, want, err)
		}
	}
	for text, want := range map[string]int64{
		"0": 0, "12345678": 12345678, "123456789": 123456789, "100000000000000": 100000000000000, "999999999999999": 999999999999999,
		"00000000000000007": 7, "-5": -5, "+5": 5, `"1025"`: 1025, "9223372036854775807": 9223372036854775807, "1234567890123456": 1234567890123456,
		"9999999999999999": 9999999999999999,
	} {
		if n, ok := Value(text).Int(); !ok || n != want {
			t.Errorf("%s is %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "1.5", "1e3", "1_000", "0x10", "12345678/", "123456789:", "9223372036854775808", "12a45678"} {
		if n, ok := Value(text).Int(); ok {
			t.Errorf("%q is %d", text, n)
		}
	}
}
