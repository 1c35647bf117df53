package record

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flagos-ai/flagos-trace/spool"
)

// redraw is how often the progress line is drawn.
const redraw = 500 * time.Millisecond

// catchUp is how far behind a spool's end counters are still read, bytes: to read
// all that a fast program writes would take from it.
const catchUp = 64 << 20

// showProgress draws a line on a terminal until the function it returns is called,
// which removes it. The cursor is left at the line's beginning, so that what the
// program prints next begins where it would have; what it has printed of a line
// without an end is drawn over. Nothing is drawn while another process group has
// the terminal.
func showProgress(tty *os.File, dir string) (stop func()) {
	if tty == nil {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		p := progress{dir: dir, start: time.Now(), open: map[string]*progressSpool{}}
		defer p.close()
		tick := time.NewTicker(redraw)
		defer tick.Stop()
		drawn := false
		for {
			select {
			case <-quit:
				if drawn && foreground(tty) {
					_, _ = io.WriteString(tty, "\r\x1b[K")
				}
				return
			case <-tick.C:
				if foreground(tty) {
					drawn = true
					_, _ = io.WriteString(tty, "\r"+cutLine(p.line(time.Now()), columns(tty))+"\x1b[K\r")
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// foreground reports whether the terminal is this process group's.
func foreground(tty *os.File) bool {
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// columns returns the width of a terminal, 80 where it does not know.
func columns(tty *os.File) int {
	if ws, err := unix.IoctlGetWinsize(int(tty.Fd()), unix.TIOCGWINSZ); err == nil && ws.Col > 0 {
		return int(ws.Col)
	}
	return 80
}

// cutLine cuts a line of ASCII so that the cursor stays in it.
func cutLine(text string, columns int) string { return text[:min(len(text), max(columns-1, 0))] }

// progress is what a recording has come to so far.
type progress struct {
	dir   string
	start time.Time
	open  map[string]*progressSpool
}

// progressSpool is a spool that is followed for its counters.
type progressSpool struct {
	r        *spool.Reader
	file     os.FileInfo
	at       int64 // behind the last frame read
	skipped  bool  // it was too far ahead once, and is not followed any more
	counters spool.Counters
}

func (p *progress) close() {
	for _, s := range p.open {
		s.close()
	}
}

func (s *progressSpool) close() {
	if s.r != nil {
		s.r.Close()
		s.r = nil
	}
}

// line says how the recording stands.
func (p *progress) line(now time.Time) string {
	spools, _ := findSpools(p.dir) // a folder that is gone has none
	var bytes int64
	var lost, records uint64
	for _, f := range spools {
		files, err := spool.Segments(f.path)
		if err != nil {
			continue
		}
		for _, name := range files {
			if st, err := os.Stat(name); err == nil {
				bytes += st.Size()
			}
		}
		c := p.follow(f.path)
		lost += c.BuffersDiscarded
		if c.RecordsDropped != nil {
			records += *c.RecordsDropped
		}
	}
	text := fmt.Sprintf("flagos-trace: %s, ", now.Sub(p.start).Truncate(time.Second))
	if len(spools) == 1 {
		text += "1 process, "
	} else {
		text += fmt.Sprintf("%d processes, ", len(spools))
	}
	text += fmt.Sprintf("%.1f MB recorded", float64(bytes)/1e6)
	if lost > 0 {
		text += ", " + plural(lost, "buffers") + " dropped"
	}
	if records > 0 {
		text += ", " + plural(records, "records") + " dropped"
	}
	return text
}

// follow reads what came to a spool and returns its last counters.
func (p *progress) follow(path string) spool.Counters {
	s := p.open[path]
	if s == nil {
		s = &progressSpool{}
		p.open[path] = s
	}
	st, err := os.Stat(path)
	if err != nil || s.skipped {
		return s.counters
	}
	if s.r != nil && !os.SameFile(s.file, st) { // a new segment
		s.close()
	}
	if s.r == nil {
		if s.r, err = spool.Open(path); err != nil {
			s.r = nil
			return s.counters
		}
		s.file, s.at = st, 0
	}
	if st.Size()-s.at > catchUp {
		s.skipped = true
		s.close()
		return s.counters
	}
	for {
		f, err := s.r.Next()
		if err != nil {
			return s.counters
		}
		s.at = f.Offset + int64(len(f.Payload))
		if f.Type != spool.TypeCounters {
			continue
		}
		if c, err := f.Counters(); err == nil {
			s.counters = c
		}
	}
}
