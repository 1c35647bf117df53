package pprofile

import (
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/internal/plain"
)

// step returns the number of a step, and one more, 0 where there is none.
func (a *adder) step(n calltree.Node) int64 {
	if n == calltree.None {
		return 0
	}
	name := a.x.Name(n)
	number, err := strconv.ParseInt(name[strings.LastIndexByte(name, '#')+1:], 10, 64)
	if err != nil || number < 0 {
		return 0
	}
	return number + 1
}

// thread returns the id of a row's thread, and one more, or its text.
func (a *adder) thread(row uint32) (tid int64, text uint32) {
	r := &a.t.Rows[row]
	if r.TIDText != "" || r.EmptyTID {
		return 0, a.texts.ID(r.TIDText)
	}
	return r.TID + 1, 0
}

// rank returns the rank of a row, and one more; where the trace does not say, the
// trace's name.
func (a *adder) rank(row uint32) (rank int64, trace uint32) {
	if n := a.ranks[row]; n >= 0 {
		return int64(n) + 1, 0
	}
	return 0, a.name
}

// shape returns the shapes of an operator's inputs as a text, "" where they were not
// recorded.
func (a *adder) shape(op calltree.Node) uint32 {
	args := a.t.RawArgs(a.x.Event(op))
	dims := chrome.Lookup(args, "Input Dims")
	if dims == nil {
		dims = chrome.Lookup(args, "Input dims") // as early versions of Kineto have it
	}
	if dims == nil {
		return 0
	}
	id, ok := a.shapes[string(dims)]
	if !ok {
		id = a.texts.ID(strings.ReplaceAll(string(dims), " ", ""))
		a.shapes[string(dims)] = id
	}
	return id
}

// label gives a sample its labels. What is a number is one for pprof, too, which then
// takes step=3 for step 3 alone, and step=3:5 for a range. The unit has it print the
// bare number.
func (b *Builder) label(s *profile.Sample, k *sample) {
	s.Label, s.NumLabel, s.NumUnit = map[string][]string{}, map[string][]int64{}, map[string][]string{}
	number := func(key string, n int64) {
		if n != 0 {
			s.NumLabel[key], s.NumUnit[key] = []int64{n - 1}, []string{"count"}
		}
	}
	text := func(key string, id uint32) {
		if id != 0 {
			s.Label[key] = []string{plain.Text(b.texts.At(id), false)}
		}
	}
	number("device", int64(k.device))
	number("stream", int64(k.stream))
	number("rank", k.rank)
	number("step", k.step)
	number("thread", k.tid)
	text("thread_name", k.thread)
	text("trace", k.trace)
	text("shape", k.shape)
	text("module", k.module)
	text("unlinked", k.unlinked)
}
