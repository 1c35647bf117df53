package record

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/ranks"
	"github.com/flagos-ai/flagos-trace/spool"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// part is one process of a merged trace.
type part struct {
	trace *timeline.Trace
	spool spoolFile
}

// memoryPerByte is how many bytes of memory a byte of spools may take while their
// traces are merged. BenchmarkMerge shows 1.4 for kernels with their API calls;
// events of small records, such as calls without kernels (40 bytes each), take the
// most.
const memoryPerByte = 6

// tooLarge says why the traces of spools cannot be merged in memory, "" if they
// can, as far as one knows.
func tooLarge(spools []spoolFile, available int64) string {
	var total int64
	for _, s := range spools {
		files, err := spool.Segments(s.path)
		if err != nil {
			files = []string{s.path}
		}
		for _, name := range files {
			if st, err := os.Stat(name); err == nil {
				total += st.Size()
			}
		}
		for _, name := range findHostFiles(s.path).paths() {
			if st, err := os.Lstat(name); err == nil {
				total += st.Size()
			}
		}
	}
	if total <= available/memoryPerByte {
		return ""
	}
	return fmt.Sprintf("the traces are not merged: %s of data may take %s of memory, and %s are free; each process has a trace of its own",
		size(total), size(total*memoryPerByte), size(available))
}

// add takes a process's trace for the merged one.
func (f *finisher) add(t *timeline.Trace, s spoolFile) {
	p := part{t, s}
	if !idle(t) {
		f.parts = append(f.parts, p)
		return
	}
	f.result.Summary.Idle = append(f.result.Summary.Idle, Idle{PID: s.pid, Process: t.Process.Name})
	if f.spare == nil || s.pid == f.ended.pid && f.spare.spool.pid != s.pid {
		f.spare = &p
	}
}

// writeMerged writes the one trace of all processes that were added.
func (f *finisher) writeMerged() error {
	sum := &f.result.Summary
	if len(f.parts) == 0 && f.spare != nil { // a trace that says that there was nothing
		f.parts = []part{*f.spare}
		sum.Idle = slices.DeleteFunc(sum.Idle, func(i Idle) bool { return i.PID == f.spare.spool.pid })
	}
	switch len(f.parts) {
	case 0:
		return nil
	case 1:
		return f.write(f.parts[0].trace, f.options.Output, f.parts[0].spool)
	}
	slices.SortStableFunc(f.parts, func(a, b part) int {
		if a.spool.hasRank != b.spool.hasRank {
			return map[bool]int{true: -1, false: 1}[a.spool.hasRank]
		}
		return cmp.Compare(a.spool.rank, b.spool.rank)
	})
	var window timeline.Window
	for _, p := range f.parts {
		if p.trace.Window.End > p.trace.Window.Start {
			window = p.trace.Window
		}
	}
	var list []merge.Part
	var traces []TraceSummary
	for _, p := range f.parts {
		if p.trace.Window == (timeline.Window{}) {
			p.trace.Window = window // of one that could not be read
		}
		one := merge.Part{Trace: p.trace, Clock: &timeline.Alignment{Method: timeline.AlignSameHost}}
		one.Label = p.spool.role("")
		if p.spool.death != "" {
			one.Label = strings.TrimPrefix(one.Label+", "+p.spool.death, ", ")
		}
		list = append(list, one)
		traces = append(traces, p.summary())
	}
	all, err := merge.Traces(list)
	if err != nil {
		return fmt.Errorf("cannot merge the traces: %w", err)
	}
	f.parts = nil
	tie(all)
	file, err := f.writeTo(f.options.Output, all, "all processes")
	if err != nil {
		return err
	}
	for i := range traces {
		traces[i].File, traces[i].Bytes = file.File, file.Bytes
	}
	sum.Traces, sum.Merged = append(sum.Traces, traces...), file
	return nil
}

// tie draws arrows between the ranks of a collective operation. It returns their
// number.
func tie(all *timeline.Trace) int {
	list := ranks.Collect(all, "")
	return ranks.Arrows(all, list, ranks.MatchAll(list))
}

// summary is the account of a part.
func (p part) summary() TraceSummary {
	s := Summarize(p.trace)
	s.PID = p.spool.pid
	if p.spool.hasRank {
		rank := p.spool.rank
		s.Rank = &rank
	}
	if p.spool.helper {
		rank := p.spool.rank
		s.HelperOf = &rank
	}
	s.Launcher, s.EndedNS, s.death = p.spool.launcher, p.spool.ended, p.spool.death
	return s
}

// availableMemory returns how many bytes of memory this process may still take:
// what the system has left, or its control groups allow. Unknown is no bound.
func availableMemory() int64 {
	left := int64(math.MaxInt64)
	if kib, ok := field("/proc/meminfo", "MemAvailable:"); ok {
		left = kib << 10
	}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return left
	}
	for group := range strings.Lines(string(groups)) {
		f := strings.SplitN(strings.TrimSpace(group), ":", 3)
		if len(f) != 3 {
			continue
		}
		root, limit, used := "/sys/fs/cgroup", "memory.max", "anon"
		switch {
		case f[0] == "0" && f[1] == "":
		case slices.Contains(strings.Split(f[1], ","), "memory"):
			root, limit, used = root+"/memory", "memory.limit_in_bytes", "total_rss"
		default:
			continue
		}
		// In a container the group's path may be that of another root.
		for _, dir := range []string{root, filepath.Join(root, f[2])} {
			max, ok := field(filepath.Join(dir, limit), "")
			if !ok {
				continue
			}
			now, _ := field(filepath.Join(dir, "memory.stat"), used)
			left = min(left, max-now)
		}
	}
	return left
}

// field reads a number from a file of the system: the one behind a word, or the
// only one.
func field(path, word string) (int64, bool) {
	f, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		words := strings.Fields(s.Text())
		if word != "" {
			if len(words) < 2 || words[0] != word {
				continue
			}
			words = words[1:]
		}
		if len(words) == 0 {
			return 0, false
		}
		n, err := strconv.ParseInt(words[0], 10, 64)
		return n, err == nil
	}
	return 0, false
}
