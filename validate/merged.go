package validate

import "github.com/flagos-ai/flagos-trace/chrome"

// keyMerge is the member that says what a merged trace calls the processes of its
// parts: an array of objects with "pids": [{"was": 0, "is": 16}].
const keyMerge = "flagosMerge"

// mergedPIDs are the numbers that stand in a merged trace where others stood in its
// parts, and what they were.
func (t *trace) mergedPIDs() map[int64]int64 {
	out := map[int64]int64{}
	for part := range chrome.Elements(t.member(keyMerge)) {
		for pair := range chrome.Elements(chrome.Lookup(part, "pids")) {
			was, ok := chrome.Lookup(pair, "was").Int()
			is, ok2 := chrome.Lookup(pair, "is").Int()
			if ok && ok2 && was != is {
				out[is] = was
			}
		}
	}
	return out
}
