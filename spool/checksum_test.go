package spool

import (
	"bytes"
	"hash/crc32"
	"testing"
)

func TestChecksum(t *testing.T) {
	if got := checksum(0, []byte("123456789")); got != 0xe3069283 { // the check value of CRC-32C
		t.Errorf("checksum of 123456789 is %#x", got)
	}
	table := crc32.MakeTable(crc32.Castagnoli)
	for _, n := range []int{0, 1, 7, short - 1, short, short + 1, 5 * short} {
		p := bytes.Repeat([]byte{0, 1, 0xfe, 0x80, 0x7f}, n/5+1)[:n]
		want := crc32.Update(0x12345678, table, p)
		if got := checksum(0x12345678, p); got != want {
			t.Errorf("%d bytes: %#x, want %#x", n, got, want)
		}
	}
}
