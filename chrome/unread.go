package chrome

import "fmt"

// Unread says in words what of a document could not be read, by the counts of its
// findings; nil where all could. Compressed data that ends early ends the text, too.
func Unread(counts map[string]uint64) (out []string) {
	switch {
	case counts[RuleCompressed] > 0:
		out = append(out, "its compressed data ends early or is damaged")
	case counts[RuleTruncated] > 0:
		out = append(out, "it is truncated")
	}
	if n := counts[RuleLost]; n > 0 {
		out = append(out, fmt.Sprintf("text in %d of its places is no event", n))
	}
	return out
}
