package spool

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flagos-ai/flagos-trace/tracer"
)

// ErrPayload is wrapped by the errors of the parse helpers: the frame is whole,
// but its payload is not what its type calls for.
var ErrPayload = errors.New("spool: bad payload")

// Frame is one frame as read. Payload is valid until the next call of
// Reader.Next.
type Frame struct {
	Type     Type
	Sequence uint32
	Offset   int64 // of the frame's head in the file
	Payload  []byte
}

func (f Frame) bad(format string, a ...any) error {
	return fmt.Errorf("%w: frame %d of type %d at offset %d: %s", ErrPayload, f.Sequence, f.Type, f.Offset, fmt.Sprintf(format, a...))
}

func (f Frame) want(t Type) error {
	if f.Type != t {
		return f.bad("asked for type %d", t)
	}
	return nil
}

func parseJSON[T any](f Frame, t Type) (v T, err error) {
	if err = f.want(t); err != nil {
		return v, err
	}
	if e := json.Unmarshal(f.Payload, &v); e != nil {
		return v, f.bad("%v", e)
	}
	return v, nil
}

// Header parses a TypeHeader frame.
func (f Frame) Header() (Header, error) { return parseJSON[Header](f, TypeHeader) }

// Devices parses a TypeDevices frame.
func (f Frame) Devices() ([]tracer.Device, error) { return parseJSON[[]tracer.Device](f, TypeDevices) }

// Binding parses a TypeBinding frame.
func (f Frame) Binding() (tracer.BindingInfo, error) {
	return parseJSON[tracer.BindingInfo](f, TypeBinding)
}

// Thread parses a TypeThread frame.
func (f Frame) Thread() (Thread, error) { return parseJSON[Thread](f, TypeThread) }

// Session parses a TypeSession frame.
func (f Frame) Session() (Session, error) { return parseJSON[Session](f, TypeSession) }

// Counters parses a TypeCounters frame.
func (f Frame) Counters() (Counters, error) { return parseJSON[Counters](f, TypeCounters) }

// Window parses a TypeWindow frame.
func (f Frame) Window() (Window, error) { return parseJSON[Window](f, TypeWindow) }

// End parses a TypeEnd frame.
func (f Frame) End() (End, error) { return parseJSON[End](f, TypeEnd) }

// Buffer parses a TypeBuffer frame. Data aliases the frame's payload.
func (f Frame) Buffer() (Buffer, error) {
	if err := f.want(TypeBuffer); err != nil {
		return Buffer{}, err
	}
	p := f.Payload
	if len(p) < bufferHead {
		return Buffer{}, f.bad("%d bytes, a buffer has at least %d", len(p), bufferHead)
	}
	return Buffer{
		Sequence: binary.LittleEndian.Uint64(p[0:]),
		Context:  binary.LittleEndian.Uint64(p[8:]),
		Stream:   binary.LittleEndian.Uint32(p[16:]),
		Forced:   binary.LittleEndian.Uint32(p[20:])&flagForced != 0,
		Data:     p[bufferHead:],
	}, nil
}

// Names parses a TypeNames frame and calls fn for each name. The bytes alias
// the frame's payload. Names before a damaged entry have been reported when the
// error is returned.
func (f Frame) Names(fn func(ptr uint64, name []byte)) error {
	if err := f.want(TypeNames); err != nil {
		return err
	}
	for p := f.Payload; len(p) > 0; {
		if len(p) < 12 {
			return f.bad("%d bytes behind the last name", len(p))
		}
		ptr, n := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint32(p[8:])
		p = p[12:]
		if uint64(n) > uint64(len(p)) {
			return f.bad("name of %d bytes, %d are left", n, len(p))
		}
		fn(ptr, p[:n])
		p = p[n:]
	}
	return nil
}

// CallbackName parses a TypeCallbackName frame.
func (f Frame) CallbackName() (domain, id uint32, name string, err error) {
	if err := f.want(TypeCallbackName); err != nil {
		return 0, 0, "", err
	}
	if len(f.Payload) < 8 {
		return 0, 0, "", f.bad("%d bytes, a callback name has at least 8", len(f.Payload))
	}
	return binary.LittleEndian.Uint32(f.Payload), binary.LittleEndian.Uint32(f.Payload[4:]), string(f.Payload[8:]), nil
}

// Stride parses a TypeStride frame: a vendor kind and its record size in bytes.
func (f Frame) Stride() (kind, bytes uint32, err error) {
	if err := f.want(TypeStride); err != nil {
		return 0, 0, err
	}
	if len(f.Payload) != 8 {
		return 0, 0, f.bad("%d bytes, a stride has 8", len(f.Payload))
	}
	return binary.LittleEndian.Uint32(f.Payload), binary.LittleEndian.Uint32(f.Payload[4:]), nil
}

// Offsets parses a TypeOffsets frame, appending to dst.
func (f Frame) Offsets(dst []uint32) ([]uint32, error) {
	if err := f.want(TypeOffsets); err != nil {
		return dst, err
	}
	if len(f.Payload)%4 != 0 {
		return dst, f.bad("%d bytes, offsets have 4 each", len(f.Payload))
	}
	for p := f.Payload; len(p) > 0; p = p[4:] {
		dst = append(dst, binary.LittleEndian.Uint32(p))
	}
	return dst, nil
}

// Clock parses a TypeClock frame.
func (f Frame) Clock() (Clock, error) {
	if err := f.want(TypeClock); err != nil {
		return Clock{}, err
	}
	p := f.Payload
	if len(p) < clockSize {
		return Clock{}, f.bad("%d bytes, a clock sample has %d", len(p), clockSize)
	}
	return Clock{
		Realtime:     int64(binary.LittleEndian.Uint64(p[0:])),
		Monotonic:    int64(binary.LittleEndian.Uint64(p[8:])),
		MonotonicRaw: int64(binary.LittleEndian.Uint64(p[16:])),
		TSC:          binary.LittleEndian.Uint64(p[24:]),
		Vendor:       binary.LittleEndian.Uint64(p[32:]),
	}, nil
}

// Diagnosis parses a TypeDiagnosis frame.
func (f Frame) Diagnosis() (string, error) {
	if err := f.want(TypeDiagnosis); err != nil {
		return "", err
	}
	return string(f.Payload), nil
}

// Loss parses a TypeLoss frame.
func (f Frame) Loss() (Loss, error) { return parseJSON[Loss](f, TypeLoss) }

// Requested parses a TypeRequested frame.
func (f Frame) Requested() ([]string, error) { return parseJSON[[]string](f, TypeRequested) }
