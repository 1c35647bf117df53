package chrome

import "bytes"

// Event is one event, its well-known fields as raw values: nil where absent, and
// the last one where a key stands twice.
type Event struct {
	Offset int64 // of Raw in the text, after decompression
	Raw    Value
	Phase, Category, Name, PID, TID,
	TS, Dur, ID, Args,
	Scope, BindingPoint Value // "s", "bp"
}

// lexEvent finds the end of the event at b[i] and notes its fields on the way.
func (s *scanner) lexEvent(b []byte, i int) (int, state) {
	e := &s.event
	*e = Event{}
	if b[i] != '{' {
		return i, wrong
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, done
	}
	for {
		key := i
		v, st := skipKey(b, i)
		if st != done {
			return v, st
		}
		end, st := skipValue(b, v, 1)
		if st != done {
			return end, st
		}
		if f := e.field(b, key); f != nil {
			*f = b[v:end:end]
		}
		if i = skipSpace(b, end); i >= len(b) {
			return i, short
		}
		switch b[i] {
		case '}':
			return i + 1, done
		case ',':
			i = skipSpace(b, i+1)
		default:
			return i, wrong
		}
	}
}

// field finds where the value of the key that starts at b[i] belongs, nil for a
// key without a field.
func (e *Event) field(b []byte, i int) *Value {
	rest := b[i+1:]
	n := bytes.IndexByte(rest[:min(len(rest), 5)], '"')
	if n < 0 {
		return nil
	}
	switch string(rest[:n]) {
	case "ph":
		return &e.Phase
	case "cat":
		return &e.Category
	case "name":
		return &e.Name
	case "pid":
		return &e.PID
	case "tid":
		return &e.TID
	case "ts":
		return &e.TS
	case "dur":
		return &e.Dur
	case "id":
		return &e.ID
	case "args":
		return &e.Args
	case "s":
		return &e.Scope
	case "bp":
		return &e.BindingPoint
	}
	return nil
}
