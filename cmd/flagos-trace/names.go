package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/flagos-ai/flagos-trace/record"
)

// warnTwice says which files are given more than once, by whatever names: patterns of a
// shell overlap, and sums then are of more than there is.
func warnTwice(w io.Writer, files []string) {
	var seen []os.FileInfo
next:
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		for _, other := range seen {
			if os.SameFile(info, other) {
				fmt.Fprintf(w, "%s is given more than once: its times count as often\n", record.Printable(path, false))
				continue next
			}
		}
		seen = append(seen, info)
	}
}

// traceNames names traces by their files, so that no two have one name: by the base
// name, or where that stands for several, with as many folders before it as it takes.
type traceNames struct {
	bases map[string]int // of the files that are asked for
	used  map[string]bool
}

func newTraceNames(files []string) *traceNames {
	n := &traceNames{bases: map[string]int{}, used: map[string]bool{}}
	for _, path := range files {
		n.bases[filepath.Base(path)]++
	}
	return n
}

// of names the trace in a file, or in a member of an archive. It is to be asked once
// for each trace.
func (n *traceNames) of(path string) string {
	parts := strings.Split(strings.Trim(filepath.ToSlash(filepath.Clean(path)), "/"), "/")
	from := len(parts) - 1
	if n.bases[parts[from]] > 1 {
		from--
	}
	name := ""
	for from = max(from, 0); ; from-- {
		name = strings.Join(parts[from:], "/")
		if !n.used[name] || from == 0 {
			break
		}
	}
	for again, whole := 2, name; n.used[name]; again++ {
		name = fmt.Sprintf("%s (%d)", whole, again)
	}
	n.used[name] = true
	return name
}
