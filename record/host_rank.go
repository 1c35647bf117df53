package record

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
)

// maxRankText is how much of a slice is read for what it says of the rank, bytes. It
// stands in front of the events, with the ranks of each process group.
const maxRankText = 1 << 20

// hostRank returns the rank that the framework gave the process of a spool, which
// counts more than what the environment says: a program that starts its ranks itself
// need not set RANK, and a launcher's own number is inherited. False where the slices
// of the host side do not tell.
func hostRank(spoolPath string) (rank int, ok bool) {
	owner, ok := ownerOf(spoolPath)
	if !ok {
		return 0, false
	}
	files := findHostFiles(spoolPath).slices
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(files))) {
		f, _, err := openHostFile(files[n].path, owner, math.MaxInt64)
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(io.LimitReader(f, maxRankText)) // of a file that cannot be read, what there is
		f.Close()
		if rank, ok := rankIn(text); ok {
			return rank, true
		}
	}
	return 0, false
}

// rankIn finds the rank in the beginning of a Kineto document.
func rankIn(text []byte) (rank int, ok bool) {
	text, _, _ = bytes.Cut(text, []byte(`"traceEvents"`))
	_, text, ok = bytes.Cut(text, []byte(`"`+keyDistributed+`":`))
	var info struct {
		Rank *int `json:"rank"`
	}
	if !ok || json.NewDecoder(bytes.NewReader(text)).Decode(&info) != nil || info.Rank == nil || *info.Rank < 0 || *info.Rank > maxRank {
		return 0, false
	}
	return *info.Rank, true
}
