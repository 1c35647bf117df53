package chrome

import (
	"io"
	"runtime"
	"sync"

	"github.com/flagos-ai/flagos-trace/timeline"
)

// Write writes t as a document, compressed if o.Gzip is set. Errors are those of
// w.
func Write(w io.Writer, t *timeline.Trace, o Options) error {
	_, err := write(w, t, o)
	return err
}

func write(w io.Writer, t *timeline.Trace, o Options) (Stats, error) {
	p := newPlan(t, o)
	p.traceName = o.TraceName
	workers := o.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	out := newSink(w, o.Gzip)
	stats := Stats{InvalidText: p.invalid}
	var err error
	if workers == 1 {
		err = writeSerial(out, p, &stats)
	} else {
		err = writeParallel(out, p, &stats, workers)
	}
	if err == nil {
		err = out.close()
	}
	stats.Bytes, stats.FileBytes = out.bytes, out.fileBytes
	return stats, err
}

func (s *Stats) add(o Stats) {
	s.Events += o.Events
	s.Flows += o.Flows
	s.InvalidText += o.InvalidText
}

// text is one segment on its way to the sink.
type text struct {
	segment segment
	raw     []byte
	packed  []byte // raw compressed, when the sink compresses
	err     error
	ready   chan struct{}
}

func writeSerial(out *sink, p *plan, stats *Stats) error {
	r := renderer{plan: p}
	c := out.compressor()
	var t text
	for _, s := range p.segments {
		t.raw = r.segment(t.raw[:0], s)
		if err := c.pack(&t); err != nil {
			return err
		}
		if err := out.put(&t); err != nil {
			return err
		}
	}
	stats.add(r.stats)
	return nil
}

// writeParallel renders and compresses segments in workers goroutines and puts
// them out in order. Two more texts than workers exist, so that nobody waits for
// the slowest and memory stays bounded.
func writeParallel(out *sink, p *plan, stats *Stats, workers int) error {
	inFlight := workers + 2
	free := make(chan *text, inFlight)
	for range inFlight {
		free <- &text{ready: make(chan struct{}, 1)}
	}
	todo := make(chan *text, inFlight)
	order := make(chan *text, inFlight)
	stop := make(chan struct{})

	var group sync.WaitGroup
	var mu sync.Mutex
	for range workers {
		group.Go(func() {
			r := renderer{plan: p}
			c := out.compressor()
			for t := range todo {
				t.raw = r.segment(t.raw[:0], t.segment)
				t.err = c.pack(t)
				t.ready <- struct{}{}
			}
			mu.Lock()
			stats.add(r.stats)
			mu.Unlock()
		})
	}
	group.Go(func() {
		defer close(todo)
		defer close(order)
		for _, s := range p.segments {
			select {
			case t := <-free:
				t.segment = s
				order <- t
				todo <- t
			case <-stop:
				return
			}
		}
	})

	var err error
	for t := range order {
		<-t.ready
		if err == nil {
			if err = t.err; err == nil {
				err = out.put(t)
			}
			if err != nil {
				close(stop)
			}
		}
		free <- t
	}
	group.Wait()
	return err
}
