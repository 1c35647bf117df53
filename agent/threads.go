package agent

import (
	"os"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/spool"
)

const (
	// A thread is born with its creator's name and gets its own a moment later,
	// so the first reads of a thread are repeated; after that names are read
	// again now and then.
	earlyReads = 3
	rereadTick = 30
)

// threadNames follows the names of the process's threads.
type threadNames struct {
	known map[int]threadName
	tick  int
}

type threadName struct {
	name  string
	reads int
}

func newThreadNames() *threadNames { return &threadNames{known: map[int]threadName{}} }

// scan writes the names that are new or changed; all makes it read every one.
func (t *threadNames) scan(f *spoolFile, all bool) {
	t.tick++
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return
	}
	entries, _ := dir.Readdirnames(-1)
	dir.Close()
	alive := make(map[int]threadName, len(entries))
	for _, e := range entries {
		tid, err := strconv.Atoi(e)
		if err != nil {
			continue
		}
		k := t.known[tid]
		if all || k.reads < earlyReads || t.tick%rereadTick == 0 {
			comm, err := os.ReadFile("/proc/self/task/" + e + "/comm")
			if err != nil {
				continue // it ended meanwhile
			}
			k.reads++
			if name := strings.TrimSuffix(string(comm), "\n"); name != k.name && f.do(f.w.Thread(spool.Thread{TID: tid, Name: name})) {
				k.name = name
			}
		}
		alive[tid] = k
	}
	t.known = alive
}
