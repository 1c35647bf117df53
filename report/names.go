package report

import (
	"strings"
	"unicode/utf8"
)

// maxName is how many bytes of a name the page has: templates' names are longer than
// anybody reads.
const maxName = 400

// names are texts by number.
type names struct {
	ids   map[string]int32
	whole []string
	list  []string // shortened
}

// id returns the number of a name. The name is copied.
func (n *names) id(s string) int32 {
	if id, ok := n.ids[s]; ok {
		return id
	}
	if n.ids == nil {
		n.ids = map[string]int32{}
	}
	s = strings.Clone(s)
	id := int32(len(n.list))
	n.whole, n.list = append(n.whole, s), append(n.list, shorten(s))
	n.ids[s] = id
	return id
}

// shorten takes the middle out of what is too long.
func shorten(s string) string {
	if len(s) <= maxName {
		return s
	}
	head, tail := maxName*3/4, len(s)-maxName/4
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return s[:head] + " … " + s[tail:]
}
