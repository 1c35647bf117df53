package agent

import (
	"fmt"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
)

// fullEvery is how often counters are written once the spool has the size
// allowed: it must not grow by them.
const fullEvery = time.Minute

// segments is in how many pieces a ring is removed: what is kept is between all
// of it and one piece less.
const segments = 4

// bounds keep the size of a spool.
type bounds struct {
	isFull   bool
	overSize uint64 // bytes of buffers left out for that

	header      spool.Header // of the segment
	begun       time.Time    // when it was
	head        int64        // bytes of it before its first buffer
	kept        []segment    // those before it, the oldest first
	older       int64        // bytes of them
	ringDropped uint64       // bytes of those removed
	retry       time.Time    // when to try again, after a failure
}

// segment is an earlier file of the spool.
type segment struct {
	number int
	size   int64
	end    time.Time
}

// newSpoolFile takes a spool that holds its header.
func newSpoolFile(a *Agent, w *spool.Writer, h spool.Header) *spoolFile {
	f := &spoolFile{w: w, agent: a, bounds: bounds{header: h, begun: time.Now(), head: w.Size()}}
	path := w.Path()
	a.written.path.Store(&path)
	if a.cfg.ringBytes > 0 || a.cfg.ringTime > 0 {
		w.KeepSegments()
	}
	f.publish()
	return f
}

// full reports whether the spool has the size allowed, and takes no more buffers.
func (f *spoolFile) full() bool { return f.isFull }

// frameRoom is what is reckoned for the frames round a buffer, bytes.
const frameRoom = 1 << 10

// makeRoom sees to it that a buffer of n bytes may be written, and reports
// whether it may.
func (f *spoolFile) makeRoom(n int) bool {
	c := &f.agent.cfg
	need := int64(n) + frameRoom
	if c.maxSize > 0 && !f.isFull && f.w.Size()+need > c.maxSize {
		// For good: a later and smaller buffer would leave a hole behind this one.
		f.isFull = true
		f.lose(spool.LossMaxSize, fmt.Sprintf("the spool has reached the size allowed (%d bytes): what comes later is left out", c.maxSize))
	}
	if f.isFull {
		f.overSize += uint64(n)
		return false
	}
	now := time.Now()
	grown := f.w.Size() - f.head
	if grown > 0 && !now.Before(f.retry) &&
		(c.ringBytes > 0 && grown+need > c.ringBytes/segments || c.ringTime > 0 && now.Sub(f.begun) >= c.ringTime/segments) {
		f.turn(now)
	}
	return true
}

// turn begins the next segment and removes those that are too old.
func (f *spoolFile) turn(now time.Time) {
	f.pending()
	h := f.header
	h.Segment++
	h.SegmentNS = f.agent.shim.Clock().Realtime
	size := f.w.Size()
	w, err := f.w.Next(h)
	if err != nil {
		f.retry = now.Add(time.Second)
		f.Diagnose(fmt.Sprintf("what is old could not be removed from the spool: %v", err))
		return
	}
	f.kept = append(f.kept, segment{f.header.Segment, size, now})
	f.older += size
	f.w, f.header, f.begun, f.head = w, h, now, w.Size()
	f.prune(now)
	f.counters()
	f.head = f.w.Size()
}

// prune removes the segments that are not to be kept.
func (f *spoolFile) prune(now time.Time) {
	c := &f.agent.cfg
	for len(f.kept) > 0 {
		old := f.kept[0]
		tooMuch := c.ringBytes > 0 && f.older > c.ringBytes-c.ringBytes/segments
		if !tooMuch && (c.ringTime == 0 || now.Sub(old.end) < c.ringTime) {
			return
		}
		if _, err := spool.RemoveSegment(f.w.Path(), old.number); err != nil {
			f.Diagnose(fmt.Sprintf("what is old could not be removed from the spool: %v", err))
			return
		}
		f.kept, f.older = f.kept[1:], f.older-old.size
		f.ringDropped += uint64(old.size)
	}
}
