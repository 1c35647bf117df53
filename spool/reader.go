package spool

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Errors of Open and Next.
var (
	// ErrNotSpool: the file does not begin as a spool does.
	ErrNotSpool = errors.New("not a spool file")
	// ErrVersion: the spool was written by a later version of the format.
	ErrVersion = errors.New("spool format is newer than this program")
)

// Reader reads the frames of a spool, also while it is being written. It is not
// safe for concurrent use.
type Reader struct {
	src  io.ReaderAt
	size func() (int64, error)
	file *os.File
	path string

	end  int64 // size of the file when last asked
	off  int64 // of the next frame; 0 until the preface was read
	next uint32
	head [headSize]byte
	buf  []byte

	torn    int64
	reason  string
	damaged uint64
	unknown uint64
	missing uint64
	skipped int64

	work    int64 // payload bytes summed while looking for frames
	triedAt int64 // no good frame was found between off and this size
}

// Open opens the spool at path. A file too short for its preface is not an
// error: the writer may be about to begin.
func Open(path string) (*Reader, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r := &Reader{src: f, file: f, path: path, size: func() (int64, error) {
		st, err := f.Stat()
		if err != nil {
			return 0, err
		}
		return st.Size(), nil
	}}
	if err := r.begin(); err != nil && err != io.EOF {
		f.Close()
		return nil, err
	}
	return r, nil
}

// NewReader reads a spool of size bytes from src; name is for messages.
func NewReader(src io.ReaderAt, size int64, name string) *Reader {
	return &Reader{src: src, path: name, size: func() (int64, error) { return size, nil }}
}

// Close closes the file.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}

// Torn returns the number of bytes behind the last good frame as of the last
// io.EOF, and what is wrong with them; 0 when the spool ends with a whole frame.
func (r *Reader) Torn() (bytes int64, reason string) { return r.torn, r.reason }

// Damage is what a Reader stepped over.
type Damage struct {
	Frames  uint64 // stretches of damage between good frames
	Bytes   int64  // bytes in them
	Unknown uint64 // frames of types this version does not know
	Missing uint64 // sequence numbers that never came: damaged, or given up by the writer
}

// Damage returns what was stepped over so far.
func (r *Reader) Damage() Damage {
	return Damage{Frames: r.damaged, Bytes: r.skipped, Unknown: r.unknown, Missing: r.missing}
}

func (r *Reader) refresh() error {
	n, err := r.size()
	if err != nil {
		return fmt.Errorf("spool %s: %w", r.path, err)
	}
	r.end = n
	return nil
}

// begin reads the preface once it is there.
func (r *Reader) begin() error {
	if r.off > 0 {
		return nil
	}
	if err := r.refresh(); err != nil {
		return err
	}
	if r.end < prefaceSize {
		return r.tail(0, "the file ends inside its preface")
	}
	var p [prefaceSize]byte
	if err := r.readAt(p[:], 0); err != nil {
		return err
	}
	if string(p[:8]) != magic {
		return fmt.Errorf("%s: %w", r.path, ErrNotSpool)
	}
	if v := uint32(p[8]) | uint32(p[9])<<8 | uint32(p[10])<<16 | uint32(p[11])<<24; v == 0 || v > Version {
		return fmt.Errorf("%s: %w: version %d, known up to %d", r.path, ErrVersion, v, Version)
	}
	r.off = prefaceSize
	return nil
}

// readAt fills b from off; the file shrinking below off+len(b) is io.EOF.
func (r *Reader) readAt(b []byte, off int64) error {
	n, err := r.src.ReadAt(b, off)
	if n == len(b) {
		return nil
	}
	if err == nil || err == io.EOF {
		return io.EOF
	}
	return fmt.Errorf("spool %s: offset %d: %w", r.path, off, err)
}

// tail notes what stands behind off and returns io.EOF.
func (r *Reader) tail(off int64, reason string) error {
	r.torn, r.reason = max(r.end-off, 0), ""
	if r.torn > 0 {
		r.reason = reason
	}
	return io.EOF
}

// Next returns the next frame of a known type. It returns io.EOF when there is
// none yet; a spool still being written may have one later. Damage between good
// frames is stepped over and counted. Any other error is one of reading.
func (r *Reader) Next() (Frame, error) {
	for {
		f, err := r.step()
		if err != nil {
			return Frame{}, err
		}
		if f.Type >= 1 && f.Type <= maxType {
			return f, nil
		}
		r.unknown++
	}
}

func (r *Reader) step() (Frame, error) {
	if err := r.begin(); err != nil {
		return Frame{}, err
	}
	if r.off+headSize > r.end {
		if err := r.refresh(); err != nil {
			return Frame{}, err
		}
	}
	h, payload, why, err := r.frameAt(r.off)
	if err != nil {
		return Frame{}, err
	}
	if why != "" {
		// Either the end, or damage with good frames behind it.
		if err := r.refresh(); err != nil {
			return Frame{}, err
		}
		if h, payload, why, err = r.frameAt(r.off); err != nil {
			return Frame{}, err
		}
	}
	if why != "" {
		at, err := r.resync()
		if err != nil {
			return Frame{}, err
		}
		if at < 0 {
			return Frame{}, r.tail(r.off, why)
		}
		if h, payload, why, err = r.frameAt(at); err != nil || why != "" {
			return Frame{}, r.tail(r.off, why)
		}
		r.damaged++
		r.skipped += at - r.off
		r.off = at
	}
	r.missing += uint64(h.sequence - r.next)
	r.next = h.sequence + 1
	f := Frame{Type: h.typ, Sequence: h.sequence, Offset: r.off, Payload: payload}
	r.off += h.size()
	r.torn, r.reason = 0, ""
	return f, nil
}

// frameAt reads the frame at off. A frame that is not whole and good is
// described by why, which is "" for a good one.
func (r *Reader) frameAt(off int64) (h head, payload []byte, why string, err error) {
	if off+headSize > r.end {
		return h, nil, "the file ends inside a frame's head", nil
	}
	if err := r.readAt(r.head[:], off); err != nil {
		if err == io.EOF {
			return h, nil, "the file ends inside a frame's head", nil
		}
		return h, nil, "", err
	}
	h = parseHead(r.head[:])
	switch {
	case h.typ == 0 || h.length > MaxPayload:
		return h, nil, "no frame begins here", nil
	case h.sequence < r.next:
		return h, nil, "a frame out of order", nil
	case off+headSize+int64(h.length) > r.end:
		return h, nil, "the file ends inside a frame", nil
	}
	if cap(r.buf) < int(h.length) {
		r.buf = make([]byte, h.length)
	}
	payload = r.buf[:h.length]
	if err := r.readAt(payload, off+headSize); err != nil {
		if err == io.EOF {
			return h, nil, "the file ends inside a frame", nil
		}
		return h, nil, "", err
	}
	if h.sum(payload) != h.crc {
		return h, nil, "a frame's checksum does not match", nil
	}
	return h, payload, "", nil
}
