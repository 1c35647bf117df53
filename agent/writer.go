package agent

import (
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
	"golang.org/x/sys/unix"
)

// writer is the thread that owns the spool.
func (a *Agent) writer(f *spoolFile) {
	runtime.LockOSThread()
	defer a.shim.Park()
	defer a.writerFailed(f)
	a.shim.Quiet(spool.OwnThreadPrefix + "write")
	a.shim.Warm()
	a.threads[Writer].Store(int64(unix.Gettid()))
	cpu := threadCPU()
	threads := newThreadNames()
	threads.scan(f, false)
	last, counted := time.Now(), time.Time{}
	for {
		a.shim.Wait(Writer, a.rest(sampleEvery))
		if a.state.Load() == failed { // the flusher is
			a.work(f)
			threads.scan(f, true)
			f.end("failed", false)
			a.shim.ExitDone()
			return
		}
		if a.shim.Exiting() {
			a.finish(f, threads, cpu)
			return
		}
		if a.work(f) {
			threads.look(f)
		}
		if now := time.Now(); now.Sub(last) >= sampleEvery {
			last = now
			threads.scan(f, false)
			if !f.full() || now.Sub(counted) >= fullEvery {
				counted = now
				f.counters()
			}
		}
		a.cpu[Writer].Store(threadCPU() - cpu)
	}
}

// work writes the completed buffers, then what was posted before they were
// taken, so that a posted frame stands behind the buffers it speaks of.
// It returns whether there were buffers.
func (a *Agent) work(f *spoolFile) (buffers bool) {
	a.mu.Lock()
	posted, unposted := a.outbox, a.unposted
	a.outbox, a.unposted = nil, 0
	a.mu.Unlock()
	for {
		b, ok := a.shim.Take()
		if !ok {
			break
		}
		buffers = true
		f.buffer(b)
		a.shim.Release(b)
	}
	for _, fn := range posted {
		fn(f)
	}
	if unposted > 0 {
		f.Diagnose(fmt.Sprintf("the spool could not be written to for a long time: %d clock samples and messages were given up", unposted))
	}
	f.pending()
	f.publish()
	return buffers
}

// writerFailed ends a writer that panicked without ending the program; the
// flusher then disarms.
func (a *Agent) writerFailed(f *spoolFile) {
	if p := recover(); p != nil {
		a.fail("writer", p)
		func() {
			defer func() {
				if p := recover(); p != nil {
					a.log.printf("ending the spool: panic: %v", p)
				}
			}()
			f.lose(spool.LossAgent, fmt.Sprintf("recording ended early: internal error of the writer: %v", p))
			f.end("failed", false)
		}()
		a.shim.ExitDone()
		a.shim.Wake(Flusher)
	}
}

// settleTime is how long exit waits for a last clock sample after the flush.
const settleTime = 300 * time.Millisecond

// finish writes the end while the exit handler waits: it gives the forced flush
// nearly all of the time allowed, then says what it has.
func (a *Agent) finish(f *spoolFile, threads *threadNames, cpu int64) {
	limit := time.Now().Add(a.cfg.exitTimeout - min(a.cfg.exitTimeout/4, 200*time.Millisecond))
	came := false
	for a.work(f); !a.settled.Load() && a.state.Load() != failed && time.Now().Before(limit); a.work(f) {
		if !came && a.flushed.Load() {
			came = true // what is asked after it is worth less
			if l := time.Now().Add(settleTime); l.Before(limit) {
				limit = l
			}
		}
		a.shim.Wait(Writer, min(time.Until(limit), 50*time.Millisecond))
	}
	flushed := a.flushed.Load()
	a.work(f)
	if flushed && a.refused.Load() {
		flushed = false // it came back, and with nothing
	} else if !flushed {
		f.Diagnose(fmt.Sprintf("the library's last flush did not come back within %v: the last records are missing", a.cfg.exitTimeout))
		f.clock(a.shim.Clock())
	}
	threads.scan(f, true)
	a.cpu[Writer].Store(threadCPU() - cpu)
	f.end("exit", flushed)
	a.socket.remove()
	a.state.Store(inert)
	a.shim.SetActive(false)
	a.shim.ExitDone()
}

