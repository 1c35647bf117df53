package export

import (
	"sync"

	"github.com/klauspost/compress/zstd"
	parquet "github.com/parquet-go/parquet-go/compress/zstd"
)

// codec compresses pages of Parquet files as parquet's own does, but with the memory
// that pages take, not that of files.
type codec struct{ parquet.Codec }

// pageWindow is how far back in a page the encoder looks: pages are a quarter of it, but
// for those with a large value.
const pageWindow = 1 << 20

// pages encodes pages. Its options are good: there is no error.
var pages = sync.OnceValue(func() *zstd.Encoder {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(pageWindow), zstd.WithZeroFrames(true), zstd.WithEncoderCRC(false))
	return w
})

// Encode returns a page compressed, in the memory of dst if it has room.
func (*codec) Encode(dst, src []byte) ([]byte, error) { return pages().EncodeAll(src, dst[:0]), nil }
