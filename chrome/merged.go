package chrome

// KeyMerge is the top-level key of the record of a merge: an array with an object a
// part, whose "pids" say what the part's processes are called in the merged trace:
// [{"was": 0, "is": 16}].
const KeyMerge = "flagosMerge"

// MergedPIDs are the numbers that stand in a merged trace where others stood in its
// parts, and what they were, by the value of the member KeyMerge.
func MergedPIDs(v Value) map[int64]int64 {
	out := map[int64]int64{}
	for part := range Elements(v) {
		for pair := range Elements(Lookup(part, "pids")) {
			was, ok := Lookup(pair, "was").Int()
			is, ok2 := Lookup(pair, "is").Int()
			if ok && ok2 && was != is {
				out[is] = was
			}
		}
	}
	return out
}
