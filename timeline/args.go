package timeline

import "github.com/flagos-ai/flagos-trace/internal/hugepage"

// Args stores the raw JSON objects of events' arguments end to end. Index 0 is
// "none". The zero value is empty and ready to use.
type Args struct {
	spans Blocks[argSpan]
	text  [][]byte
}

// argSpan is chunk, offset and length in 20, 20 and 24 bits. Of what does not fit
// into the last, the length is that of its chunk, which it has for itself.
type argSpan uint64

const (
	argChunk   = 1 << 20
	argsLonger = 1<<24 - 1
)

// Add stores a copy of the raw JSON object, without its braces, and returns its
// index. Empty arguments are index 0.
func (a *Args) Add(members []byte) uint32 {
	if len(members) == 0 {
		return 0
	}
	if a.spans.Len() == 0 {
		a.spans.Add(0)
	}
	last := len(a.text) - 1
	if last < 0 || len(a.text[last])+len(members) > cap(a.text[last]) {
		a.text = append(a.text, hugepage.Make[byte](max(argChunk, len(members)))[:0])
		last++
	}
	off := len(a.text[last])
	a.text[last] = append(a.text[last], members...)
	return a.spans.Add(argSpan(last)<<44 | argSpan(off)<<24 | argSpan(min(len(members), argsLonger)))
}

// At returns the members stored under an index: the text between the braces of
// a JSON object. It must not be changed.
func (a *Args) At(i uint32) []byte {
	if i == 0 {
		return nil
	}
	s := *a.spans.At(i)
	text := a.text[s>>44]
	off := int(s >> 24 & (argChunk - 1))
	n := int(s & argsLonger)
	if n == argsLonger {
		n = len(text)
	}
	return text[off : off+n : off+n]
}
