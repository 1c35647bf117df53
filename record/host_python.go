package record

import (
	"strconv"

	"github.com/flagos-ai/flagos-trace/chrome"
)

const categoryPython = "python_function"

// pythonIDs makes the ids of Python calls unique over slices: each session of the
// framework counts them anew, and readers build the tree of calls from them.
type pythonIDs struct {
	first      bool  // ids of the first slice stay
	base, last int64 // the largest id of the slices before, and so far
}

// unique returns the arguments of a Python call with its ids moved behind those
// of the slices before.
func (p *pythonIDs) unique(args []byte) []byte {
	var out []byte
	done := 0
	for m := chrome.WalkMembers(args); m.Next(); {
		if k := string(m.Key); k != "Python id" && k != "Python parent id" {
			continue
		}
		n, ok := m.Value.Int() // a call without a parent has null
		if !ok || n < 0 || n > maxPythonID || m.Value.IsString() {
			continue
		}
		if !p.first {
			n += p.base + 1
			out = append(out, args[done:m.End-len(m.Value)]...)
			out = strconv.AppendInt(out, n, 10)
			done = m.End
		}
		p.last = max(p.last, n)
	}
	if done == 0 {
		return args
	}
	return append(out, args[done:]...)
}

// maxPythonID bounds what is taken for an id, so that sums of many do not
// overflow.
const maxPythonID = 1 << 40
