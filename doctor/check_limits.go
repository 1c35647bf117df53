package doctor

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	mib = 1 << 20
	gib = 1 << 30
	// Below these a recording is likely to run into the limit: CUDA's libraries
	// and Go's runtime alone take dozens of threads and files.
	fewFiles     = 256
	fewProcesses = 256
	// diskLow is what a recording of some minutes can need, diskFull less than any.
	diskLow  = gib
	diskFull = mib
)

// unlimited is RLIM_INFINITY.
const unlimited = math.MaxUint64

func checkLimits(e *exam) []Finding {
	recorded := false
	for _, r := range e.recordings {
		recorded = recorded || r.summary != nil && r.use.works()
	}
	var list []Finding
	for _, l := range []struct {
		id       string
		resource int
		what     string
		low      uint64 // a problem below it
		trouble  string
		fix      string
	}{
		{"limit.files", unix.RLIMIT_NOFILE, "open files", fewFiles, "the program, CUDA and the agent share them", "ulimit -n 1024"},
		{"limit.processes", unix.RLIMIT_NPROC, "processes and threads of this user", fewProcesses, "CUDA and the agent start threads", "ulimit -u 4096"},
		{"limit.memory", unix.RLIMIT_AS, "address space", unlimited, "CUDA reserves far more than it uses, and may not start; with less than 64 GiB left nothing is recorded", "ulimit -v unlimited"},
		{"limit.filesize", unix.RLIMIT_FSIZE, "size of a file", unlimited, "records that do not fit are lost, and counted", "ulimit -f unlimited"},
	} {
		n, err := e.s.Limit(l.resource)
		value := fmt.Sprintf("%s: at most %d", l.what, n)
		switch {
		case n == unlimited:
			value = l.what + ": no limit"
		case l.low == unlimited:
			value = l.what + ": at most " + size(n)
		}
		f := Finding{ID: l.id, Status: OK, Seen: value}
		switch {
		case err != nil:
			f.Status, f.Seen = Skip, l.what+": "+err.Error()
		case n >= l.low:
		case l.resource == unix.RLIMIT_AS && recorded:
			f.Seen = value + ", which was enough for the probe"
		default:
			f.Status, f.Seen, f.Fix = Warn, value+"; "+l.trouble, l.fix+" (a hard limit needs an administrator)"
		}
		list = append(list, f)
	}
	if v := strings.TrimSpace(e.s.read("/sys/fs/cgroup/pids.max")); v != "" && v != "max" {
		used := strings.TrimSpace(e.s.read("/sys/fs/cgroup/pids.current"))
		list = append(list, Finding{ID: "limit.cgroup_pids", Status: OK, Seen: fmt.Sprintf("the cgroup allows %s processes and threads, %s are in use", v, used)})
	}
	return list
}

func checkDisk(e *exam) []Finding {
	const id = "disk"
	dir := filepath.Dir(e.o.Output)
	free, err := e.s.Free(dir)
	switch seen := fmt.Sprintf("%s is free in %s, where the data of the running recording and the trace go", size(free), dir); {
	case err != nil:
		return one(id, Skip, fmt.Sprintf("%s: %v", dir, err), "")
	case free < diskFull:
		return one(id, Fail, seen, "make room there, or choose another folder with -o and --spool-dir")
	case free < diskLow:
		return one(id, Warn, seen+"; records that do not fit are lost, and counted", "make room there, or choose another folder with -o and --spool-dir")
	default:
		return one(id, OK, seen, "")
	}
}

// size puts a number of bytes into words.
func size(n uint64) string {
	switch {
	case n >= gib:
		return fmt.Sprintf("%.1f GiB", float64(n)/gib)
	case n >= mib:
		return fmt.Sprintf("%.1f MiB", float64(n)/mib)
	}
	return fmt.Sprintf("%d bytes", n)
}
