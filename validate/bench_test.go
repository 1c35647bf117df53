package validate

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
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
func newTemplate(tb testing.TB, path string) *template {
	f, err := os.Open(path)
	if err != nil {
		tb.Skip(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		tb.Fatal(err)
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
	return p
}

// write prints copies until there are at least size bytes.
func (p *template) write(w io.Writer, size int64) int64 {
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
	if err := out.Flush(); err != nil {
		panic(err)
	}
	return n
}

const benchSize = 200 << 20

// benchFile makes the document of a benchmark.
func benchFile(b *testing.B, source string) (path string, size int64) {
	p := newTemplate(b, source)
	path = filepath.Join(b.TempDir(), "trace.json")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	size = p.write(f, benchSize)
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return path, size
}

// BenchmarkValidate checks a document of 200 MB with all rules on. peak/file is
// the largest heap seen over the size of the file.
func BenchmarkValidate(b *testing.B) {
	stacks, _ := testrig.FindShared("traces/torch-cuda/train-stacks-shapes-memory.json.gz")
	for _, source := range []struct{ name, path string }{
		{"train", "../testdata/pairs/train.kineto.json.gz"},
		{"stacks", stacks},
	} {
		b.Run(source.name, func(b *testing.B) {
			path, size := benchFile(b, source.path)
			b.SetBytes(size)
			runtime.GC()
			stop := make(chan struct{})
			peak := make(chan uint64)
			go func() {
				var top uint64
				var m runtime.MemStats
				for {
					select {
					case <-stop:
						peak <- top
						return
					case <-time.After(20 * time.Millisecond):
						runtime.ReadMemStats(&m)
						top = max(top, m.HeapSys-m.HeapReleased)
					}
				}
			}()
			var errors, events int
			cpu := cpuTime()
			begin := time.Now()
			for b.Loop() {
				r := runFile(b, path, Options{})
				events, errors = r.Events, 0
				for _, c := range r.Counts {
					if c.Severity == Error {
						errors += c.N
					}
				}
			}
			each := time.Since(begin) / time.Duration(b.N)
			cpu = (cpuTime() - cpu) / time.Duration(b.N)
			b.StopTimer()
			close(stop)
			// What two cores that nobody else uses could do at most.
			b.ReportMetric(2*float64(size)/1e6/cpu.Seconds(), "MB/s-bound-2-cores")
			b.ReportMetric(float64(<-peak)/float64(size), "peak/file")
			b.ReportMetric(float64(errors), "errors")
			b.ReportMetric(float64(size)/float64(events), "bytes/event")
			if python := pythonLoad(path); python > 0 {
				b.ReportMetric(python.Seconds()/each.Seconds(), "x-json.load")
			}
		})
	}
}

func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pythonLoad is the time that Python's json.load takes for a file, 0 without Python.
func pythonLoad(path string) time.Duration {
	out, err := exec.Command("python3", "-c", `import json,sys,time
with open(sys.argv[1]) as f:
    t=time.perf_counter(); json.load(f); print(time.perf_counter()-t)`, path).Output()
	if err != nil {
		return 0
	}
	s, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
