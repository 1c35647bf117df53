package export

import (
	"bytes"
	"encoding/binary"
	"path/filepath"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Each makes a table of each trace in a file, one after the other, and calls add with
// it; args is that of NewTable. It takes less memory than NewTable with a trace that was
// read whole: arguments, half of a trace, are packed while they wait for their rows. The
// table is good until add returns. Errors are those of chrome.ReadEach, and add's.
func Each(path string, o chrome.ReadOptions, args bool, add func(*Table) error) error {
	var p *packed
	o.DropArgs = true
	o.DropOffsets = true
	o.Visit = func(t *timeline.Trace, event uint32, args []byte) {
		if p == nil || p.of != t {
			p = &packed{of: t}
		}
		p.put(event, args)
	}
	return chrome.ReadEach(path, o, func(d *chrome.Document) error {
		b := NewTable(d.Trace, filepath.Base(d.Name), args)
		b.file, b.findings = d.Name, d.FindingCounts
		if p != nil && p.of == d.Trace {
			p.pack()
			b.raw = p.at
		}
		p = nil
		return add(b)
	})
}

const (
	packBytes = 256 << 10 // of arguments that are packed together
	unpacked  = 16        // packs that are held ready: rows go through a few parts of a trace at once
)

// packed holds the arguments of a trace's events, compressed. It is for one goroutine.
type packed struct {
	of    *timeline.Trace
	begin timeline.Blocks[uint64] // by event: 1 + its pack, and where in it it begins; 0 for none
	packs [][]byte
	text  []byte // of the pack that is being filled: lengths, each with its arguments
	room  []byte // for what is compressed
	ready [unpacked]struct {
		pack int // 1 + the pack
		text []byte
	}
}

// put keeps the arguments of an event.
func (p *packed) put(event uint32, args []byte) {
	for p.begin.Len() <= int(event) {
		p.begin.Add(0)
	}
	if len(args) == 0 {
		return
	}
	if len(p.text) > 0 && len(p.text)+len(args) > packBytes {
		p.pack()
	}
	*p.begin.At(event) = uint64(len(p.packs)+1)<<32 | uint64(len(p.text))
	p.text = append(binary.AppendUvarint(p.text, uint64(len(args))), args...)
}

// pack compresses what was put since the last time.
func (p *packed) pack() {
	p.room = packer().EncodeAll(p.text, p.room[:0])
	p.packs = append(p.packs, bytes.Clone(p.room))
	p.text = p.text[:0]
}

// at returns the arguments of an event, good until the next call.
func (p *packed) at(event uint32) []byte {
	if int(event) >= p.begin.Len() || *p.begin.At(event) == 0 {
		return nil
	}
	begin := *p.begin.At(event)
	pack := int(begin >> 32)
	r := &p.ready[pack%unpacked]
	if r.pack != pack {
		// What this process compressed decompresses.
		r.text, _ = unpacker().DecodeAll(p.packs[pack-1], r.text[:0])
		r.pack = pack
	}
	text := r.text[uint32(begin):]
	n, size := binary.Uvarint(text)
	return text[size : size+int(n)]
}

// The options of both are good: there is no error. Their memory is that of few packs.
var (
	packer = sync.OnceValue(func() *zstd.Encoder {
		w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packBytes), zstd.WithEncoderCRC(false))
		return w
	})
	unpacker = sync.OnceValue(func() *zstd.Decoder {
		r, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<40))
		return r
	})
)