// spoolFile is the spool as the writer sees it. It implements tracer.Findings:
// what Inspect finds is kept until it has been written, so that a full disk
// costs records but no name of later ones.
type spoolFile struct {
	w         *spool.Writer
	agent     *Agent
	unwritten uint64 // bytes of buffers
	bounds

	names     []spool.Name
	nameBytes int
	refused   uint64 // times a name could not be kept
	noRoom    bool   // names could not be written just now
	strides   [][2]uint32
	callbacks []callbackName
	diagnoses []string
	losses    []spool.Loss
	said      map[string]bool
	offsets   []uint32
	hasOffs   bool
	last      bool // what cannot be written now never will
}

type callbackName struct {
	domain, id uint32
	name       string
}

// Bounds of what is kept: texts a person would read, and names that wait for a
// full disk, in bytes.
const (
	maxDiagnoses = 256
	maxNameBytes = 8 << 20
	nameFrame    = 1 << 20 // bytes of names in a frame
)

// nameBytes is what a name takes.
func nameBytes(n spool.Name) int { return 12 + len(n.Name) }

func (f *spoolFile) Name(ptr uint64, name string) bool {
	n := spool.Name{Ptr: ptr, Name: name}
	if f.nameBytes+nameBytes(n) > maxNameBytes && !f.noRoom {
		f.writeNames()
	}
	if f.nameBytes+nameBytes(n) > maxNameBytes {
		f.refused++
		return false
	}
	f.names = append(f.names, n)
	f.nameBytes += nameBytes(n)
	return true
}

// writeNames writes the names that are kept, until one frame of them cannot be.
func (f *spoolFile) writeNames() {
	f.w.Retrying(!f.last)
	defer f.w.Retrying(false)
	f.noRoom = false
	for len(f.names) > 0 {
		n, bytes := 0, 0
		for n < len(f.names) && (n == 0 || bytes+nameBytes(f.names[n]) <= nameFrame) {
			bytes += nameBytes(f.names[n])
			n++
		}
		if !f.do(f.w.Names(f.names[:n])) {
			f.noRoom = true
			return
		}
		f.names, f.nameBytes = f.names[n:], f.nameBytes-bytes
	}
	f.names = nil
}

func (f *spoolFile) Stride(kind, bytes uint32) { f.strides = append(f.strides, [2]uint32{kind, bytes}) }

func (f *spoolFile) CallbackName(domain, id uint32, name string) {
	f.callbacks = append(f.callbacks, callbackName{domain, id, name})
}

func (f *spoolFile) Offsets(off []uint32) { f.offsets, f.hasOffs = off, true }

func (f *spoolFile) Diagnose(text string) {
	if f.said == nil {
		f.said = map[string]bool{}
	}
	if f.said[text] || len(f.said) >= maxDiagnoses {
		return
	}
	f.said[text] = true
	f.agent.log.printf("diagnosis: %s", text)
	f.diagnoses = append(f.diagnoses, text)
}

// lose says that something is missing, each kind of it once.
func (f *spoolFile) lose(code, text string) {
	f.Diagnose(text)
	if key := "loss " + code; !f.said[key] {
		f.said[key] = true
		f.losses = append(f.losses, spool.Loss{Code: code, Text: text})
	}
}

// do takes note of a failed write; the spool counts it.
func (f *spoolFile) do(err error) bool {
	if err != nil {
		f.agent.failures.Add(1)
		f.agent.log.printf("%v", err)
	}
	return err == nil
}

func (f *spoolFile) clock(c spool.Clock) {
	if !f.full() || f.last {
		f.do(f.w.Clock(c))
	}
}

