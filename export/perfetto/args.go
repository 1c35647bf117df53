package perfetto

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/flagos-ai/flagos-trace/chrome"
	"github.com/flagos-ai/flagos-trace/timeline"
)

// Texts that are longer, or come after so many others, are written where they stand
// rather than once: a reader holds those that are written once until the end.
const (
	maxText  = 256
	maxTexts = 1 << 18
)

// name returns the number of an event's name, which is written when it is new.
func (s *writer) name(id uint32) uint64 {
	if !s.names[id] {
		s.names[id] = true
		s.intern(internedName, uint64(id)+1, s.t.Strings.At(id))
	}
	return uint64(id) + 1
}

// category returns the number of an event's category, 0 where it has none.
func (s *writer) category(e *timeline.Event) uint64 {
	if e.Category == 0 {
		if s.t.Source != nil {
			return 0
		}
		n := uint64(len(s.categories)) + 1 + uint64(e.Kind)
		if s.fallback[e.Kind] == 0 {
			s.fallback[e.Kind] = n
			s.intern(internedCategory, n, e.Kind.String())
		}
		return n
	}
	if !s.categories[e.Category] {
		s.categories[e.Category] = true
		s.intern(internedCategory, uint64(e.Category)+1, s.t.Strings.At(e.Category))
	}
	return uint64(e.Category) + 1
}

// intern adds a text to those that the next packet brings.
func (s *writer) intern(table int, id uint64, text string) {
	entry := appendBytes(appendUint(nil, entryID, id), entryText, strings.ToValidUTF8(text, "\uFFFD"))
	s.interned = appendBytes(s.interned, table, entry)
}

// annotations appends the arguments of an event.
func (s *writer) annotations(b []byte, args []byte) []byte {
	a := s.annotation
	for m := chrome.WalkMembers(args); m.Next(); {
		id, ok := s.keys[string(m.Key)]
		if !ok {
			id = uint64(len(s.keys)) + 1
			s.keys[string(m.Key)] = id
			s.intern(internedAnnotation, id, keyText(m.Key))
		}
		a = appendUint(a[:0], annotationName, id)
		v := m.Value
		n, isInt := v.Int()
		switch {
		case v.IsString():
			a = s.text(a, v.Text(nil))
		case isInt:
			a = appendInt(a, annotationInt, n)
		case string(v) == "true":
			a = appendUint(a, annotationBool, 1)
		case string(v) == "false":
			a = appendUint(a, annotationBool, 0)
		default:
			if f, err := strconv.ParseFloat(string(v), 64); err == nil && v[0] != '[' && v[0] != '{' {
				a = appendDouble(a, annotationDouble, f)
			} else {
				a = s.text(a, v)
			}
		}
		b = appendBytes(b, eventAnnotation, a)
	}
	s.annotation = a
	return b
}

// keyText decodes the text of a member's key.
func keyText(key []byte) string {
	return string(chrome.Value(`"` + string(key) + `"`).Text(nil))
}

// text appends a text to an annotation, by its number where it may come again.
func (s *writer) text(a []byte, text []byte) []byte {
	id, ok := s.texts[string(text)]
	if !ok {
		if len(text) > maxText || len(s.texts) >= maxTexts {
			return appendBytes(a, annotationText, bytes.ToValidUTF8(text, []byte("\uFFFD")))
		}
		id = uint64(len(s.texts)) + 1
		s.texts[string(text)] = id
		s.intern(internedText, id, string(text))
	}
	return appendUint(a, annotationIID, id)
}

// counters writes the values of a counter event: each of its arguments that is a
// number has a track of its own.
func (s *writer) counters(i uint32) {
	e := s.t.Events.At(i)
	name := s.t.Strings.At(e.Name)
	found := false
	for m := chrome.WalkMembers(s.t.RawArgs(i)); m.Next(); {
		f, err := strconv.ParseFloat(string(m.Value), 64)
		if err != nil {
			continue
		}
		found = true
		label := name
		if key := keyText(m.Key); key != name {
			label = strings.TrimSpace(name + " " + key)
		}
		track := s.tracks.counterTrack(e.Row, nonEmpty(label, "(no name)"))
		s.event = appendUint(appendUint(s.event[:0], eventType, typeCounter), eventTrack, track)
		if n, ok := m.Value.Int(); ok {
			s.event = appendInt(s.event, eventCounter, n)
		} else {
			s.event = appendDouble(s.event, eventDouble, f)
		}
		s.send(e.Start)
		s.stats.Counters++
	}
	if !found {
		s.stats.Skipped++
	}
}
