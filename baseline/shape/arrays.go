package shape

import (
	"slices"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
)

// arrayForm is how many elements an array has, and of which types.
type arrayForm struct {
	n     int
	types typeSet
}

// forms are those of an argument's arrays.
type forms struct {
	list []arrayForm
	many bool // more than are kept: their length means nothing
}

// maxForms bounds them. A launch's configuration has one form.
const maxForms = 4

func (f *forms) add(v chrome.Value) {
	if f.many {
		return
	}
	x := formOf(v)
	if slices.Contains(f.list, x) {
		return
	}
	if len(f.list) == maxForms {
		f.list, f.many = nil, true
		return
	}
	f.list = append(f.list, x)
}

// names lists the forms as a baseline file has them, in the order of the alphabet.
func (f *forms) names() (out []string) {
	for _, x := range f.list {
		out = append(out, strings.TrimSpace(strconv.Itoa(x.n)+" "+strings.Join(x.types.names(), "|")))
	}
	return union(out, nil)
}

// formOf looks at an array. That of numbers, which is nearly every one, is counted
// byte by byte.
func formOf(v chrome.Value) (f arrayForm) {
	t := typeInteger
	for i, c := range v[1 : len(v)-1] {
		switch {
		case c-'0' <= 9 || c == '-':
			if p := v[i]; p == '[' || p == ',' || p <= ' ' {
				f.n++
			}
		case c == ',':
			f.types, t = f.types|t, typeInteger
		case c <= ' ':
		case c == '.' || c == 'e' || c == 'E' || c == '+':
			t = typeNumber
		default:
			f = arrayForm{}
			for e := range chrome.Elements(v) {
				f.n, f.types = f.n+1, f.types|typeOf(e)
			}
			return f
		}
	}
	if f.n == 0 {
		return arrayForm{}
	}
	f.types |= t
	return f
}

// ArrayText is a form of arrays in words.
func ArrayText(form string) string {
	n, types, _ := strings.Cut(form, " ")
	if types == "" {
		return "an empty array"
	}
	words := strings.Split(types, "|")
	if n != "1" {
		for i := range words {
			words[i] += "s"
		}
	}
	return "an array of " + n + " " + strings.Join(words, " or ")
}

// ArrayFits reports whether arrays of a form can be read where those of others are
// expected: an integer will do where there are fractions.
func ArrayFits(form string, among []string) bool {
	n, types, _ := strings.Cut(form, " ")
	return slices.ContainsFunc(among, func(other string) bool {
		m, may, _ := strings.Cut(other, " ")
		if n != m {
			return false
		}
		for _, t := range strings.Split(types, "|") {
			known := strings.Split(may, "|")
			if !slices.Contains(known, t) && !(t == "integer" && slices.Contains(known, "number")) {
				return false
			}
		}
		return true
	})
}

// mergeArrays are the forms of two arguments together: none where one of them has too
// many to tell.
func mergeArrays(a, b *Arg) []string {
	for _, x := range []*Arg{a, b} {
		if len(x.Arrays) == 0 && slices.Contains(x.Types, "array") {
			return nil
		}
	}
	list := union(a.Arrays, b.Arrays)
	if len(list) > maxForms {
		return nil
	}
	return list
}
