package chrome

// place is what a key of an event says.
type place uint8

const (
	placeNone place = iota
	placePhase
	placeCategory
	placeName
	placePID
	placeTID
	placeTS
	placeDur
	placeID
	placeArgs
	placeBinding
	numPlaces
)

// placeOf finds the place of a key, placeNone for a key without one.
func placeOf(key []byte) place {
	switch string(key) {
	case "ph":
		return placePhase
	case "cat":
		return placeCategory
	case "name":
		return placeName
	case "pid":
		return placePID
	case "tid":
		return placeTID
	case "ts":
		return placeTS
	case "dur":
		return placeDur
	case "id":
		return placeID
	case "args":
		return placeArgs
	case "bp":
		return placeBinding
	}
	return placeNone
}

// shared reports whether many events have the same there.
func (p place) shared() bool {
	switch p {
	case placePhase, placeCategory, placePID, placeTID, placeBinding:
		return true
	}
	return false
}

// kept reports whether arguments with that key are to be kept.
func (l *lexer) kept(key []byte) bool {
	for _, k := range l.keepKeys {
		if string(key) == k {
			return true
		}
	}
	return false
}
