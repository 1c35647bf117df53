package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"regexp"
	"strconv"

	"github.com/klauspost/compress/gzip"
)

// template is a trace whose times, ids and host pids can be shifted.
type template struct {
	head, tail string // before the first event, and from the closing bracket on
	literals   []string
	numbers    []number // between the literals
	separator  string
	span       int64 // ns
}

type number struct {
	value int64
	time  bool // printed as microseconds
	step  int64
}

var shifted = regexp.MustCompile(`"(ts|correlation|External id|id|pid|tid)": ([0-9]+)(\.[0-9]{3})?`)

// newTemplate cuts a trace of Kineto's layout apart.
func newTemplate(path string) (*template, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(z)
	if err != nil {
		return nil, err
	}
	const key = `"traceEvents": [`
	begin := bytes.Index(text, []byte(key)) + len(key)
	end := bytes.LastIndexByte(text, ']')
	p := &template{head: string(text[:begin]), tail: string(text[end:]), separator: ","}
	events := text[begin:end]
	// A host process has a pid of its own, above the devices' ordinals.
	ids := int64(0)
	for _, m := range shifted.FindAllSubmatch(events, -1) {
		n, _ := strconv.ParseInt(string(m[2]), 10, 64)
		if k := string(m[1]); k == "correlation" || k == "External id" || k == "id" {
			ids = max(ids, n)
		}
	}
	first, last := int64(1<<62), int64(0)
	at := 0
	for _, m := range shifted.FindAllSubmatchIndex(events, -1) {
		n, _ := strconv.ParseInt(string(events[m[4]:m[5]]), 10, 64)
		x := number{value: n}
		switch string(events[m[2]:m[3]]) {
		case "ts":
			if m[6] < 0 {
				continue
			}
			ns, _ := strconv.ParseInt(string(events[m[6]+1:m[7]]), 10, 64)
			x.value, x.time, x.step = n*1000+ns, true, -1
			first, last = min(first, x.value), max(last, x.value)
		case "pid":
			if n < 64 {
				continue
			}
			x.step = 1
		case "tid":
			if n < 64 {
				continue
			}
		default:
			x.step = ids + 1
		}
		p.literals = append(p.literals, string(events[at:m[4]]))
		p.numbers = append(p.numbers, x)
		at = m[5]
		if x.time {
			at = m[7]
		}
	}
	p.literals = append(p.literals, string(events[at:]))
	p.span = last - first + 100_000_000
	return p, nil
}

// write prints copies until there are at least size bytes.
func (p *template) write(w io.Writer, size int64) (int64, error) {
	out := bufio.NewWriterSize(w, 1<<20)
	var n int64
	put := func(s string) { n += int64(len(s)); _, _ = out.WriteString(s) }
	put(p.head)
	var buf []byte
	for k := int64(0); n < size; k++ {
		if k > 0 {
			put(p.separator)
		}
		for i, x := range p.numbers {
			put(p.literals[i])
			v := x.value
			switch {
			case x.time:
				v += k * p.span
				buf = strconv.AppendInt(buf[:0], v/1000, 10)
				buf = append(buf, '.')
				frac := strconv.Itoa(int(v%1000) + 1000)
				buf = append(buf, frac[1:]...)
			default:
				buf = strconv.AppendInt(buf[:0], v+k*x.step, 10)
			}
			n += int64(len(buf))
			_, _ = out.Write(buf)
		}
		put(p.literals[len(p.literals)-1])
	}
	put(p.tail)
	return n, out.Flush()
}
