package cupti

import (
	"encoding/binary"
	"fmt"

	"github.com/flagos-ai/flagos-trace/event"
	"github.com/flagos-ai/flagos-trace/tracer"
)

const (
	// trialGood is after how many records that can be true a kind is no longer on
	// trial; trialBad is the least number of others, and more than half, after which it
	// is given up.
	trialGood = 64
	trialBad  = 4
	// Bounds of what can be true: devices of a host, and threads of a block, of which
	// no vendor has more than 1024.
	maxDevices      = 1024
	maxBlockThreads = 4096
	maxBytes        = 1 << 48
)

// trial is what is known of kinds whose layout is an assumption.
type trial struct {
	good, bad [KindExternalCorrelation + 1]uint32
	skipped   bool // bytes between records were, and it was said
}

// proven reports whether so many records of a kind were plausible that its layout is no
// longer doubted.
func (t *trial) proven(kind uint32) bool {
	return kind < uint32(len(t.good)) && t.good[kind] >= trialGood
}

// judge looks at a buffer before anything of it is decoded, so that a wrong layout is
// found before its records are events.
func (d *Decoder) judge(b tracer.Buffer) {
	t := d.trial
	d.records(b, func(kind uint32, rec []byte) {
		if kind >= uint32(len(t.good)) || t.proven(kind) || d.kinds[kind].decode == nil || d.kinds[kind].mismatch {
			return
		}
		why := d.implausible(kind, rec, true)
		if why == "" {
			t.good[kind]++
			return
		}
		if t.bad[kind]++; t.bad[kind] >= trialBad && t.bad[kind] > t.good[kind] {
			d.mismatch(kind, why)
		}
	})
}

// records calls fn for the records of a buffer, as Decode walks it.
func (d *Decoder) records(b tracer.Buffer, fn func(kind uint32, rec []byte)) {
	at := func(from, to uint32) {
		if from+4 <= to && to <= uint32(len(b.Data)) {
			kind := binary.LittleEndian.Uint32(b.Data[from:])
			if n := d.dialect.Prefix[kind]; n > 0 && to-from >= n {
				fn(kind, b.Data[from:to])
			}
		}
	}
	if b.Offsets != nil {
		for i, off := range b.Offsets {
			end := uint32(len(b.Data))
			if i+1 < len(b.Offsets) {
				end = b.Offsets[i+1]
			}
			if off <= end {
				at(off, end)
			}
		}
		return
	}
	for off := 0; off+4 <= len(b.Data); {
		stride := int(d.strideOf(binary.LittleEndian.Uint32(b.Data[off:])))
		if d.dialect.Sizes != nil && !d.recordAt(b.Data, off) {
			off = d.resync(b.Data, off)
			continue
		}
		if stride == 0 || off+stride > len(b.Data) {
			return
		}
		at(uint32(off), uint32(off+stride))
		off += stride
	}
}

// recordAt reports whether a record of a dialect that has Sizes stands where the one
// before it ended. One that cannot be true is another layout's, if the next kind stands
// where it ends; if not, the one before it was of another size.
func (d *Decoder) recordAt(data []byte, off int) bool {
	kind := binary.LittleEndian.Uint32(data[off:])
	n := int(d.strideOf(kind))
	if n == 0 || off+n > len(data) {
		return false
	}
	if kind >= knownKinds || d.kinds[kind].decode == nil || d.implausible(kind, data[off:off+n], false) == "" {
		return true
	}
	off += n
	return off+4 > len(data) || d.strideOf(binary.LittleEndian.Uint32(data[off:])) != 0
}

// resync returns the next place in data behind off where a record must begin, the end
// if there is none. What is no record can look like one that has no times: that is none.
func (d *Decoder) resync(data []byte, off int) int {
	for off += 8; off+8 <= len(data); off += 8 {
		kind := binary.LittleEndian.Uint32(data[off:])
		n := int(d.dialect.Sizes[kind])
		if n > 0 && off+n <= len(data) && kind < knownKinds && d.kinds[kind].decode != nil && d.timed(kind, data[off:off+n]) && d.implausible(kind, data[off:off+n], false) == "" {
			return off
		}
	}
	return len(data)
}

// timed reports whether a record has both its times.
func (d *Decoder) timed(kind uint32, rec []byte) bool {
	var start, end uint16
	switch kind {
	case KindKernel, KindConcurrentKernel:
		start, end = d.kernels[kind].start, d.kernels[kind].end
	case KindMemcpy, KindMemcpy2, KindMemset:
		start, end = d.copies[kind].start, d.copies[kind].end
	case KindRuntime, KindDriver:
		start, end = d.calls[kind].start, d.calls[kind].end
	default:
		return false
	}
	return u64(rec, start) != 0 && u64(rec, end) != 0
}

