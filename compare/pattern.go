package compare

import "strings"

// pattern is a text in which * stands for any text, in lower case.
type pattern struct {
	parts []string // between the stars
	any   bool     // it may stand anywhere in a name
}

// whole is a pattern of a whole name.
func whole(s string) pattern { return pattern{parts: strings.Split(strings.ToLower(s), "*")} }

// part is a pattern that may stand anywhere, if it has no star.
func part(s string) pattern {
	p := whole(s)
	p.any = len(p.parts) == 1
	return p
}

func wholes(list []string) []pattern {
	out := make([]pattern, 0, len(list))
	for _, s := range list {
		out = append(out, whole(s))
	}
	return out
}

func fitsAny(list []pattern, name string) bool {
	lower := strings.ToLower(name)
	for _, p := range list {
		if p.fitsLower(lower) {
			return true
		}
	}
	return false
}

func (p pattern) fits(name string) bool { return p.fitsLower(strings.ToLower(name)) }

func (p pattern) fitsLower(s string) bool {
	if p.any {
		return strings.Contains(s, p.parts[0])
	}
	last := len(p.parts) - 1
	if last == 0 {
		return s == p.parts[0]
	}
	if !strings.HasPrefix(s, p.parts[0]) {
		return false
	}
	s = s[len(p.parts[0]):]
	for _, m := range p.parts[1:last] {
		i := strings.Index(s, m)
		if i < 0 {
			return false
		}
		s = s[i+len(m):]
	}
	return strings.HasSuffix(s, p.parts[last])
}
