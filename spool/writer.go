package spool

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/tracer"
	"golang.org/x/sys/unix"
)

// Errors of a Writer.
var (
	// ErrTooLarge is returned for a payload above MaxPayload.
	ErrTooLarge = errors.New("spool: frame too large")
	// ErrTaken: the process closed the file's descriptor under the Writer.
	ErrTaken = errors.New("spool: the program closed the file")
)

// Writer appends frames to a spool. Each frame is one write to the file, so
// whatever was appended outlives the process. It is not safe for concurrent use.
//
// A frame that could not be written whole is cut off again, counted, and
// reported as an error; the Writer stays usable, and writes again once there is
// room. Some room is held back for the last frames, see UseReserve.
type Writer struct {
	fd      guest.FD
	path    string
	room    reserve
	off     int64 // where the next frame goes
	ragged  bool  // bytes of a given-up frame may stand behind off
	seq     uint32
	errs    uint64
	again   bool
	scratch []byte
	iov     [][]byte
	memory  *memory // nil unless segments are to follow
}

// Create makes a new spool at path, which must not exist (the error then
// satisfies errors.Is(err, fs.ErrExist)), and writes its header.
func Create(path string, h Header) (*Writer, error) {
	payload := h.encode()
	fd, err := guest.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL, 0o644)
	if err != nil {
		return nil, fmt.Errorf("spool %s: %w", path, err)
	}
	w := &Writer{fd: guest.Keep(fd), path: path}
	var hd [headSize]byte
	putHead(&hd, TypeHeader, 0, payload)
	if err := w.put(preface(), hd[:], payload, zeros[:pad8(int64(len(payload)))-int64(len(payload))]); err != nil {
		w.fd.Close()
		unix.Unlink(path)
		return nil, fmt.Errorf("spool %s: header: %w", path, err)
	}
	w.seq = 1
	w.room.hold(w.fd.N, w.off)
	return w, nil
}

// Path returns the path the spool was created at.
func (w *Writer) Path() string { return w.path }

// Size returns the bytes of the file that hold whole frames.
func (w *Writer) Size() int64 { return w.off }

// Errors returns the number of frames that were given up.
func (w *Writer) Errors() uint64 { return w.errs }

// Retrying tells whether the frames to come are kept by the caller and appended
// again if that fails: such a failure is no frame given up.
func (w *Writer) Retrying(on bool) { w.again = on }

// UseReserve lets the frames to come use the room held back, about 16 KiB: the
// last ones, which say what was lost.
func (w *Writer) UseReserve() { w.room.open = true }

// Close closes the file. It writes nothing.
func (w *Writer) Close() error {
	if w.fd.N >= 0 && w.fd.Ours() {
		w.room.release(w.fd.N, w.off)
	}
	return w.fd.Close()
}

// put writes the parts at w.off with one system call and moves w.off behind
// them, or leaves w.off where it is.
func (w *Writer) put(parts ...[]byte) error {
	total := 0
	iov := w.iov[:0]
	for _, p := range parts {
		if len(p) > 0 {
			total += len(p)
			iov = append(iov, p)
		}
	}
	w.iov = iov
	if !w.fd.Ours() {
		return ErrTaken
	}
	if w.ragged && unix.Ftruncate(w.fd.N, w.off) == nil {
		w.ragged = false
	}
	done, err := 0, error(nil)
	for done < total {
		var n int
		n, err = unix.Pwritev(w.fd.N, iov, w.off+int64(done))
		if err == unix.EINTR {
			continue
		}
		if err == nil && n <= 0 {
			err = unix.EIO
		}
		if err != nil {
			break
		}
		done += n
		for n > 0 {
			if n < len(iov[0]) {
				iov[0] = iov[0][n:]
				break
			}
			n -= len(iov[0])
			iov = iov[1:]
		}
	}
	if done == total {
		w.off += int64(total)
		return nil
	}
	if done > 0 {
		w.ragged = unix.Ftruncate(w.fd.N, w.off) != nil
		w.room.lost(w.fd.N, w.off)
	}
	return err
}

