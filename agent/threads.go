package agent

import (
	"strconv"
	"strings"
	"time"

	"github.com/flagos-ai/flagos-trace/internal/guest"
	"github.com/flagos-ai/flagos-trace/spool"
)

const (
	// A thread is born with its creator's name and gets its own a moment later,
	// so the first reads of a thread are repeated; after that names are read
	// again now and then.
	earlyReads = 3
	rereadTick = 30
	// lookEvery bounds how often new threads are looked for while records come:
	// a thread that makes API calls may not live until the next scan.
	lookEvery = 100 * time.Millisecond
)

// threadNames follows the names of the process's threads.
type threadNames struct {
	known map[int]threadName
	tick  int
	last  time.Time // when the list was read last
}

type threadName struct {
	name  string
	reads int
}

func newThreadNames() *threadNames { return &threadNames{known: map[int]threadName{}} }

// scan writes the names that are new or changed; all makes it read every one.
func (t *threadNames) scan(f *spoolFile, all bool) {
	t.tick++
	t.read(f, func(k threadName) bool { return all || k.reads < earlyReads || t.tick%rereadTick == 0 })
}

// look writes the names of threads never seen.
func (t *threadNames) look(f *spoolFile) {
	if time.Since(t.last) >= lookEvery {
		t.read(f, func(k threadName) bool { return k.reads == 0 })
	}
}

// read goes through the threads and reads the names of those wanted.
func (t *threadNames) read(f *spoolFile, want func(threadName) bool) {
	t.last = time.Now()
	tids, err := taskIDs()
	if err != nil {
		return
	}
	alive := make(map[int]threadName, len(tids))
	for _, tid := range tids {
		k := t.known[tid]
		if want(k) {
			comm, err := guest.ReadFile("/proc/self/task/" + strconv.Itoa(tid) + "/comm")
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

// taskIDs lists the threads of the process.
func taskIDs() ([]int, error) {
	names, err := guest.Names("/proc/self/task")
	tids := make([]int, 0, len(names))
	for _, n := range names {
		if tid, err := strconv.Atoi(n); err == nil {
			tids = append(tids, tid)
		}
	}
	return tids, err
}
