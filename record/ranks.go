package record

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
	"github.com/flagos-ai/flagos-trace/spool"
)

// keyDistributed is the metadata entry that says which process of a distributed
// program a trace is of.
const keyDistributed = "distributedInfo"

// Bounds of what is taken for a rank: no program has more processes.
const maxRank = 9_999_999

// rankOf reads the rank of a process and the size of its world from the
// variables that launchers of distributed programs set; -1 is unknown. A launcher
// itself has no RANK.
func rankOf(env map[string]string) (rank, world int) {
	number := func(key string, least int) int {
		n, err := strconv.Atoi(env[key])
		if err != nil || n < least || n > maxRank {
			return -1
		}
		return n
	}
	rank, world = number("RANK", 0), number("WORLD_SIZE", 1)
	if world >= 0 && rank >= world {
		world = -1 // one of the two is not what it says
	}
	return rank, world
}

// distributedInfo is the entry for these, nil without a rank. The backend is not
// known here.
func distributedInfo(rank, world int) []byte {
	if rank < 0 {
		return nil
	}
	b := strconv.AppendInt([]byte(`{"rank": `), int64(rank), 10)
	if world >= 0 {
		b = strconv.AppendInt(append(b, `, "world_size": `...), int64(world), 10)
	}
	return append(b, '}')
}

// readHeader reads the header of a spool.
func readHeader(path string) (spool.Header, bool) {
	r, err := spool.Open(path)
	if err != nil {
		return spool.Header{}, false
	}
	defer r.Close()
	f, err := r.Next()
	if err != nil || f.Type != spool.TypeHeader {
		return spool.Header{}, false
	}
	h, err := f.Header()
	return h, err == nil
}

// firsts returns, for each rank, the index of the spool whose process used the
// device most, by the bytes of its records: a rank may have been started anew.
func firsts(spools []spoolFile) map[int]int {
	first, most := map[int]int{}, map[int]int64{}
	for i, s := range spools {
		if !s.hasRank {
			continue
		}
		other, taken := first[s.rank]
		if !taken {
			first[s.rank] = i
			continue
		}
		// Only where there are two of them their spools are read for it.
		if _, known := most[s.rank]; !known {
			most[s.rank] = recordBytes(spools[other].path)
		}
		if n := recordBytes(s.path); n > most[s.rank] {
			first[s.rank], most[s.rank] = i, n
		}
	}
	return first
}

// recordBytes returns how many bytes of records a spool holds, as far as it can
// be read.
func recordBytes(path string) (n int64) {
	files, err := spool.Segments(path)
	if err != nil {
		return 0
	}
	for _, name := range files {
		r, err := spool.Open(name)
		if err != nil {
			continue
		}
		for {
			f, err := r.Next()
			if err != nil {
				break
			}
			if f.Type == spool.TypeBuffer {
				n += int64(len(f.Payload))
			}
		}
		r.Close()
	}
	return n
}

// rankName is the name of the trace of a rank: trace_rank0.json.gz.
func rankName(output string, rank int) string {
	part := "rank" + strconv.Itoa(rank)
	dir, stem, ext := splitName(output)
	if stem == "" {
		return dir + part + ext
	}
	return dir + stem + "_" + part + ext
}

// splitName splits the name of a trace into folder, stem and extension.
func splitName(output string) (dir, stem, ext string) {
	dir, stem = filepath.Split(output)
	for _, e := range []string{".json.gz", ".json", ".gz"} {
		if s, ok := strings.CutSuffix(stem, e); ok {
			return dir, s, e
		}
	}
	return dir, stem, ""
}

// anyRank reports whether a spool is that of a rank, in a place where ranks have
// names of their own.
func anyRank(output string, spools []spoolFile) bool {
	for _, s := range spools {
		if s.hasRank || s.helper || s.launcher {
			return !outfile.IsStream(output)
		}
	}
	return false
}
