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
// time in the unit of /proc/<pid>/stat.
type spoolFile struct {
	path  string
	pid   int
	start uint64
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
		pid, start, _ := strings.Cut(stem, ".")
		f.pid, _ = strconv.Atoi(pid)
		f.start, _ = strconv.ParseUint(start, 10, 64)
		found = append(found, f)
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.start != b.start {
			return a.start < b.start
		}
		return a.pid < b.pid
	})
	return found, nil
}

// alive reports whether the process that writes the spool still runs.
func (f spoolFile) alive() bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", f.pid))
	if err != nil {
		return false
	}
	// The second field is the command in parentheses and may hold anything; the
	// state is the third, the start time the 22nd.
	rest := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(rest) > 19 && string(rest[0]) != "Z" && string(rest[19]) == strconv.FormatUint(f.start, 10)
}

// outputs returns the file name of each spool's trace: output itself for a
// single one and for the program's own (main is its pid), else output with the
// pid before ".json". Where a pid was used twice the start time is added. A pipe
// or a device takes all of them. used holds the names given away so far, to which
// these are added.
func outputs(output string, spools []spoolFile, main int, used map[string]bool) []string {
	names := make([]string, len(spools))
	several := len(spools)+len(used) > 1
	for i, s := range spools {
		name := output
		if outfile.IsStream(output) {
			names[i], used[name] = name, true
			continue
		}
		if several && (s.pid != main || used[output]) {
			name = insert(output, strconv.Itoa(s.pid))
		}
		if used[name] {
			name = insert(output, fmt.Sprintf("%d.%d", s.pid, s.start))
		}
		for n := 2; used[name]; n++ {
			name = insert(output, fmt.Sprintf("%d.%d.%d", s.pid, s.start, n))
		}
		used[name] = true
		names[i] = name
	}
	return names
}

// insert puts a part before the extension of a trace's name.
func insert(output, part string) string {
	dir, base := filepath.Split(output)
	stem, ext := base, ""
	for _, e := range []string{".json.gz", ".json", ".gz"} {
		if s, ok := strings.CutSuffix(base, e); ok {
			stem, ext = s, e
			break
		}
	}
	if stem == "" {
		return dir + part + ext
	}
	return dir + stem + "." + part + ext
}
