package record

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/internal/outfile"
)

const spoolExt = ".spool"

// spoolFile is a spool as its name tells: "<pid>.<starttime>.spool", the start
// time in the unit of /proc/<pid>/stat. Those of a process after it replaced itself
// by exec have their number behind that.
type spoolFile struct {
	path  string
	pid   int
	start uint64
	execs int
	// rank is that of a process of a distributed program, see readRanks.
	rank    int
	hasRank bool
	// helper: it inherited the number of a rank, in rank, and is not the rank itself;
	// launcher: it started ranks.
	helper, launcher bool
	// ended is when the process ended, CLOCK_REALTIME ns, 0 if that was not seen;
	// death says how it died, "" if it did not or that is not known.
	ended int64
	death string
}

// role says what a process is in a distributed program, behind a text that is left
// out with it.
func (f spoolFile) role(before string) string {
	switch {
	case f.hasRank:
		return before + "rank " + strconv.Itoa(f.rank)
	case f.helper:
		return before + "helper of rank " + strconv.Itoa(f.rank)
	case f.launcher:
		return before + "launcher"
	}
	return ""
}

// findSpools lists the spools of a folder in the order in which the processes
// started. A file whose name tells no pid comes first, with pid 0.
func findSpools(dir string) ([]spoolFile, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var found []spoolFile
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), spoolExt)
		if !ok || !e.Type().IsRegular() {
			continue
		}
		f := spoolFile{path: filepath.Join(dir, e.Name())}
		base, execs := processOf(stem)
		pid, start, _ := strings.Cut(base, ".")
		f.execs = execs
		f.pid, _ = strconv.Atoi(pid)
		f.start, _ = strconv.ParseUint(start, 10, 64)
		found = append(found, f)
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.start != b.start {
			return a.start < b.start
		}
		if a.pid != b.pid {
			return a.pid < b.pid
		}
		return a.execs > b.execs // what a process became has its name, rather than what it was
	})
	return found, nil
}

// alive reports whether the process that writes the spool still runs.
func (f spoolFile) alive() bool { return running(f.pid, f.start) }

// running reports whether the process with that id and start time still runs.
func running(pid int, start uint64) bool {
	f, ok := statFields(pid)
	return ok && string(f[0]) != "Z" && string(f[19]) == strconv.FormatUint(start, 10)
}

// statFields returns the fields of /proc/<pid>/stat from the third on: the second
// is the command in parentheses and may hold anything. The state is the third,
// the start time the 22nd.
func statFields(pid int) ([][]byte, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return rest, len(rest) > 19
}

// outputs returns the file name of each spool's trace: output itself for a
// single one and for the program's own (main is its pid), else output with the
// pid before ".json". The trace of a rank has the rank in its name instead; where
// a rank has several processes, those that used the device less have their pid
// there, too. Where a pid was used twice the start time is added. A pipe or a
// device takes all of them. used holds the names given away so far, to which
// these are added.
func outputs(output string, spools []spoolFile, main int, used map[string]bool) []string {
	names := make([]string, len(spools))
	several := len(spools)+len(used) > 1
	first := firsts(spools)
	if outfile.IsStream(output) {
		for i := range names {
			names[i], used[output] = output, true
		}
		return names
	}
	give := func(i int, name string, plain bool) {
		s := spools[i]
		base := name
		if !plain || used[name] {
			name = insert(base, strconv.Itoa(s.pid))
		}
		if used[name] {
			name = insert(base, fmt.Sprintf("%d.%d", s.pid, s.start))
		}
		for n := 2; used[name]; n++ {
			name = insert(base, fmt.Sprintf("%d.%d.%d", s.pid, s.start, n))
		}
		names[i], used[name] = name, true
	}
	for _, i := range first {
		give(i, rankName(output, spools[i].rank), true)
	}
	for i, s := range spools {
		switch at, ranked := first[s.rank]; {
		case s.hasRank && ranked && at == i: // has one already
		case s.hasRank:
			give(i, rankName(output, s.rank), false)
		default:
			give(i, output, !several || s.pid == main && !used[output])
		}
	}
	return names
}

// insert puts a part before the extension of a trace's name.
func insert(output, part string) string {
	dir, stem, ext := splitName(output)
	if stem == "" {
		return dir + part + ext
	}
	return dir + stem + "." + part + ext
}
