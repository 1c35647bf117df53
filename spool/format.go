package spool

import (
	"encoding/binary"
)

const (
	magic = "FLAGSPL\x00"
	// Version is the version of the file format this package writes. Readers
	// take any version up to it.
	Version = 1

	prefaceSize = 16
	headSize    = 16
	// MaxPayload is the largest payload of a frame, in bytes. A length above it
	// is damage.
	MaxPayload = 64 << 20
	// bufferHead is what stands before the records in a TypeBuffer payload.
	bufferHead = 24
	clockSize  = 40
)

// Bits of the flags word in a TypeBuffer payload.
const flagForced = 1

var zeros [8]byte

func pad8(n int64) int64 { return (n + 7) &^ 7 }

func preface() []byte {
	b := make([]byte, prefaceSize)
	copy(b, magic)
	binary.LittleEndian.PutUint32(b[8:], Version)
	return b
}

// putHead fills h with the head of a frame whose payload is the concatenation
// of parts.
func putHead(h *[headSize]byte, t Type, seq uint32, parts ...[]byte) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	binary.LittleEndian.PutUint32(h[0:], uint32(t))
	binary.LittleEndian.PutUint32(h[4:], uint32(n))
	binary.LittleEndian.PutUint32(h[12:], seq)
	crc := checksum(0, h[0:8])
	crc = checksum(crc, h[12:16])
	for _, p := range parts {
		crc = checksum(crc, p)
	}
	binary.LittleEndian.PutUint32(h[8:], crc)
}

// head is a frame's head as read.
type head struct {
	typ      Type
	length   uint32
	crc      uint32
	sequence uint32
}

func parseHead(b []byte) head {
	return head{
		typ:      Type(binary.LittleEndian.Uint32(b[0:])),
		length:   binary.LittleEndian.Uint32(b[4:]),
		crc:      binary.LittleEndian.Uint32(b[8:]),
		sequence: binary.LittleEndian.Uint32(b[12:]),
	}
}

// size is the number of bytes the frame takes in the file.
func (h head) size() int64 { return headSize + pad8(int64(h.length)) }

// sum is the CRC that the head and payload should have.
func (h head) sum(payload []byte) uint32 {
	var b [12]byte
	binary.LittleEndian.PutUint32(b[0:], uint32(h.typ))
	binary.LittleEndian.PutUint32(b[4:], h.length)
	binary.LittleEndian.PutUint32(b[8:], h.sequence)
	return checksum(checksum(0, b[:]), payload)
}
