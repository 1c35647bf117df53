package pprofile

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
)

// WriteFolded writes one line for each call path, as flame graph tools read it: the
// frames from the outermost on with ';' between them, a blank, and the value, which
// is one of Values. Paths without it are left out. A ';' or a line break in a name
// becomes ':' or a blank. Errors wrap ErrEmpty, or are those of w.
func (b *Builder) WriteFolded(w io.Writer, value string) error {
	index := slices.Index(Values, value)
	if index < 0 {
		return fmt.Errorf("no value is called %q: there are %s", value, strings.Join(Values, ", "))
	}
	if len(b.order) == 0 {
		return ErrEmpty
	}
	type key struct {
		path calltree.Path
		work uint32
	}
	sums := map[key]int64{}
	for k, v := range b.samples {
		if v[index] != 0 {
			sums[key{k.path, k.work}] += v[index]
		}
	}
	lines := make([]string, 0, len(sums))
	for k, n := range sums {
		var line []string
		for id := k.path; id > calltree.Top; id = b.paths.Parent(id) {
			f, _ := function(b.paths.Class(id), b.paths.Label(id))
			line = append(line, folded.Replace(f.Name))
		}
		slices.Reverse(line)
		if k.work != 0 {
			line = append(line, folded.Replace(workFunction(b.texts.At(k.work)).Name))
		}
		if len(line) == 0 {
			line = append(line, hostFrame)
		}
		lines = append(lines, strings.Join(line, ";")+" "+strconv.FormatInt(n, 10))
	}
	slices.Sort(lines)
	out := bufio.NewWriter(w)
	for _, line := range lines {
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.Flush()
}

var folded = strings.NewReplacer(";", ":", "\n", " ", "\r", " ")
