package timeline

// Args stores the raw JSON objects of events' arguments end to end. Index 0 is
// "none". The zero value is empty and ready to use.
type Args struct {
	spans Blocks[argSpan]
	text  [][]byte
}

type argSpan struct {
	chunk, offset, length uint32
}

const argChunk = 1 << 20

// Add stores a copy of the raw JSON object, without its braces, and returns its
// index. Empty arguments are index 0.
func (a *Args) Add(members []byte) uint32 {
	if len(members) == 0 {
		return 0
	}
	if a.spans.Len() == 0 {
		a.spans.Add(argSpan{})
	}
	last := len(a.text) - 1
	if last < 0 || len(a.text[last])+len(members) > cap(a.text[last]) {
		a.text = append(a.text, make([]byte, 0, max(argChunk, len(members))))
		last++
	}
	off := len(a.text[last])
	a.text[last] = append(a.text[last], members...)
	return a.spans.Add(argSpan{uint32(last), uint32(off), uint32(len(members))})
}

// At returns the members stored under an index: the text between the braces of
// a JSON object. It must not be changed.
func (a *Args) At(i uint32) []byte {
	if i == 0 {
		return nil
	}
	s := a.spans.At(i)
	return a.text[s.chunk][s.offset : s.offset+s.length : s.offset+s.length]
}