// lostTo counts what lies between two records as lost and returns where to go on.
func (d *Decoder) lostTo(b tracer.Buffer, from, to int) int {
	d.report.LostBytes += uint64(to - from)
	if !d.trial.skipped {
		d.trial.skipped = true
		d.report.Diagnoses = append(d.report.Diagnoses, fmt.Sprintf("%s: byte %d of the buffer: %d bytes are no record of a kind known; decoding went on behind them, as it does each time", b.Origin, from, to-from))
	}
	return to
}

// Walker finds the records of a dialect that has Sizes.
type Walker struct{ d *Decoder }

// NewWalker returns a Walker. The error is of a dialect that cannot be.
func (dl *Dialect) NewWalker() (*Walker, error) {
	d, err := NewDialectDecoder(tracer.Config{Strings: new(event.Strings)}, dl)
	return &Walker{d}, err
}

// Next returns the extent of the first record at or behind off, as Decode finds it;
// ok is false if there is none.
func (w *Walker) Next(data []byte, off int) (from, to int, ok bool) {
	for off+8 <= len(data) {
		if w.d.recordAt(data, off) {
			return off, off + int(w.d.strideOf(binary.LittleEndian.Uint32(data[off:]))), true
		}
		off = w.d.resync(data, off)
	}
	return 0, 0, false
}

// implausible says what of a record cannot be true, "" if nothing. named says that
// the names of kernels have been told by now.
func (d *Decoder) implausible(kind uint32, rec []byte, named bool) string {
	if why := d.misfit(kind, rec); why != "" {
		return why
	}
	switch kind {
	case KindKernel, KindConcurrentKernel:
		o := &d.kernels[kind]
		if name := u64(rec, o.name); named && name != 0 && d.names[name] == 0 {
			return "a kernel's name cannot be read"
		}
		return d.implausibleTimes(u64(rec, o.start), u64(rec, o.end))
	case KindMemcpy, KindMemcpy2, KindMemset:
		o := &d.copies[kind]
		return d.implausibleTimes(u64(rec, o.start), u64(rec, o.end))
	case KindRuntime, KindDriver:
		o := &d.calls[kind]
		return d.implausibleTimes(u64(rec, o.start), u64(rec, o.end))
	}
	return ""
}

// unproven reports whether a record is one of a kind whose layout may still turn out to be
// another, and holds what cannot be true: no event is made of it.
func (d *Decoder) unproven(kind uint32, rec []byte) bool {
	t := d.trial
	return t != nil && !t.proven(kind) && d.misfit(kind, rec) != ""
}

// misfit says what of a record, its times and its name apart, cannot be true.
func (d *Decoder) misfit(kind uint32, rec []byte) string {
	switch kind {
	case KindKernel, KindConcurrentKernel:
		o := &d.kernels[kind]
		grid, block := i32x3(rec, o.grid), i32x3(rec, o.block)
		threads := int64(1)
		for i := range 3 {
			if grid[i] <= 0 || block[i] <= 0 {
				return fmt.Sprintf("a kernel has a grid of %v and a block of %v", grid, block)
			}
			if threads *= int64(block[i]); threads > maxBlockThreads {
				return fmt.Sprintf("a kernel has a block of %v", block)
			}
		}
		return misplacedWork(rec, o.device)
	case KindMemcpy, KindMemcpy2, KindMemset:
		o := &d.copies[kind]
		if n := u64(rec, o.bytes); n > maxBytes {
			return fmt.Sprintf("a copy or fill has %d bytes", n)
		}
		if kind != KindMemset && rec[o.copyKind] > 10 {
			return fmt.Sprintf("a copy is of kind %d", rec[o.copyKind])
		}
		return misplacedWork(rec, o.device)
	case KindRuntime, KindDriver:
		if id := u32(rec, d.calls[kind].cbid); id == 0 || id >= maxCBID {
			return fmt.Sprintf("a call has the callback id %d", id)
		}
	case KindExternalCorrelation:
		if k := u32(rec, d.external.externalKind); k == 0 || k > 16 {
			return fmt.Sprintf("an external id is of kind %d", k)
		}
	}
	return ""
}

func misplacedWork(rec []byte, device uint16) string {
	if n := u32(rec, device); n >= maxDevices {
		return fmt.Sprintf("work ran on device %d", n)
	}
	return ""
}

// implausibleTimes judges a span. None at all is no sign of another layout.
func (d *Decoder) implausibleTimes(start, end uint64) string {
	switch {
	case start == 0 && end == 0:
	case start == 0,
		end < start && end != 0 && start-end > d.limits.Clamp,
		end > start && end-start > d.limits.Longest:
		return fmt.Sprintf("something lasts from %d to %d", start, end)
	}
	return ""
}
