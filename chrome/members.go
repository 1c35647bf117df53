package chrome

import "iter"

// Members walks over the members of a JSON object in order. Use:
//
//	for m := WalkMembers(text); m.Next(); {
//		m.Key, m.Value
//	}
type Members struct {
	// Key is the key's text between its quotes, escapes and all.
	Key []byte
	// Value is the raw value.
	Value Value
	// Start and End delimit the member in the text given to WalkMembers, its
	// comma not included.
	Start, End int

	text   []byte
	at     int
	broken bool
}

// WalkMembers starts a walk over an object, or over its members without the
// braces, as timeline.Args stores them.
func WalkMembers(text []byte) Members {
	i := skipSpace(text, 0)
	if i < len(text) && text[i] == '{' {
		i++
	}
	return Members{text: text, at: i}
}

// Next steps to the next member. It returns false at the end, and where the text
// stops being a list of members; see Broken.
func (m *Members) Next() bool {
	i := skipSpace(m.text, m.at)
	if m.End > 0 && i < len(m.text) && m.text[i] == ',' {
		i = skipSpace(m.text, i+1)
	} else if m.End > 0 && i < len(m.text) && m.text[i] != '}' {
		m.broken = true
		return false
	}
	if i >= len(m.text) || m.text[i] == '}' {
		return false
	}
	v, s := skipKey(m.text, i)
	if s != done {
		m.broken = true
		return false
	}
	end, s := skipValue(m.text, v, 0)
	// A number may be the last thing in a text without braces.
	if s == short && end == len(m.text) && looseScalar(m.text[v:end]) {
		s = done
	}
	if s != done {
		m.broken = true
		return false
	}
	k, _ := skipString(m.text, i)
	m.Key, m.Value = m.text[i+1:k-1], Value(m.text[v:end])
	m.Start, m.End, m.at = i, end, end
	return true
}

// Broken reports whether the walk ended because the text is not JSON.
func (m *Members) Broken() bool { return m.broken }

// Lookup returns the value of a key (compared as it stands in the text) among
// an object's members, nil if it is not there.
func Lookup(text []byte, key string) Value {
	for m := WalkMembers(text); m.Next(); {
		if string(m.Key) == key {
			return m.Value
		}
	}
	return nil
}

// Elements yields the raw elements of a JSON array, up to where the text stops
// being one.
func Elements(array []byte) iter.Seq[Value] {
	return func(yield func(Value) bool) {
		i := skipSpace(array, 0)
		if i >= len(array) || array[i] != '[' {
			return
		}
		for i = skipSpace(array, i+1); i < len(array) && array[i] != ']'; {
			end, s := skipValue(array, i, 0)
			if s != done || !yield(array[i:end]) {
				return
			}
			if i = skipSpace(array, end); i >= len(array) || array[i] != ',' {
				return
			}
			i = skipSpace(array, i+1)
		}
	}
}
