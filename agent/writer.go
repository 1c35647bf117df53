package agent

import (
	"fmt"
	"runtime"
	"time"

	"github.com/flagos-ai/flagos-trace/spool"
)

// writer is the thread that owns the spool.
func (a *Agent) writer(f *spoolFile) {
	runtime.LockOSThread()
	defer a.survive("writer")
	a.shim.Quiet(spool.OwnThreadPrefix + "write")
	cpu := threadCPU()
	threads := newThreadNames()
	threads.scan(f, false)
	last := time.Now()
	for {
		a.shim.Wait(Writer, sampleEvery)
		if a.shim.Exiting() {
			a.finish(f, threads, cpu)
			return
		}
		a.work(f)
		if now := time.Now(); now.Sub(last) >= sampleEvery {
			last = now
			threads.scan(f, false)
			f.counters()
		}
		a.cpu[Writer].Store(threadCPU() - cpu)
	}
}

// work writes the completed buffers, then what was posted before they were
// taken, so that a posted frame stands behind the buffers it speaks of.
func (a *Agent) work(f *spoolFile) {
	a.mu.Lock()
	posted := a.outbox
	a.outbox = nil
	a.mu.Unlock()
	for {
		b, ok := a.shim.Take()
		if !ok {
			break
		}
		f.buffer(b)
		a.shim.Release(b)
	}
	for _, fn := range posted {
		fn(f)
	}
	f.pending()
}

// finish writes the end while the exit handler waits: it gives the forced flush
// nearly all of the time allowed, then says what it has.
func (a *Agent) finish(f *spoolFile, threads *threadNames, cpu int64) {
	limit := time.Now().Add(a.cfg.exitTimeout - min(a.cfg.exitTimeout/4, 200*time.Millisecond))
	for a.work(f); !a.flushed.Load() && time.Now().Before(limit); a.work(f) {
		a.shim.Wait(Writer, min(time.Until(limit), 50*time.Millisecond))
	}
	flushed := a.flushed.Load()
	a.work(f)
	if !flushed {
		f.Diagnose(fmt.Sprintf("the library's last flush did not come back within %v: the last records are missing", a.cfg.exitTimeout))
		f.clock(a.shim.Clock())
	}
	threads.scan(f, true)
	a.cpu[Writer].Store(threadCPU() - cpu)
	f.end("exit", flushed)
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

	names     []spool.Name
	strides   [][2]uint32
	callbacks []callbackName
	diagnoses []string
	said      map[string]bool
	offsets   []uint32
	hasOffs   bool
}

type callbackName struct {
	domain, id uint32
	name       string
}

// Bounds of what is kept: texts a person would read, and names that wait for a
// full disk.
const (
	maxDiagnoses = 256
	maxPending   = 1 << 16
)

func (f *spoolFile) Name(ptr uint64, name string) {
	if len(f.names) < maxPending {
		f.names = append(f.names, spool.Name{Ptr: ptr, Name: name})
	}
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

// do takes note of a failed write; the spool counts it.
func (f *spoolFile) do(err error) bool {
	if err != nil {
		f.agent.log.printf("%v", err)
	}
	return err == nil
}

func (f *spoolFile) clock(c spool.Clock) { f.do(f.w.Clock(c)) }

// pending writes what was found, and keeps what could not be written.
func (f *spoolFile) pending() {
	for len(f.strides) > 0 && f.do(f.w.Stride(f.strides[0][0], f.strides[0][1])) {
		f.strides = f.strides[1:]
	}
	for len(f.callbacks) > 0 && f.do(f.w.CallbackName(f.callbacks[0].domain, f.callbacks[0].id, f.callbacks[0].name)) {
		f.callbacks = f.callbacks[1:]
	}
	for len(f.diagnoses) > 0 && f.do(f.w.Diagnosis(f.diagnoses[0])) {
		f.diagnoses = f.diagnoses[1:]
	}
	if len(f.names) > 0 && f.do(f.w.Names(f.names)) {
		f.names = f.names[:0]
	}
}

// buffer inspects and writes one buffer.
func (f *spoolFile) buffer(b Block) {
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
	a := f.agent
	n := a.shim.Counts()
	c := spool.Counters{
		BuffersRequested: n.Requested, BuffersDelivered: n.Delivered, BuffersDiscarded: n.Discarded,
		BytesDiscarded: n.DiscardedBytes, BuffersForeign: n.Foreign,
		WriteErrors: f.w.Errors(), BytesUnwritten: f.unwritten, Flushes: a.flushes.Load(),
		AgentCPUNS: a.cpu[Flusher].Load() + a.cpu[Writer].Load(),
	}
	if a.hasDrops.Load() {
		d := a.dropped.Load()
		c.RecordsDropped = &d
	}
	f.do(f.w.Counters(c))
}

// end writes the last frames and closes the file.
func (f *spoolFile) end(reason string, flushed bool) {
	f.pending()
	f.counters()
	f.do(f.w.End(spool.End{Reason: reason, NS: f.agent.shim.Clock().Realtime, Flushed: flushed}))
	f.do(f.w.Close())
}
