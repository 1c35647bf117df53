package validate

import "github.com/flagos-ai/flagos-trace/chrome"

// mergedPIDs are the numbers that stand in a merged trace where others stood in its
// parts, and what they were.
func (t *trace) mergedPIDs() map[int64]int64 {
	return chrome.MergedPIDs(t.member(chrome.KeyMerge))
}