// frame appends one frame whose payload is the concatenation of the parts.
func (w *Writer) frame(t Type, parts ...[]byte) error {
	n := int64(0)
	for _, p := range parts {
		n += int64(len(p))
	}
	seq := w.seq
	w.seq++
	var err error
	if n > MaxPayload {
		err = ErrTooLarge
	} else if err = w.room.take(w.fd, w.off, headSize+pad8(n)); err == nil {
		var hd [headSize]byte
		putHead(&hd, t, seq, parts...)
		pad := zeros[:pad8(n)-n]
		switch len(parts) {
		case 1:
			err = w.put(hd[:], parts[0], pad)
		default:
			err = w.put(hd[:], parts[0], parts[1], pad)
		}
	}
	if err != nil {
		if w.again {
			w.seq = seq // it will be tried again, and is not given up
		} else {
			w.errs++
		}
		return fmt.Errorf("spool %s: frame %d of type %d, %d bytes at offset %d: %w", w.path, seq, t, n, w.off, err)
	}
	if w.memory != nil {
		w.memory.add(t, parts[0])
	}
	return nil
}

// Buffer appends an activity buffer. Data is written as it stands.
func (w *Writer) Buffer(b Buffer) error {
	var h [bufferHead]byte
	binary.LittleEndian.PutUint64(h[0:], b.Sequence)
	binary.LittleEndian.PutUint64(h[8:], b.Context)
	binary.LittleEndian.PutUint32(h[16:], b.Stream)
	if b.Forced {
		binary.LittleEndian.PutUint32(h[20:], flagForced)
	}
	return w.frame(TypeBuffer, h[:], b.Data)
}

// Name is a name behind a pointer.
type Name struct {
	Ptr  uint64
	Name string
}

// Names appends names behind pointers; none at all writes nothing.
func (w *Writer) Names(names []Name) error {
	if len(names) == 0 {
		return nil
	}
	b := w.scratch[:0]
	for _, n := range names {
		b = binary.LittleEndian.AppendUint64(b, n.Ptr)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(n.Name)))
		b = append(b, n.Name...)
	}
	w.scratch = b
	return w.frame(TypeNames, b)
}

// CallbackName appends the library's name of an API callback id.
func (w *Writer) CallbackName(domain, id uint32, name string) error {
	b := binary.LittleEndian.AppendUint32(w.scratch[:0], domain)
	b = binary.LittleEndian.AppendUint32(b, id)
	b = append(b, name...)
	w.scratch = b
	return w.frame(TypeCallbackName, b)
}

// Stride appends the library's own record size of a vendor kind, in bytes.
func (w *Writer) Stride(kind, bytes uint32) error {
	b := binary.LittleEndian.AppendUint32(w.scratch[:0], kind)
	b = binary.LittleEndian.AppendUint32(b, bytes)
	w.scratch = b
	return w.frame(TypeStride, b)
}

// Offsets appends the record offsets of the buffer to be appended next.
func (w *Writer) Offsets(off []uint32) error {
	b := w.scratch[:0]
	for _, o := range off {
		b = binary.LittleEndian.AppendUint32(b, o)
	}
	w.scratch = b
	return w.frame(TypeOffsets, b)
}

// Clock appends a reading of the clocks.
func (w *Writer) Clock(c Clock) error {
	b := w.scratch[:0]
	for _, v := range [...]uint64{uint64(c.Realtime), uint64(c.Monotonic), uint64(c.MonotonicRaw), c.TSC, c.Vendor} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	w.scratch = b
	return w.frame(TypeClock, b)
}

// Diagnosis appends a message for people.
func (w *Writer) Diagnosis(text string) error { return w.frame(TypeDiagnosis, []byte(text)) }

// Loss appends that something is known to be missing.
func (w *Writer) Loss(l Loss) error { return w.frame(TypeLoss, l.encode()) }

// Devices appends the attributes of the devices the process sees.
func (w *Writer) Devices(d []tracer.Device) error { return w.frame(TypeDevices, encodeDevices(d)) }

// Binding appends what is known of the binding once the driver is initialised.
func (w *Writer) Binding(b tracer.BindingInfo) error { return w.frame(TypeBinding, encodeBinding(&b)) }

// Requested appends the activity kinds enabled, by name.
func (w *Writer) Requested(kinds []string) error {
	return w.frame(TypeRequested, appendStrings(nil, kinds))
}

// Session appends a session of the program's own profiler.
func (w *Writer) Session(s Session) error { return w.frame(TypeSession, s.encode()) }

// Thread appends the name of a host thread.
func (w *Writer) Thread(t Thread) error { return w.frame(TypeThread, t.encode()) }

// Counters appends totals; the last ones count.
func (w *Writer) Counters(c Counters) error { return w.frame(TypeCounters, c.encode()) }

// Window appends the opening or closing of a recording window.
func (w *Writer) Window(win Window) error { return w.frame(TypeWindow, win.encode()) }

// End appends the last frame of an orderly end.
func (w *Writer) End(e End) error { return w.frame(TypeEnd, e.encode()) }
