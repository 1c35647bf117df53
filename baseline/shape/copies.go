package shape

import (
	"strings"

	"github.com/flagos-ai/flagos-trace/calltree"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// directions are what names of copies say of them: from the host, the device, an array
// of it, or another device.
var directions = []string{"HtoD", "DtoH", "DtoD", "HtoH", "PtoP", "HtoA", "AtoH", "AtoD", "DtoA", "AtoA"}

// Direction is what the name of a copy says, "" where it says nothing.
func Direction(name string) string {
	for word := range strings.FieldsSeq(name) {
		for _, d := range directions {
			if word == d {
				return d
			}
		}
	}
	return ""
}

// copies counts the copies by operator, "" where they belong to none, and direction.
func (s *scanner) copies() {
	t, tree := s.t, s.tree
	names := map[uint32]string{}
	for w := range tree.Works() {
		e := tree.WorkAt(w)
		if e.Kind != timeline.Memcpy && e.Kind != timeline.MemcpyPeer {
			continue
		}
		d, ok := names[e.Name]
		if !ok {
			d = Direction(t.Strings.At(e.Name))
			names[e.Name] = d
		}
		operator := ""
		if op := tree.Operator(w); op != calltree.None {
			operator = tree.Name(op)
		}
		if s.o.Copies == nil {
			s.o.Copies = map[string]map[string]int64{}
		}
		if s.o.Copies[operator] == nil {
			s.o.Copies[operator] = map[string]int64{}
		}
		s.o.Copies[operator][d]++
	}
}
