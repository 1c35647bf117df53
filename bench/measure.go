package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/baseline"
	"github.com/flagos-ai/flagos-trace/baseline/load"
	"github.com/flagos-ai/flagos-trace/baseline/verdict"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/export"
	"github.com/flagos-ai/flagos-trace/internal/unpack"
	"github.com/flagos-ai/flagos-trace/report"
	"github.com/flagos-ai/flagos-trace/summary"
	"github.com/flagos-ai/flagos-trace/validate"
)

// workers are what this program runs in processes of their own.
var workers = map[string]func(path string) error{
	"worker-read": func(path string) error {
		docs, err := chrome.ReadFile(path, chrome.ReadOptions{})
		runtime.KeepAlive(docs)
		return err
	},
	// As the command does it.
	"worker-validate": func(path string) error {
		debug.SetGCPercent(25)
		return validate.File(path, validate.Options{}, func(name string, r *validate.Report, err error) error {
			if err != nil {
				return err
			}
			return validate.WriteText(io.Discard, validate.Document{File: name, Report: r})
		})
	},
	// A trace against itself costs what two of its size do: each side is read.
	"worker-diff": func(path string) error {
		side := func() (*baseline.Side, error) { return load.Side(path, "") }
		base, now, err := load.Both(side, side)
		if err != nil {
			return err
		}
		r, err := baseline.Diff(base, now, baseline.Options{Now: time.Now()})
		if err != nil {
			return err
		}
		return verdict.WriteText(io.Discard, r)
	},
	// What it prints aside: all tables, as --json has them.
	"worker-summary": func(path string) error {
		s, err := summary.Files([]string{path}, summary.Options{})
		if err != nil {
			return err
		}
		return s.WriteJSON(io.Discard)
	},
	"worker-report": func(path string) error {
		debug.SetGCPercent(25)
		r, err := report.Files([]string{path}, report.Options{})
		if err != nil {
			return err
		}
		return r.WriteHTML(io.Discard)
	},
	"worker-parquet": func(path string) error {
		debug.SetGCPercent(25)
		p, err := export.NewParquet(path+".parquet", true)
		if err != nil {
			return err
		}
		defer p.Abort()
		if err := export.Each(path, chrome.ReadOptions{}, true, p.Add); err != nil {
			return err
		}
		_, err = p.Close()
		return err
	},
	"worker-unpack": func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		text, err := unpack.New(f)
		if err != nil {
			return err
		}
		defer text.Close()
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, text, make([]byte, 1<<20))
		return err
	},
}

// printPeak prints the line of the system's account of this process that says the most
// memory it held. (What the parent is told on its end counts the parent's own.)
func printPeak() error {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, peakLine) {
			fmt.Print(line)
		}
	}
	return nil
}

const peakLine = "VmHWM:"

// cost is what a process took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // bytes
}

// measure runs a program several times and returns the least of each cost: what a busy
// machine adds is none of the program's.
func (t *table) measure(name string, args ...string) (best cost, err error) {
	for range t.runs {
		cmd := exec.Command(name, args...)
		cmd.Stderr = os.Stderr
		begin := time.Now()
		text, err := cmd.Output()
		if err != nil {
			return best, fmt.Errorf("%s: %w", name, err)
		}
		wall := time.Since(begin)
		c := cost{wall: wall, cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
		if f := strings.Fields(string(text)); len(f) == 3 && f[0] == peakLine {
			kb, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				return best, fmt.Errorf("%s: %q: %w", name, text, err)
			}
			c.peak = kb << 10
		}
		if best.wall == 0 {
			best = c
		}
		best = cost{min(best.wall, c.wall), min(best.cpu, c.cpu), min(best.peak, c.peak)}
	}
	return best, nil
}

const loadPython = `import json, sys
with open(sys.argv[1]) as f:
    json.load(f)
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM:")))
`

// table prints what was measured.
type table struct {
	w         io.Writer
	dir, self string
	runs      int
	template  *template
}

func (t *table) row(what string, size int64, c cost, than string) {
	mb := float64(size) / 1e6
	fmt.Fprintf(t.w, "| %s | %.0f | %.2f | %.0f | %.2f | %.2f | %.2f | %s |\n", what, mb, c.wall.Seconds(), mb/c.wall.Seconds(),
		1e3*c.wall.Seconds()/mb, 1e3*c.cpu.Seconds()/mb, float64(c.peak)/float64(size), than)
}

// over says what something costs in proportion to something else.
func over(c, than cost, whose string) string {
	return fmt.Sprintf("%.2f x %s time, %.2f x its CPU time", c.wall.Seconds()/than.wall.Seconds(), whose, c.cpu.Seconds()/than.cpu.Seconds())
}

// all measures documents of all sizes: the first in proportion to others.
func (t *table) all(sizes []int64) error {
	fmt.Fprintf(t.w, "| what | MB of text | s | MB/s | ms/MB | CPU ms/MB | peak/text | |\n|---|---|---|---|---|---|---|---|\n")
	var notes []string
	for i, mb := range sizes {
		path, size, err := t.document(mb, false)
		if err != nil {
			return err
		}
		python := cost{}
		if i == 0 {
			if python, err = t.measure("python3", "-c", loadPython, path); err != nil {
				notes = append(notes, "Not compared with json.load: "+err.Error())
			} else {
				t.row("Python json.load", size, python, "")
			}
		}
		than := func(c cost) string {
			if python.wall == 0 {
				return ""
			}
			return fmt.Sprintf("%.1f x json.load", python.wall.Seconds()/c.wall.Seconds())
		}
		v, err := t.measure(t.self, "worker-validate", path)
		if err != nil {
			return err
		}
		t.row("validate, all rules", size, v, than(v))
		r, err := t.measure(t.self, "worker-read", path)
		if err != nil {
			return err
		}
		t.row("read into a timeline", size, r, than(r))
		if i == 0 {
			d, err := t.measure(t.self, "worker-diff", path)
			if err != nil {
				return err
			}
			t.row("diff of two, each so large", size, d, over(d, v, "validate's"))
			for _, c := range [][2]string{{"summary", "worker-summary"}, {"report, with what validate finds", "worker-report"}, {"export to Parquet", "worker-parquet"}} {
				took, err := t.measure(t.self, c[1], path)
				if err != nil {
					return err
				}
				t.row(c[0], size, took, over(took, v, "validate's"))
			}
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	if err := t.packed(sizes[0]); err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(t.w, "\n%s\n", n)
	}
	return nil
}

// packed measures a document compressed with gzip.
func (t *table) packed(mb int64) error {
	path, size, err := t.document(mb, true)
	if err != nil {
		return err
	}
	u, err := t.measure(t.self, "worker-unpack", path)
	if err != nil {
		return err
	}
	t.row("gunzip alone", size, u, "")
	v, err := t.measure(t.self, "worker-validate", path)
	if err != nil {
		return err
	}
	t.row("validate, .gz", size, v, over(v, u, "gunzip's"))
	r, err := t.measure(t.self, "worker-read", path)
	if err != nil {
		return err
	}
	t.row("read, .gz", size, r, over(r, u, "gunzip's"))
	return os.Remove(path)
}
