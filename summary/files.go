package summary

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/cut"
	"github.com/flagos-ai/flagos-trace/measure"
	"github.com/flagos-ai/flagos-trace/merge"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// ErrNothing: none of the traces has anything of what was asked for.
var ErrNothing = errors.New("summary: nothing is left")

// Files sums up the traces in the files: documents, compressed or not, archives of
// them, merged traces; "-" is standard input. As many files are read at a time as there
// are processors, and each trace is let go of when it was reduced. Errors are those of
// chrome.ReadEach, which name the file, wrap those of package cut, measure.ErrBounds, or
// ErrNothing.
func Files(paths []string, o Options) (*Summary, error) {
	parts := make([][]*part, len(paths))
	errs := make([]error, len(paths))
	total := newTotals(&o)
	workers := min(runtime.GOMAXPROCS(0), len(paths))
	next := make(chan int)
	var group sync.WaitGroup
	var lock sync.Mutex
	var bounds measure.Bounds
	for range workers {
		group.Go(func() {
			for i := range next {
				r := reader{o: &o, workers: 1, file: i, bound: func(t *timeline.Trace) error {
					lock.Lock()
					defer lock.Unlock()
					return bounds.Add(t)
				}}
				if len(paths) == 1 {
					r.workers = 0
				}
				errs[i] = r.read(paths[i], func(p *part) {
					lock.Lock()
					defer lock.Unlock()
					total.add(p)
					p.release()
					parts[i] = append(parts[i], p)
				})
			}
		})
	}
	for i := range paths {
		next <- i
	}
	close(next)
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all := slices.Concat(parts...)
	if len(all) == 0 {
		return nil, fmt.Errorf("%w of %s", ErrNothing, o.String())
	}
	return total.summary(all), nil
}

// reader reads the traces of a file.
type reader struct {
	o       *Options
	workers int
	file    int                         // index in the paths
	bound   func(*timeline.Trace) error // may refuse a trace
}

const collectiveKey = "Collective name"

func (r *reader) read(path string, each func(*part)) error {
	o := chrome.ReadOptions{Rules: r.o.Rules, Workers: r.workers, MaxFindings: 1}
	if !r.o.ByShape {
		o.DropArgs = true
		o.DropOffsets = true
		o.KeepKeys = append([]string{collectiveKey}, r.o.KeepKeys...)
	}
	return chrome.ReadEach(path, o, func(d *chrome.Document) error { return r.document(d, each) })
}

// document reduces a trace, or each part of a merged one.
func (r *reader) document(d *chrome.Document, each func(*part)) error {
	infos := merge.Infos(d.Trace)
	// A trace of one part is that part, and so is one whose parts have nothing of their own.
	whole := len(infos) < 2 || !slices.ContainsFunc(infos, func(i merge.Info) bool { return !i.Skip() })
	if whole {
		return r.trace(d, d.Trace, filepath.Base(d.Name), each)
	}
	for i := range infos {
		if infos[i].Skip() {
			continue
		}
		t, err := merge.Extract(d.Trace, i)
		if err != nil {
			return fmt.Errorf("%s: %w", d.Name, err)
		}
		name := infos[i].File
		if name == "" {
			name = filepath.Base(d.Name)
		}
		if err := r.trace(d, t, name, each); err != nil {
			return err
		}
	}
	return nil
}

// trace reduces one trace.
func (r *reader) trace(d *chrome.Document, t *timeline.Trace, name string, each func(*part)) error {
	if r.o.cuts() {
		// A time outside of the trace is of another trace, maybe.
		part, err := r.cut(t)
		if errors.Is(err, cut.ErrNothing) || errors.Is(err, cut.ErrUnknown) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t = part
	}
	if r.bound != nil {
		if err := r.bound(t); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	each(newPart(d, t, name, r.o, func(x *calltree.Tree, m *measure.Run) {
		if r.o.Look != nil {
			r.o.Look(Reading{File: r.file, Name: name, Document: d, Tree: x, Run: m})
		}
	}))
	return nil
}

func (r *reader) cut(t *timeline.Trace) (*timeline.Trace, error) {
	if len(r.o.Ranks) > 0 {
		part, _, err := cut.Trace(t, cut.Options{Ranks: r.o.Ranks})
		if err != nil {
			return nil, err
		}
		t = part
	}
	if r.o.Steps != nil {
		part, _, err := cut.Trace(t, cut.Options{Steps: r.o.Steps, Launched: true})
		if err != nil {
			return nil, err
		}
		t = part
	}
	if r.o.From != "" || r.o.To != "" {
		w, err := cut.ParseWindow(t, r.o.From, r.o.To)
		if err != nil {
			return nil, err
		}
		part, _, err := cut.Trace(t, cut.Options{Window: &w, Straddling: cut.Clipped})
		if err != nil {
			return nil, err
		}
		t = part
	}
	return t, nil
}
