package event

// Strings stores each distinct string once and names it by a small id. Id 0 is
// the empty string. The zero value is ready to use. It is not safe for
// concurrent use.
type Strings struct {
	ids  map[string]uint32
	list []string
}

// ID returns the id of s, storing it if it is new.
func (t *Strings) ID(s string) uint32 {
	if id, ok := t.ids[s]; ok {
		return id
	}
	t.init()
	if s == "" {
		return 0
	}
	return t.add(s)
}

// IDBytes is ID for a byte slice; it allocates only when the string is new.
func (t *Strings) IDBytes(s []byte) uint32 {
	if id, ok := t.ids[string(s)]; ok {
		return id
	}
	t.init()
	if len(s) == 0 {
		return 0
	}
	return t.add(string(s))
}

func (t *Strings) init() {
	if t.ids == nil {
		t.ids = map[string]uint32{"": 0}
		t.list = []string{""}
	}
}

func (t *Strings) add(s string) uint32 {
	id := uint32(len(t.list))
	t.list = append(t.list, s)
	t.ids[s] = id
	return id
}

// At returns the string with the given id, "" for an id never given out.
func (t *Strings) At(id uint32) string {
	if int(id) < len(t.list) {
		return t.list[id]
	}
	return ""
}

// Len returns the number of distinct strings, the empty one included.
func (t *Strings) Len() int { return max(len(t.list), 1) }
