package spool

import (
	"hash/crc32"
	"sync"
)

// short is up to how many bytes the plain table is as good as the package's own way,
// which is many times faster and takes a quarter of a millisecond to get ready.
const short = 1 << 10

// castagnoli is got ready by the first use: an agent writes a few short frames before
// the program goes on, and the first buffer of records when it has long gone on.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// plain is the same table without what package crc32 puts beside its own.
var plain = sync.OnceValue(func() *crc32.Table {
	t := new(crc32.Table)
	for i := range t {
		crc := uint32(i)
		for range 8 {
			crc = crc>>1 ^ crc32.Castagnoli&-(crc&1)
		}
		t[i] = crc
	}
	return t
})

// checksum goes on with a CRC-32C.
func checksum(crc uint32, p []byte) uint32 {
	if len(p) <= short {
		return crc32.Update(crc, plain(), p)
	}
	return crc32.Update(crc, castagnoli(), p)
}
