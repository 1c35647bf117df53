package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/flagos-ai/flagos-trace/internal/testrig"
)

func main() {
	if len(os.Args) == 3 && workers[os.Args[1]] != nil {
		err := workers[os.Args[1]](os.Args[2])
		if err == nil {
			err = printPeak()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	trace := flag.String("trace", "", "`file` with the trace to copy; a training trace with stacks, or the largest of testdata")
	out := flag.String("o", "-", "`file` to write the table to")
	sizes := flag.String("sizes", "200,400,1000", "sizes of the documents, `MB`")
	runs := flag.Int("runs", 3, "how often each is measured; the fastest counts")
	flag.Parse()
	if err := run(*trace, *out, *sizes, *runs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(trace, out, sizes string, runs int) error {
	if trace == "" {
		shared, ok := testrig.FindShared("traces/torch-cuda/train-stacks-shapes-memory.json.gz")
		if trace = shared; !ok {
			trace = "testdata/pairs/train.kineto.json.gz"
		}
	}
	p, err := newTemplate(trace)
	if err != nil {
		return fmt.Errorf("the trace to copy: %w", err)
	}
	var list []int64
	for _, s := range strings.Split(sizes, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil || n < 1 {
			return fmt.Errorf("-sizes %q: numbers of MB are expected", sizes)
		}
		list = append(list, n)
	}
	dir, err := os.MkdirTemp("", "flagos-trace-bench-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := io.Writer(os.Stdout)
	if out != "-" {
		f, err := os.Create(out)
		if err != nil {
			return err
		}
		defer f.Close()
		w = f
	}
	t := &table{w: w, dir: dir, self: self, runs: runs, template: p}
	fmt.Fprintf(w, "# Speed of reading traces\n\nMade by `make bench` with %s on %d processors (load before: %s), from copies of %s.\n"+
		"Each figure is the least of %d runs; CPU is user and system time of all processors, which a busy machine changes less\n"+
		"than the wall time; peak is the most memory the process held, over the size of the text (of one, where there are two).\n\n",
		runtime.Version(), runtime.NumCPU(), busy(), filepath.Base(trace), runs)
	return t.all(list)
}

// busy is the machine's load of the last minute.
func busy() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "not known"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// document writes a document of a size and returns its path and its length.
func (t *table) document(mb int64, packed bool) (path string, size int64, err error) {
	path = filepath.Join(t.dir, "trace.json")
	if packed {
		path += ".gz"
	}
	f, err := os.Create(path)
	if err != nil {
		return "", 0, err
	}
	var w io.WriteCloser = f
	if packed {
		if w, err = gzip.NewWriterLevel(f, gzip.DefaultCompression); err != nil {
			return "", 0, err
		}
	}
	size, err = t.template.write(w, mb*1_000_000)
	if packed && err == nil {
		err = w.Close()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	return path, size, err
}
