package spool

import "io"

const (
	// resyncGap is how far a frame's sequence may be ahead of the one expected
	// to be believed after damage: more frames than that cannot have been lost
	// between two good ones in practice, and the check keeps random bytes out.
	resyncGap = 1 << 20
	// resyncWork bounds the payload bytes that are summed, over all searches of a
	// reader, beside four times those read: a hostile file, full of heads that
	// claim long payloads, costs a bounded multiple of its size.
	resyncWork = 4 * MaxPayload
	chunkSize  = 64 << 10
)

// resync looks for the next good frame behind r.off, which holds none, and
// returns its offset, or -1. Frames begin at multiples of 8.
func (r *Reader) resync() (int64, error) {
	from := r.off + 8
	if r.triedAt > from {
		// What was looked through before holds no frame head; only a head that
		// reached over the end then may have become whole.
		from = max(from, (r.triedAt-chunkSize)&^7)
	}
	var chunk [chunkSize]byte
	pending := int64(-1)
	for at := from; at+headSize <= r.end; {
		n := min(int64(len(chunk)), r.end-at)
		if err := r.readAt(chunk[:n], at); err != nil {
			if err == io.EOF {
				return -1, nil
			}
			return -1, err
		}
		i := int64(0)
		for ; i+headSize <= n; i += 8 {
			h := parseHead(chunk[i:])
			if h.typ == 0 || h.typ > 1<<16 || h.length > MaxPayload || h.sequence < r.next || h.sequence-r.next > resyncGap {
				continue
			}
			if at+i+headSize+int64(h.length) > r.end {
				// It may be a frame still being written: look at it again.
				if pending < 0 {
					pending = at + i
				}
				continue
			}
			if r.work += int64(h.length) + headSize; r.work > resyncWork+4*r.off {
				return -1, nil
			}
			if _, _, why, err := r.frameAt(at + i); err != nil {
				return -1, err
			} else if why == "" {
				r.triedAt = 0
				return at + i, nil
			}
		}
		at += i
	}
	if r.triedAt = r.end; pending >= 0 {
		r.triedAt = pending
	}
	return -1, nil
}