// pending writes what was found, and keeps what could not be written.
func (f *spoolFile) pending() {
	f.w.Retrying(!f.last)
	defer f.w.Retrying(false)
	for len(f.strides) > 0 && f.do(f.w.Stride(f.strides[0][0], f.strides[0][1])) {
		f.strides = f.strides[1:]
	}
	for len(f.callbacks) > 0 && f.do(f.w.CallbackName(f.callbacks[0].domain, f.callbacks[0].id, f.callbacks[0].name)) {
		f.callbacks = f.callbacks[1:]
	}
	f.say(math.MaxInt)
	f.writeNames()
}

// say writes messages and losses of at most room bytes.
func (f *spoolFile) say(room int) {
	fits := func(text string) bool { room -= 128 + 2*len(text); return room >= 0 }
	for len(f.losses) > 0 && fits(f.losses[0].Text) && f.do(f.w.Loss(f.losses[0])) {
		f.losses = f.losses[1:]
	}
	for len(f.diagnoses) > 0 && fits(f.diagnoses[0]) && f.do(f.w.Diagnosis(f.diagnoses[0])) {
		f.diagnoses = f.diagnoses[1:]
	}
}

// buffer inspects and writes one buffer.
func (f *spoolFile) buffer(b Block) {
	if !f.makeRoom(len(b.Data)) {
		return
	}
	f.hasOffs = false
	if err := f.agent.binding.Inspect(b.Data, f); err != nil {
		f.Diagnose(err.Error())
	}
	f.pending()
	if f.hasOffs && !f.do(f.w.Offsets(f.offsets)) || !f.do(f.w.Buffer(b.Buffer)) {
		f.unwritten += uint64(len(b.Data))
	}
}

func (f *spoolFile) counters() {
	f.publish()
	f.do(f.w.Counters(f.agent.counters()))
}

// written is what the writer tells other threads of the spool.
type written struct {
	path                                     atomic.Pointer[string]
	size                                     atomic.Int64
	errors, unwritten, overSize, ringDropped atomic.Uint64
}

func (f *spoolFile) publish() {
	w := &f.agent.written
	w.size.Store(f.older + f.w.Size())
	w.errors.Store(f.w.Errors())
	w.unwritten.Store(f.unwritten)
	w.overSize.Store(f.overSize)
	w.ringDropped.Store(f.ringDropped)
}

// counters returns the totals; any thread may ask.
func (a *Agent) counters() spool.Counters {
	n, w := a.shim.Counts(), &a.written
	c := spool.Counters{
		BuffersRequested: n.Requested, BuffersDelivered: n.Delivered, BuffersDiscarded: n.Discarded,
		BytesDiscarded: n.DiscardedBytes, BuffersForeign: n.Foreign,
		WriteErrors: w.errors.Load(), BytesUnwritten: w.unwritten.Load(), Flushes: a.flushes.Load(),
		BytesOverSize: w.overSize.Load(), RingDropped: w.ringDropped.Load(),
		AgentCPUNS: a.cpu[Flusher].Load() + a.cpu[Writer].Load(),
	}
	if a.hasDrops.Load() {
		d := a.dropped.Load()
		c.RecordsDropped = &d
	}
	return c
}

// reserveTexts is how much of the room held back messages may take, bytes.
const reserveTexts = 8 << 10

// end writes the last frames and closes the file.
func (f *spoolFile) end(reason string, flushed bool) {
	f.last = true
	f.pending()
	if f.refused > 0 || len(f.names) > 0 {
		f.Diagnose(fmt.Sprintf("there was no room for names of kernels: %d were not written, %d times one could not be kept", len(f.names), f.refused))
	}
	f.w.UseReserve()
	f.say(reserveTexts)
	f.counters()
	f.do(f.w.End(spool.End{Reason: reason, NS: f.agent.shim.Clock().Realtime, Flushed: flushed}))
	f.do(f.w.Close())
}
